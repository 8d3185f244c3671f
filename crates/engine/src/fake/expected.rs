//! What a request alone must yield, computed the obvious way.

use super::FakeOptions;
use super::state::Digest;
use crate::draw::uniform;
use crate::{Draw, Request, TokenId, TokenScore};

/// The tokens that a request alone must yield.
pub fn expected_tokens(options: &FakeOptions, request: &Request) -> Vec<TokenId> {
    let info = &options.info;
    let n_limit = request.max_tokens.min(info.n_context - request.prompt.len());
    let mut digest = Digest::new(&request.prompt, &[], info.snapshot_bytes);
    request.prompt.iter().for_each(|token| digest.append(*token));
    let mut output = Vec::new();
    while output.len() < n_limit {
        let draw = Draw::free(uniform(request.sampling.seed, request.prompt.len() + output.len()));
        let token = match &options.reply {
            Some(reply) => reply.get(output.len()).copied().unwrap_or(info.eos.first().copied().unwrap_or(0)),
            None => digest.next_token(&request.sampling, &draw, info.n_vocab),
        };
        output.push(token);
        digest.count_output(token);
        digest.append(token);
        if request.stop_tokens.contains(&token) || (!request.ignore_eos && info.eos.contains(&token)) {
            break;
        }
    }
    output
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
