//! What a fake backend says: what a script answers to the prompt, always the same, or hashes.

use std::sync::Arc;

use super::FakeOptions;
use super::state::Digest;
use crate::{Draw, SamplingOptions, TokenId};

/// What a scripted model says to a prompt: tokens, after which EOS follows, or `None` where it does not know.
pub type Reply = dyn Fn(&[TokenId]) -> Option<Vec<TokenId>> + Send + Sync;

/// Makes answers of prompts.
#[derive(Clone)]
pub struct Script(Arc<Reply>);

impl Script {
    /// Answers as `reply` does.
    pub fn new(reply: impl Fn(&[TokenId]) -> Option<Vec<TokenId>> + Send + Sync + 'static) -> Self {
        Self(Arc::new(reply))
    }
}

impl std::fmt::Debug for Script {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Script")
    }
}

impl FakeOptions {
    /// What it answers to a prompt, if that is not a matter of hashes.
    pub(super) fn reply_to(&self, prompt: &[TokenId]) -> Option<Arc<[TokenId]>> {
        let scripted = self.script.as_ref().and_then(|script| (script.0)(prompt));
        scripted.or_else(|| self.reply.clone()).map(Arc::from)
    }

    /// What comes after the tokens of output whose number `written` has, beside what is to be said.
    pub(super) fn token(
        &self,
        digest: &Digest,
        sampling: &SamplingOptions,
        draw: &Draw,
        written: (usize, Option<&[TokenId]>),
    ) -> TokenId {
        let (n_output, reply) = written;
        match reply {
            Some(reply) => reply.get(n_output).copied().unwrap_or(self.info.eos.first().copied().unwrap_or(0)),
            None => digest.next_token(sampling, draw, self.info.n_vocab),
        }
    }
}
