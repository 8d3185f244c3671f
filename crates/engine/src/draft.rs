//! Guesses at the tokens that come next. A step verifies several of them at once, and output is the same with and without.
//!
//! Knows tokens only. What a draft is worth is the matter of [`speculation`](crate::speculation).

pub(crate) mod lookup;

use crate::TokenId;

/// Most tokens of one draft.
pub(crate) const N_DRAFT_MAX: usize = 16;

/// Where drafts come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The sequence's own tokens; costs nothing.
    Lookup,
    /// A drafter in the backend: a draft model, or heads of the model itself.
    Backend,
}

/// Tokens that may follow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Draft {
    pub tokens: Vec<TokenId>,
    /// How much speaks for them, in the drafter's own measure: more is likelier.
    pub evidence: usize,
}

/// Makes drafts for one sequence. Drafters that hold tensors live behind [`Backend::draft`](crate::Backend::draft).
pub(crate) trait Drafter {
    /// Up to `n_max` tokens that may follow `tokens`, all of the sequence's. They only grow between calls.
    fn draft(&mut self, tokens: &[TokenId], n_max: usize) -> Draft;
}
