//! The plain pre-norm decoder: `x + attention(norm(x))`, then `x + mlp(norm(x))`.

use super::decoder::{Dims, Ends};
use super::{Model, Sizes};
use crate::LoadResult;
use crate::layers::attention::Sdpa;
use crate::layers::linear::Bias;
use crate::layers::mlp::{Activation, GatedMlp};
use crate::layers::norm::{Centre, RmsNorm};
use crate::layers::rope::Rope;
use crate::layers::self_attention::{Layout, SelfAttention};
use crate::mx::{Array, Result};
use crate::pass::Pass;
use crate::weights::{At, Weights};

/// What a family decides.
pub struct PreNorm {
    /// Sizes.
    pub dims: Dims,
    /// Attention's biases and norms.
    pub layout: Layout,
    /// Of all feed-forward projections.
    pub mlp_bias: Bias,
    /// Between gate and product.
    pub hidden_act: Activation,
    /// How far back each layer sees.
    pub windows: Vec<Option<usize>>,
}

impl PreNorm {
    /// Takes the whole network.
    pub fn load(self, weights: &Weights<'_>, rope: &Rope) -> LoadResult<Box<dyn Model>> {
        let layers = weights.root().at("model.layers");
        let blocks =
            (0..self.windows.len()).map(|layer_idx| Block::load(&layers.at(layer_idx), &self, layer_idx, rope));
        let blocks = blocks.collect::<LoadResult<_>>()?;
        let ends = Ends::load(weights, &self.dims, Centre::Zero)?;
        Ok(Box::new(Decoder { ends, blocks, sizes: self.dims.sizes(self.windows) }))
    }
}

struct Block {
    input_layernorm: RmsNorm,
    self_attn: SelfAttention,
    post_attention_layernorm: RmsNorm,
    mlp: GatedMlp,
}

impl Block {
    fn load(at: &At<'_, '_>, family: &PreNorm, layer_idx: usize, rope: &Rope) -> LoadResult<Self> {
        let PreNorm { dims, layout, mlp_bias, hidden_act, windows } = family;
        let sdpa = Sdpa::new(dims.attention(windows[layer_idx]), layer_idx, at.kernels());
        Ok(Self {
            input_layernorm: dims.norm(&at.at("input_layernorm"), Centre::Zero)?,
            self_attn: SelfAttention::load(&at.at("self_attn"), *layout, sdpa, rope)?,
            post_attention_layernorm: dims.norm(&at.at("post_attention_layernorm"), Centre::Zero)?,
            mlp: GatedMlp::load(&at.at("mlp"), dims.mlp(), *mlp_bias, *hidden_act)?,
        })
    }

    fn forward(&self, x: &Array, pass: &mut Pass<'_>) -> Result<Array> {
        let h = self.self_attn.forward_onto(x, &self.input_layernorm.forward(x)?, pass)?;
        self.mlp.forward_onto(&h, &self.post_attention_layernorm.forward(&h)?)
    }
}

struct Decoder {
    ends: Ends,
    blocks: Vec<Block>,
    sizes: Sizes,
}

impl Model for Decoder {
    fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    fn hidden(&self, tokens: &Array, pass: &mut Pass<'_>) -> Result<Array> {
        let mut h = self.ends.embed(tokens)?;
        for block in &self.blocks {
            h = block.forward(&h, pass)?;
        }
        Ok(h)
    }

    fn logits(&self, hidden: &Array) -> Result<Array> {
        self.ends.logits(hidden)
    }
}
