//! The seam between sequences and what holds their output to a form: which tokens may come next.

use std::fmt;
use std::sync::Arc;

use crate::{TokenBits, TokenId};

/// Follows the output of one sequence and tells which tokens may come next.
pub trait TokenMask: Send {
    /// Which tokens may come next; `None` = all. Asked while the device computes, once for each token that is drawn.
    ///
    /// # Errors
    /// When the output can be followed no longer; the text says why. The sequence fails then.
    fn allowed(&mut self) -> Result<Option<Arc<TokenBits>>, String>;

    /// Tokens that must come next, in order, if any must; they are not taken yet.
    fn forced(&mut self) -> Vec<TokenId>;

    /// Takes the next token, which ends nothing.
    ///
    /// # Errors
    /// When the token is not allowed, or the output can be followed no longer; the text says which.
    fn commit(&mut self, token: TokenId) -> Result<(), String>;

    /// Whether the output is complete: nothing may come next.
    fn is_complete(&self) -> bool;

    /// Whether the tokens that it may have kept the output from going on as it might have: complete or not, it ends for
    /// its length then.
    fn is_curtailed(&self) -> bool {
        false
    }

    /// How many of `tokens` may come next, in order.
    fn n_fitting(&mut self, tokens: &[TokenId]) -> usize;

    /// The same state, to follow drafts with.
    fn fork(&self) -> Box<dyn TokenMask>;
}

/// What a request's output is held to: makes the mask of its sequence.
#[derive(Clone)]
pub struct MaskSource(Arc<dyn Fn() -> Box<dyn TokenMask> + Send + Sync>);

impl MaskSource {
    /// `start` makes a mask at the start of an output.
    pub fn new(start: impl Fn() -> Box<dyn TokenMask> + Send + Sync + 'static) -> Self {
        Self(Arc::new(start))
    }

    /// At the start of an output.
    pub fn start(&self) -> Box<dyn TokenMask> {
        (self.0)()
    }
}

/// The same source, not an equal one.
impl PartialEq for MaskSource {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for MaskSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MaskSource").finish_non_exhaustive()
    }
}
