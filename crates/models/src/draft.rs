//! A small model that drafts for a large one (Leviathan et al. 2023; Chen et al. 2023). It holds KV caches of its own, which
//! follow what the large model's sequences turned out to be. Whatever it drafts, the large model's output stays the same.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use tokbar_engine::{DraftAsk, Draw, SamplingOptions, SequenceId, TokenId};

use crate::cache::{Layout, SequenceCache};
use crate::families::Model;
use crate::mx::{self, Array};
use crate::pass::{Pass, PassRow};
use crate::sample::{SampleRow, sample};

/// Most tokens of a sequence that are computed to catch up with it. What lies further back the drafter does without, so
/// that a long prompt costs no second prefill.
const N_CATCH_UP_MAX: usize = 512;

/// A draft model with what it knows of each sequence.
pub struct DraftModel {
    model: Box<dyn Model>,
    layout: Rc<Layout>,
    n_vocab: usize,
    n_context: usize,
    followers: HashMap<SequenceId, Follower>,
}

/// What the draft model has computed of one sequence.
struct Follower {
    cache: SequenceCache,
    /// Position of the first token computed: a drafter may do without what lies before.
    start: usize,
    /// The tokens from `start` on that the caches hold.
    tokens: Vec<TokenId>,
}

/// One ask on its way.
struct Run<'a> {
    ask: &'a DraftAsk<'a>,
    sampling: Arc<SamplingOptions>,
    follower: Follower,
    /// Tokens of the ask that are to be computed first.
    n_behind: usize,
}

impl DraftModel {
    /// Drafts with `model`.
    pub fn new(model: Box<dyn Model>) -> Self {
        let (n_vocab, n_context) = (model.sizes().n_vocab, model.sizes().n_context);
        Self { layout: Layout::new(&model.sizes().caches, None), model, n_vocab, n_context, followers: HashMap::new() }
    }

    /// Forgets a sequence.
    pub fn close(&mut self, id: SequenceId) {
        self.followers.remove(&id);
    }

