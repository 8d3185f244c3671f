//! A residual stream through parts of any kind, `x + part(norm(x))` one after the other: what hybrids of attention and
//! recurrences are.

use super::decoder::{Dims, Ends};
use super::{Model, Sizes};
use crate::LoadResult;
use crate::cache::CacheKind;
use crate::layers::gated_conv::GatedConv;
use crate::layers::mlp::{GatedMlp, PlainMlp};
use crate::layers::moe::Moe;
use crate::layers::norm::{Centre, Norm, NormKind};
use crate::layers::selective::Selective;
use crate::layers::self_attention::SelfAttention;
use crate::layers::ssm::Ssm;
use crate::mx::{self, Array, Result};
use crate::pass::Pass;
use crate::weights::Weights;

/// The only norm that these families have.
pub const RMS: NormKind = NormKind::Rms(Centre::Zero);

/// Something that adds to the residual stream.
pub trait Part {
    /// `[T, hidden]` to `[T, hidden]`.
    fn forward(&self, x: &Array, pass: &mut Pass<'_>) -> Result<Array>;
}

impl Part for GatedMlp {
    fn forward(&self, x: &Array, _: &mut Pass<'_>) -> Result<Array> {
        self.forward(x)
    }
}

impl Part for Moe {
    fn forward(&self, x: &Array, _: &mut Pass<'_>) -> Result<Array> {
        self.forward(x)
    }
}

impl Part for PlainMlp {
    fn forward(&self, x: &Array, _: &mut Pass<'_>) -> Result<Array> {
        self.forward(x)
    }
}

impl Part for GatedConv {
    fn forward(&self, x: &Array, pass: &mut Pass<'_>) -> Result<Array> {
        self.forward(x, pass)
    }
}

impl Part for Selective {
    fn forward(&self, x: &Array, pass: &mut Pass<'_>) -> Result<Array> {
        self.forward(x, pass)
    }
}

impl Part for Ssm {
    fn forward(&self, x: &Array, pass: &mut Pass<'_>) -> Result<Array> {
        self.forward(x, pass)
    }
}

impl Part for SelfAttention {
    fn forward(&self, x: &Array, pass: &mut Pass<'_>) -> Result<Array> {
        self.forward(x, pass)
    }
}

/// Parts side by side.
pub struct Sum(pub Vec<Box<dyn Part>>);

impl Part for Sum {
    fn forward(&self, x: &Array, pass: &mut Pass<'_>) -> Result<Array> {
        let mut sum: Option<Array> = None;
        for part in &self.0 {
            let y = part.forward(x, pass)?;
            sum = Some(match sum {
                Some(sum) => mx::add(&sum, &y)?,
                None => y,
            });
        }
        sum.ok_or_else(|| mx::Error { what: "a sum of no parts".into() })
    }
}

/// Factors outside the parts.
#[derive(Clone, Copy, Debug)]
pub struct Factors {
    /// Of the embedding.
    pub embedding: f32,
    /// Of what a part adds.
    pub residual: f32,
    /// Of the logits.
    pub logits: f32,
}

impl Default for Factors {
    fn default() -> Self {
        Self { embedding: 1.0, residual: 1.0, logits: 1.0 }
    }
}

/// A network of such parts.
pub struct Stack {
    ends: Ends,
    parts: Vec<(Norm, Box<dyn Part>)>,
    factors: Factors,
    sizes: Sizes,
}

impl Stack {
    /// Takes the ends; `parts` are in their order, `caches` as their indexes say.
    pub fn new(
        weights: &Weights<'_>,
        dims: &Dims,
        parts: Vec<(Norm, Box<dyn Part>)>,
        caches: Vec<CacheKind>,
        factors: Factors,
    ) -> LoadResult<Self> {
        let n_full = caches.iter().filter(|kind| **kind == CacheKind::Full).count();
        let sizes = Sizes { caches, ..dims.sizes(vec![None; n_full]) };
        Ok(Self { ends: Ends::load(weights, dims, RMS)?, parts, factors, sizes })
    }
}

impl Model for Stack {
    fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    fn hidden(&self, tokens: &Array, pass: &mut Pass<'_>) -> Result<Array> {
        let mut h = scaled(self.ends.embed(tokens)?, self.factors.embedding)?;
        for (norm, part) in &self.parts {
            h = mx::add(&h, &scaled(part.forward(&norm.forward(&h)?, pass)?, self.factors.residual)?)?;
        }
        Ok(h)
    }

    fn logits(&self, hidden: &Array) -> Result<Array> {
        scaled(self.ends.logits(hidden)?, self.factors.logits)
    }

    fn can_take_back(&self) -> bool {
        true
    }
}

/// `x * factor` in the type of `x`.
fn scaled(x: Array, factor: f32) -> Result<Array> {
    if factor == 1.0 { Ok(x) } else { mx::multiply(&x, &mx::cast(&mx::scalar(factor), x.dtype())?) }
}
