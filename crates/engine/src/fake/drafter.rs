//! A drafter for the fake backend: it knows what comes next, and is wrong now and then.

use super::{FakeBackend, Stored};
use crate::draw::splitmix64;
use crate::{DraftAsk, Draw, TokenId};

impl FakeBackend {
    /// The tokens that will be drawn, each wrong by chance.
    pub(super) fn guess(&self, ask: &DraftAsk<'_>) -> Vec<TokenId> {
        let Some(Stored { sampling, n_prompt, reply, positions, digest, .. }) = self.sequences.get(&ask.sequence)
        else {
            return Vec::new();
        };
        let (mut digest, mut n_positions) = (*digest, positions.len());
        let mut next = ask.tokens[n_positions..].to_vec();
        let mut guessed = Vec::new();
        for uniform in &ask.uniforms {
            for token in next.drain(..) {
                digest.append(token);
                n_positions += 1;
            }
            let written = (n_positions - n_prompt, reply.as_deref());
            let token = self.options.token(&digest, sampling, &Draw::free(*uniform), written);
            digest.count_output(token);
            next.push(token);
            guessed.push(token);
        }
        let n_vocab = self.options.info.n_vocab as TokenId;
        let chance = |at: usize| (splitmix64((n_positions * 31 + at) as u64) % 100) as usize;
        let is_wrong = |at: usize| chance(at) >= self.options.drafter_percent;
        guessed.iter().enumerate().map(|(at, token)| (token + TokenId::from(is_wrong(at))) % n_vocab).collect()
    }
}
