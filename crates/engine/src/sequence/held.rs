//! A sequence whose draws hang on the tokens before them: its output is held to a form, or it must not repeat itself.
//!
//! Its rows follow one another as those of any other; only the terms of their draws are told once the token before them is
//! known, while the device computes. So no mask is ever in the device's way, and none is guessed.

use std::fmt;
use std::sync::Arc;

use super::{Leave, Sequence, Standing};
use crate::plan::PlannedRow;
use crate::{FinishReason, Output, Terms, TokenBits, TokenId, TokenMask, TokenScore, dry};

/// Most forced tokens that are taken at once: as many outputs more may come of one row.
pub(crate) const N_FORCED_MAX: usize = 8;

/// The mask of a sequence.
pub(crate) struct Held {
    mask: Box<dyn TokenMask>,
    /// Why it can be followed no longer.
    failed: Option<String>,
}

/// What a token is to the form.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Verdict {
    Taken,
    /// Taken, and the output is complete with it.
    Last,
    Failed(String),
}

impl Held {
    pub fn new(mask: Box<dyn TokenMask>) -> Self {
        Self { mask, failed: None }
    }

    /// The tokens that may come next and after each of `drafts`, which all may come; `None` = all.
    fn bits_along(&mut self, drafts: &[TokenId]) -> Result<Vec<Option<Arc<TokenBits>>>, String> {
        let mut sets = vec![self.mask.allowed()?];
        if drafts.is_empty() {
            return Ok(sets);
        }
        let mut along = self.mask.fork();
        for draft in drafts {
            along.commit(*draft)?;
            // Nothing follows what completes the output; what is drawn there is void.
            sets.push(if along.is_complete() { None } else { along.allowed()? });
        }
        Ok(sets)
    }

    fn take(&mut self, token: TokenId) -> Verdict {
        match self.mask.commit(token) {
            Err(error) => Verdict::Failed(error),
            Ok(()) if self.mask.is_complete() => Verdict::Last,
            Ok(()) => Verdict::Taken,
        }
    }

    /// Takes the tokens that must come next, at most `n_max` of them, and returns them.
    fn take_forced(&mut self, n_max: usize) -> Vec<TokenId> {
        let mut forced = self.mask.forced();
        forced.truncate(n_max.min(N_FORCED_MAX));
        let is_taken = |token: &&TokenId| match self.mask.commit(**token) {
            Ok(()) => true,
            Err(error) => {
                self.failed = Some(error);
                false
            }
        };
        let n_taken = forced.iter().take_while(is_taken).count();
        forced.truncate(n_taken);
        forced
    }
}

impl Sequence {
    /// Whether what it draws hangs on the tokens before.
    pub(super) fn draws_late(&self) -> bool {
        self.held.is_some() || self.sampling.dry.is_some()
    }

    /// How many of `drafts` the form takes.
    pub(super) fn n_fitting(&mut self, drafts: &[TokenId]) -> usize {
        self.held.as_mut().map_or(drafts.len(), |held| held.mask.n_fitting(drafts))
    }

    /// The terms of a row's draws. All tokens up to its first draw are known.
    pub(crate) fn terms(&mut self, planned: &PlannedRow) -> Vec<Terms> {
        let mut terms = vec![Terms::default(); planned.n_pending()];
        if self.is_lost || self.standing == Standing::Leaving(Leave::Finished) {
            return terms;
        }
        if self.n_void > 0 {
            // It is known what comes: drawn all the same, so that the backend counts it as any other.
            let known = self.tokens.get(planned.end).copied();
            terms[0].mask = known.map(|token| Arc::new(TokenBits::only(token, self.n_vocab)));
            return terms;
        }
        if let Some(held) = &mut self.held {
            match held.bits_along(&self.drafts) {
                Ok(masks) => terms.iter_mut().zip(masks).for_each(|(terms, mask)| terms.mask = mask),
                Err(error) => held.failed = Some(error),
            }
        }
        if let Some(dry) = &self.sampling.dry {
            let tokens = [self.tokens.as_slice(), &self.drafts].concat();
            let n_known = self.tokens.len();
            for (at, terms) in terms.iter_mut().enumerate() {
                terms.bias = dry::penalties(dry, &tokens[..(n_known + at).min(tokens.len())]);
            }
        }
        terms
    }

    /// Takes a drawn token; the finish if there is one, after which no more of the row's tokens count.
    pub(super) fn take(&mut self, score: TokenScore, outputs: &mut Vec<Output>) -> Option<Output> {
        let token = score.token;
        let is_stop = self.stop_tokens.contains(&token);
        let verdict = match &mut self.held {
            Some(Held { failed: Some(cause), .. }) => Verdict::Failed(cause.clone()),
            Some(held) if !is_stop => held.take(token),
            _ => Verdict::Taken,
        };
        if let Verdict::Failed(cause) = verdict {
            return Some(self.finish(FinishReason::Failed(cause)));
        }
        self.tokens.push(token);
        outputs.push(Output::Token(score));
        (is_stop || verdict == Verdict::Last).then(|| self.finish_complete())
    }

    /// Takes the tokens that the form leaves no choice of; they need not be drawn. Where scores are wanted, they are.
    pub(super) fn take_forced(&mut self, outputs: &mut Vec<Output>) {
        let n_left = self.n_limit - self.tokens.len();
        let Some(held) = self.held.as_mut().filter(|held| self.sampling.n_logprobs.is_none() && held.failed.is_none())
        else {
            return;
        };
        let forced = held.take_forced(n_left);
        if forced.is_empty() {
            return;
        }
        let is_complete = held.mask.is_complete();
        // The row in flight, if there is one, draws the first of them.
        let n_void = self.n_pending.min(forced.len());
        self.n_void += n_void;
        self.n_pending -= n_void;
        self.drafting.jumped();
        for token in forced {
            self.tokens.push(token);
            outputs.push(Output::Token(TokenScore { token, logprob: f32::NAN, top: Vec::new() }));
        }
        if is_complete {
            outputs.push(self.finish_complete());
        }
    }

    fn finish_complete(&mut self) -> Output {
        let is_curtailed = self.held.as_ref().is_some_and(|held| held.mask.is_curtailed());
        self.finish(if is_curtailed { FinishReason::Length } else { FinishReason::Stop })
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").finish_non_exhaustive()
    }
}
