//! What a request alone must yield, computed the obvious way.

use super::FakeOptions;
use super::state::Digest;
use crate::draw::uniform;
use crate::{Draw, MaskSource, Request, Terms, TokenId, TokenScore, dry};

/// The tokens that a request alone must yield.
pub fn expected_tokens(options: &FakeOptions, request: &Request) -> Vec<TokenId> {
    let info = &options.info;
    let n_limit = request.max_tokens.min(info.n_context - request.prompt.len());
    let mut digest = Digest::new(&request.prompt, &[], info.snapshot_bytes);
    request.prompt.iter().for_each(|token| digest.append(*token));
    let mut mask = request.mask.as_ref().map(MaskSource::start);
    let mut tokens = request.prompt.clone();
    let reply = options.reply_to(&request.prompt);
    while tokens.len() < request.prompt.len() + n_limit {
        let Ok(bits) = mask.as_mut().map_or(Ok(None), |mask| mask.allowed()) else { break };
        let bias = request.sampling.dry.as_ref().map_or(Vec::new(), |dry| dry::penalties(dry, &tokens));
        let draw = Draw::on(uniform(request.sampling.seed, tokens.len()), Terms { mask: bits, bias });
        let written = (tokens.len() - request.prompt.len(), reply.as_deref());
        let token = options.token(&digest, &request.sampling, &draw, written);
        let is_stop = request.stop_tokens.contains(&token) || (!request.ignore_eos && info.eos.contains(&token));
        let is_broken = !is_stop && mask.as_mut().is_some_and(|mask| mask.commit(token).is_err());
        if is_broken {
            break;
        }
        tokens.push(token);
        digest.count_output(token);
        digest.append(token);
        if is_stop || mask.as_ref().is_some_and(|mask| mask.is_complete()) {
            break;
        }
    }
    tokens.split_off(request.prompt.len())
}

/// The log-probabilities that a request's prompt tokens from the second on must have.
pub fn expected_prompt_scores(options: &FakeOptions, request: &Request) -> Vec<TokenScore> {
    let mut digest = Digest::new(&request.prompt, &[], options.info.snapshot_bytes);
    let pairs = request.prompt.iter().zip(request.prompt.iter().skip(1));
    let scores = pairs.map(|(token, target)| {
        digest.append(*token);
        digest.score(*target, &request.sampling, options.info.n_vocab)
    });
    scores.collect()
}
