//! What a block does across positions.

use crate::LoadResult;
use crate::layers::mla::Mla;
use crate::layers::self_attention::SelfAttention;
use crate::mx::{self, Array, Result};
use crate::pass::Pass;
use crate::weights::At;

/// A layer's part in place of attention, which remembers arrays of a fixed size.
pub trait Mixer {
    /// `[T, hidden]` to `[T, hidden]`; advances the state caches of the layer.
    fn forward(&self, x: &Array, pass: &mut Pass<'_>) -> Result<Array>;

    /// See [`Model::can_take_back`].
    fn can_take_back(&self) -> bool;
}

/// Takes it from the block with an index; `None` = that layer attends.
pub type LoadMixer = dyn Fn(&At<'_, '_>, usize) -> LoadResult<Option<Box<dyn Mixer>>>;

/// One of the ways.
pub(super) enum Attention {
    Grouped(Box<SelfAttention>),
    Latent(Box<Mla>),
    Other(Box<dyn Mixer>),
}

impl Attention {
    pub(super) fn forward(&self, x: &Array, pass: &mut Pass<'_>) -> Result<Array> {
        match self {
            Self::Grouped(attention) => attention.forward(x, pass),
            Self::Latent(attention) => attention.forward(x, pass),
            Self::Other(mixer) => mixer.forward(x, pass),
        }
    }

    pub(super) fn mixer(&self) -> Option<&dyn Mixer> {
        match self {
            Self::Other(mixer) => Some(&**mixer),
            _ => None,
        }
    }

    /// `residual + forward(x)`.
    pub(super) fn forward_onto(&self, residual: &Array, x: &Array, pass: &mut Pass<'_>) -> Result<Array> {
        match self {
            Self::Grouped(attention) => attention.forward_onto(residual, x, pass),
            Self::Latent(_) | Self::Other(_) => mx::add(residual, &self.forward(x, pass)?),
        }
    }
}