    /// Drafts for all asks at once, each with the sampling options of its sequence; see
    /// [`Backend::draft`](tokbar_engine::Backend::draft).
    pub fn draft(
        &mut self,
        asks: &[DraftAsk<'_>],
        samplings: &[Arc<SamplingOptions>],
    ) -> mx::Result<Vec<Vec<TokenId>>> {
        let can_follow: Vec<bool> = asks.iter().map(|ask| self.can_follow(ask)).collect();
        let able = asks.iter().zip(samplings).zip(&can_follow).filter(|(_, can_follow)| **can_follow);
        let mut runs: Vec<_> = able.map(|((ask, sampling), _)| self.run(ask, sampling)).collect();
        let n_rounds = runs.iter().map(|run| run.ask.uniforms.len()).max().unwrap_or(0);
        let mut drafted = Vec::with_capacity(n_rounds);
        for round in 0..n_rounds {
            let tokens = drafted.last().map_or_else(|| behind(&runs), Clone::clone);
            let tokens = self.round(&mut runs, round, &tokens)?;
            drafted.push(tokens);
        }
        let mut drafts = read(&drafted, runs.len())?;
        for (run, draft) in runs.into_iter().zip(&mut drafts) {
            draft.truncate(run.ask.uniforms.len());
            self.followers.insert(run.ask.sequence, run.follow(draft, n_rounds));
        }
        let mut drafts = drafts.into_iter();
        let answers = can_follow.into_iter().map(|can_follow| if can_follow { drafts.next() } else { None });
        Ok(answers.map(Option::unwrap_or_default).collect())
    }

    /// Whether the draft model knows all tokens near the end and has room for more.
    fn can_follow(&self, ask: &DraftAsk<'_>) -> bool {
        let recent = &ask.tokens[ask.tokens.len() - self.n_recent(ask)..];
        let is_known = recent.iter().all(|token| (*token as usize) < self.n_vocab);
        is_known && !recent.is_empty() && !ask.uniforms.is_empty()
    }

    /// Tokens at the end of an ask that a new follower starts with.
    fn n_recent(&self, ask: &DraftAsk<'_>) -> usize {
        let n_room = self.n_context.saturating_sub(ask.uniforms.len());
        ask.tokens.len().min(N_CATCH_UP_MAX).min(n_room)
    }

    /// Takes the sequence's follower, cut back to what it shares with the sequence, or a new one.
    fn run<'a>(&mut self, ask: &'a DraftAsk<'a>, sampling: &Arc<SamplingOptions>) -> Run<'a> {
        let n_tokens = ask.tokens.len();
        let follower = self.followers.remove(&ask.sequence).and_then(|mut follower| {
            let known = ask.tokens.get(follower.start..n_tokens - 1)?;
            let n_shared = follower.tokens.iter().zip(known).take_while(|(a, b)| a == b).count();
            let is_near = follower.start + n_shared + N_CATCH_UP_MAX >= n_tokens;
            let has_room = n_tokens - follower.start + ask.uniforms.len() <= self.n_context;
            (is_near && has_room && follower.cut_back(n_shared)).then_some(follower)
        });
        let follower = follower.unwrap_or_else(|| {
            let cache = SequenceCache::new(&self.layout);
            Follower { cache, start: n_tokens - self.n_recent(ask), tokens: Vec::new() }
        });
        let n_behind = n_tokens - follower.start - follower.tokens.len();
        // Without penalties: their counts would have to follow, too, and a draft need not be right.
        Run { ask, sampling: Arc::clone(sampling), follower, n_behind }
    }

    /// Computes the tokens that the runs lack, `[T]`, or those drafted last, `[N]`, and draws the next of each run, `[N]`.
    fn round(&self, runs: &mut [Run<'_>], round: usize, tokens: &Array) -> mx::Result<Array> {
        let (mut rows, mut ends, mut start) = (Vec::new(), Vec::new(), 0);
        for run in runs.iter_mut() {
            let len = if round == 0 { run.n_behind } else { 1 };
            let offset = run.follower.tokens.len() + if round == 0 { 0 } else { run.n_behind + round - 1 };
            let (n_total, n_sure) = (offset + len, run.n_sure());
            rows.push(PassRow { start, len, offset, n_total, n_sure, cache: &mut run.follower.cache });
            start += len;
            ends.push(start as i32 - 1);
        }
        let hidden = self.model.hidden(tokens, &mut Pass::new(rows))?;
        let ends = Array::from_slice(&ends, &[ends.len() as i32]);
        let logits = self.model.logits(&mx::take(&hidden, &ends, 0)?)?;
        let draws: Vec<_> = runs.iter().map(|run| [Draw::free(run.uniform(round))]).collect();
        let options: Vec<_> = runs.iter().map(|run| plain_options(&run.sampling, self.n_vocab)).collect();
        let mut rows: Vec<_> = options
            .iter()
            .zip(&draws)
            .map(|(options, draws)| SampleRow { options, draws, drafts: &[], counts: None })
            .collect();
        Ok(sample(&logits, &mut rows)?.tokens)
    }
}

impl Follower {
    /// Keeps the first `n` tokens. Returns whether the caches could take the others back.
    fn cut_back(&mut self, n: usize) -> bool {
        self.tokens.truncate(n);
        self.cache.cut_back(n)
    }
}

impl Run<'_> {
    /// The number that draws the token of a round; runs that need no more go along.
    fn uniform(&self, round: usize) -> f32 {
        self.ask.uniforms.get(round).copied().unwrap_or(0.0)
    }

    /// Positions of the follower's cache that hold the ask's tokens; drafts come after them.
    fn n_sure(&self) -> usize {
        self.ask.tokens.len() - self.follower.start
    }

    /// The follower after `n_rounds`: its caches hold the ask's tokens and all drafts but the last.
    fn follow(mut self, draft: &[TokenId], n_rounds: usize) -> Follower {
        let first = self.ask.tokens.len() - self.n_behind;
        self.follower.tokens.extend(&self.ask.tokens[first..]);
        self.follower.tokens.extend(draft.iter().take(n_rounds - 1));
        let n = self.follower.tokens.len();
        self.follower.cut_back(n);
        self.follower
    }
}

/// `[T]`: the tokens that the runs lack.
fn behind(runs: &[Run<'_>]) -> Array {
    let tokens: Vec<_> =
        runs.iter().flat_map(|run| &run.ask.tokens[run.ask.tokens.len() - run.n_behind..]).copied().collect();
    Array::from_slice(&tokens, &[tokens.len() as i32])
}

/// Drafts of each of `n_runs` runs from those of each round.
fn read(drafted: &[Array], n_runs: usize) -> mx::Result<Vec<Vec<TokenId>>> {
    if drafted.is_empty() {
        return Ok(vec![Vec::new(); n_runs]);
    }
    let tokens = mx::to_u32(&mx::concatenate(&drafted.iter().collect::<Vec<_>>(), 0)?)?;
    Ok((0..n_runs).map(|run| tokens.iter().skip(run).step_by(n_runs).copied().collect()).collect())
}

/// The options without what the draft model cannot honour: scores, counts, and biases of tokens it does not have.
fn plain_options(sampling: &SamplingOptions, n_vocab: usize) -> SamplingOptions {
    SamplingOptions {
        n_logprobs: None,
        logit_bias: sampling.logit_bias.range(..n_vocab as TokenId).map(|(token, bias)| (*token, *bias)).collect(),
        ..sampling.clone()
    }
}

#[cfg(test)]
#[path = "draft_tests.rs"]
mod tests;
