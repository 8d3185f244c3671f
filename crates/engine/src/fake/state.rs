//! What the fake backend stores: a number per position that depends on all tokens up to it, and what follows from them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::draw::splitmix64;
use crate::{Draw, SamplingOptions, TokenId, TokenScore};

/// KV of one position. Sequences and blocks that share it hold one and the same.
#[derive(Debug)]
pub(super) struct Position {
    pub chain: u64,
    n_live: Arc<AtomicUsize>,
}

impl Position {
    pub(super) fn new(chain: u64, n_live: &Arc<AtomicUsize>) -> Arc<Self> {
        n_live.fetch_add(1, Ordering::Relaxed);
        Arc::new(Self { chain, n_live: Arc::clone(n_live) })
    }
}

impl Drop for Position {
    fn drop(&mut self) {
        self.n_live.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Stands for all stored tokens, for the state of layers that cannot be cut back, and for the counts of penalties.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Digest {
    /// What the newest position stores.
    pub chain: u64,
    /// Over what every position stores: one wrong position changes it.
    attended: u64,
    /// Of the recurrent layers; 0 for a model without.
    pub recurrent: u64,
    is_recurrent: bool,
    counts: u64,
}

impl Digest {
    /// Before the first position. `output` are tokens generated earlier.
    pub(super) fn new(prompt: &[TokenId], output: &[TokenId], snapshot_bytes: usize) -> Self {
        let counts = prompt.iter().fold(0u64, |counts, token| counts.wrapping_add(splitmix64(u64::from(*token))));
        let mut digest = Self { counts, is_recurrent: snapshot_bytes > 0, ..Self::default() };
        output.iter().for_each(|token| digest.count_output(*token));
        digest
    }

    pub(super) fn append(&mut self, token: TokenId) {
        let chain = splitmix64(self.chain.rotate_left(7) ^ u64::from(token));
        if self.is_recurrent {
            self.recurrent = splitmix64(self.recurrent.rotate_left(9).wrapping_add(u64::from(token)));
        }
        self.attend(chain);
    }

    /// A position that is stored already.
    pub(super) fn attend(&mut self, chain: u64) {
        self.chain = chain;
        self.attended = splitmix64(self.attended.rotate_left(13) ^ chain);
    }

    pub(super) fn count_output(&mut self, token: TokenId) {
        self.counts = self.counts.wrapping_add(splitmix64(u64::from(token) | 1 << 32));
    }

    fn logits(&self) -> u64 {
        self.attended ^ self.recurrent
    }

    /// Depends on the draw when there is a temperature, and on the counts when there are penalties.
    pub(super) fn next_token(&self, sampling: &SamplingOptions, draw: &Draw, n_vocab: usize) -> TokenId {
        let uniform = if sampling.is_greedy() { 0 } else { draw.uniform.to_bits() };
        let counts = if sampling.has_penalties() { self.counts } else { 0 };
        let hash = splitmix64(self.logits() ^ splitmix64(counts ^ u64::from(uniform)));
        let nth = |n_tokens: usize| (hash % n_tokens.max(1) as u64) as usize;
        if draw.mask().is_none() && draw.bias().is_empty() {
            return nth(n_vocab) as TokenId;
        }
        // A bias rules out whatever it names, while anything else is left.
        let is_biased = |token: TokenId| draw.bias().iter().any(|(biased, _)| *biased == token);
        let is_allowed = |token: &TokenId| draw.mask().is_none_or(|mask| mask.holds(*token));
        let allowed: Vec<_> = (0..n_vocab as TokenId).filter(is_allowed).collect();
        let unbiased: Vec<_> = allowed.iter().copied().filter(|token| !is_biased(*token)).collect();
        let choice = if unbiased.is_empty() { allowed } else { unbiased };
        choice[nth(choice.len())]
    }

    pub(super) fn score(&self, token: TokenId, sampling: &SamplingOptions, n_vocab: usize) -> TokenScore {
        let Some(n_top) = sampling.n_logprobs else { return TokenScore { token, logprob: f32::NAN, top: Vec::new() } };
        let logits = self.logits();
        let logprob = |token: TokenId| -((splitmix64(logits ^ u64::from(token)) % 100_000) as f32) / 10_000.0;
        let mut top: Vec<_> = (0..n_vocab as TokenId).map(|token| (token, logprob(token))).collect();
        top.sort_by(|a, b| b.1.total_cmp(&a.1));
        top.truncate(n_top);
        TokenScore { token, logprob: logprob(token), top }
    }
}
