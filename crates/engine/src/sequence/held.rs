//! A sequence whose output is held to a form.
//!
//! Where all tokens may come, rows follow one another as ever; a token that turns out not to be allowed, as the one before
//! it has opened a form, is dropped, and the sequence starts anew from what is kept of it. Elsewhere a row waits for the
//! token before it, as its mask depends on it.

use std::fmt;
use std::sync::Arc;

use super::{Leave, Sequence, Standing};
use crate::{Allowed, FinishReason, Output, TokenBits, TokenId, TokenMask, TokenScore};

/// Most forced tokens that are taken at once: as many outputs more may come of one row.
pub(crate) const N_FORCED_MAX: usize = 8;

/// The mask of a sequence, with what it has told.
pub(crate) struct Held {
    mask: Box<dyn TokenMask>,
    next: Option<Result<Allowed, String>>,
    /// Tokens of the sequence when one was refused last.
    refused_at: Option<usize>,
}

/// What a token is to the form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Taken,
    /// Taken, and the output is complete with it.
    Last,
    Refused,
    Failed(String),
}

impl Held {
    pub fn new(mask: Box<dyn TokenMask>) -> Self {
        Self { mask, next: None, refused_at: None }
    }

    /// Whether a row may be planned before the token ahead of it is known.
    pub fn is_free(&self) -> bool {
        self.mask.is_free()
    }

    /// The tokens that the next row may draw; `None` = all. Where none may, the row's result tells.
    pub fn bits(&mut self) -> Option<Arc<TokenBits>> {
        match self.next() {
            Ok(Allowed::These(bits)) => Some(Arc::clone(bits)),
            _ => None,
        }
    }

    /// The sets along `drafts`: one more than the drafts that may come.
    pub fn bits_along(&mut self, drafts: &[TokenId]) -> Vec<Option<Arc<TokenBits>>> {
        let mut sets = vec![self.bits()];
        let mut along = Held::new(self.mask.fork());
        along.next.clone_from(&self.next);
        for draft in drafts {
            if along.take(*draft) != Verdict::Taken {
                break;
            }
            sets.push(along.bits());
        }
        sets
    }

    /// Takes a drawn token that ends nothing.
    pub fn take(&mut self, token: TokenId) -> Verdict {
        match self.next() {
            Err(error) => return Verdict::Failed(error.clone()),
            Ok(allowed) if !holds(allowed, token) => return Verdict::Refused,
            Ok(_) => self.next = None,
        }
        if let Err(error) = self.mask.commit(token) {
            return Verdict::Failed(error);
        }
        match self.next() {
            Ok(Allowed::Nothing) => Verdict::Last,
            _ => Verdict::Taken,
        }
    }

    /// Takes a token that ends the output, if it may.
    pub fn end(&mut self, token: TokenId) -> Verdict {
        match self.next() {
            Err(error) => Verdict::Failed(error.clone()),
            Ok(allowed) if holds(allowed, token) => Verdict::Taken,
            Ok(_) => Verdict::Refused,
        }
    }

    /// Takes the tokens that must come next, at most `n_max` of them, and returns them.
    pub fn take_forced(&mut self, n_max: usize) -> Vec<TokenId> {
        if self.is_free() {
            return Vec::new();
        }
        let mut forced = self.mask.forced();
        forced.truncate(n_max.min(N_FORCED_MAX));
        for (idx, token) in forced.iter().enumerate() {
            self.next = None;
            if let Err(error) = self.mask.commit(*token) {
                self.next = Some(Err(error));
                forced.truncate(idx);
                break;
            }
        }
        forced
    }

    /// Notes a refusal after `n_tokens`; false when that place had one before, where the mask was set and not kept to.
    fn refuse_at(&mut self, n_tokens: usize) -> bool {
        self.refused_at.replace(n_tokens) != Some(n_tokens)
    }

    /// Whether the output is complete.
    pub fn is_complete(&mut self) -> bool {
        matches!(self.next(), Ok(Allowed::Nothing))
    }

    fn next(&mut self) -> &Result<Allowed, String> {
        let mask = &mut self.mask;
        self.next.get_or_insert_with(|| if mask.is_free() { Ok(Allowed::All) } else { mask.allowed() })
    }
}

impl Sequence {
    /// Takes a drawn token; `Some` when no more of the row's tokens count, with the finish if there is one.
    pub(super) fn take(&mut self, score: TokenScore, outputs: &mut Vec<Output>) -> Option<Option<Output>> {
        let token = score.token;
        let is_stop = self.stop_tokens.contains(&token);
        let verdict = match &mut self.held {
            None => Verdict::Taken,
            Some(held) if !is_stop => held.take(token),
            Some(held) => held.end(token),
        };
        match verdict {
            Verdict::Refused if self.held.as_mut().is_some_and(|held| !held.refuse_at(self.tokens.len())) => {
                let cause = "the model's backend drew a token that its mask forbids".to_owned();
                return Some(Some(self.finish(FinishReason::Failed(cause))));
            }
            Verdict::Refused => {
                // The row was planned before the token ahead of it was known. What is computed up to it stays kept.
                self.is_lost |= self.n_rows_in_flight > 0;
                self.standing = Standing::Leaving(Leave::Preempted);
                return Some(None);
            }
            Verdict::Failed(cause) => return Some(Some(self.finish(FinishReason::Failed(cause)))),
            Verdict::Taken | Verdict::Last => {}
        }
        self.tokens.push(token);
        outputs.push(Output::Token(score));
        match verdict {
            Verdict::Last => Some(Some(self.finish(FinishReason::Stop))),
            _ if is_stop => Some(Some(self.finish(FinishReason::Stop))),
            _ => None,
        }
    }

    /// Takes the tokens that the form leaves no choice of; they need not be drawn. Where scores are wanted, they are.
    pub(super) fn take_forced(&mut self, outputs: &mut Vec<Output>) {
        let n_left = self.n_limit - self.tokens.len();
        let Some(held) = self.held.as_mut().filter(|_| self.n_pending == 0 && self.sampling.n_logprobs.is_none())
        else {
            return;
        };
        let forced = held.take_forced(n_left);
        let is_complete = !forced.is_empty() && held.is_complete();
        for token in forced {
            self.tokens.push(token);
            outputs.push(Output::Token(TokenScore { token, logprob: f32::NAN, top: Vec::new() }));
        }
        if is_complete {
            outputs.push(self.finish(FinishReason::Stop));
        }
    }
}

fn holds(allowed: &Allowed, token: TokenId) -> bool {
    match allowed {
        Allowed::All => true,
        Allowed::These(bits) => bits.words.get(token as usize / 32).is_some_and(|word| word >> (token % 32) & 1 == 1),
        Allowed::Nothing => false,
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").finish_non_exhaustive()
    }
}
