//! A block of Gemma 4: attention, feed-forward and experts side by side, the layer's vector of each token.

use super::Config;
use crate::LoadResult;
use crate::families::decoder::Dims;
use crate::families::per_layer::PerLayerGate;
use crate::families::shared_kv::Owners;
use crate::layers::attention::Sdpa;
use crate::layers::mlp::{GatedMlp, MlpLayout};
use crate::layers::moe::{Moe, MoeLayout};
use crate::layers::norm::{Centre, RmsNorm};
use crate::layers::rope::Rope;
use crate::layers::self_attention::{SelfAttention, Source};
use crate::mx::{self, Array, Result};
use crate::pass::Pass;
use crate::weights::At;

/// Experts beside the dense part, each side with norms of its own.
struct Sparse {
    after_dense: RmsNorm,
    router_norm: RmsNorm,
    before: RmsNorm,
    moe: Moe,
    after: RmsNorm,
}

impl Sparse {
    fn load(at: &At<'_, '_>, dims: &Dims, layout: &MoeLayout) -> LoadResult<Self> {
        let n = dims.hidden_size as i32;
        let norm = |name: &str| RmsNorm::load(&at.at(name), n, dims.rms_norm_eps, Centre::Zero);
        let scale = at.at("moe.router").tensor("scale", &[n])?;
        let router = mx::scale(&scale, (n as f32).powf(-0.5))?;
        Ok(Self {
            after_dense: norm("post_feedforward_layernorm_1")?,
            router_norm: RmsNorm::new(&router, dims.rms_norm_eps, at.kernels())?,
            before: norm("pre_feedforward_layernorm_2")?,
            moe: Moe::load(at, n, layout)?,
            after: norm("post_feedforward_layernorm_2")?,
        })
    }

    /// `dense` is what the dense part made of `x`.
    fn forward(&self, x: &Array, dense: &Array) -> Result<Array> {
        let y = self.moe.forward_by(&self.router_norm.forward(x)?, &self.before.forward(x)?)?;
        mx::add(&self.after_dense.forward(dense)?, &self.after.forward(&y)?)
    }
}

/// See the module.
pub(super) struct Block {
    input_layernorm: RmsNorm,
    self_attn: SelfAttention,
    post_attention_layernorm: RmsNorm,
    pre_feedforward_layernorm: RmsNorm,
    mlp: GatedMlp,
    sparse: Option<Sparse>,
    post_feedforward_layernorm: RmsNorm,
    per_layer: Option<PerLayerGate>,
    layer_scalar: Option<Array>,
}

impl Block {
    /// `[T, hidden]` and the layer's vectors `[T, inner]` to `[T, hidden]`.
    pub(super) fn forward(&self, x: &Array, vector: Option<&Array>, pass: &mut Pass<'_>) -> Result<Array> {
        let y = self.self_attn.forward(&self.input_layernorm.forward(x)?, pass)?;
        let h = mx::add(x, &self.post_attention_layernorm.forward(&y)?)?;
        let mut y = self.mlp.forward(&self.pre_feedforward_layernorm.forward(&h)?)?;
        if let Some(sparse) = &self.sparse {
            y = sparse.forward(&h, &y)?;
        }
        let mut h = mx::add(&h, &self.post_feedforward_layernorm.forward(&y)?)?;
        if let (Some(gate), Some(vector)) = (&self.per_layer, vector) {
            h = mx::add(&h, &gate.forward(&h, vector)?)?;
        }
        match &self.layer_scalar {
            Some(scalar) => mx::multiply(&h, scalar),
            None => Ok(h),
        }
    }
}

/// What the blocks are loaded with.
pub(super) struct Loader<'a> {
    pub config: &'a Config,
    pub windows: &'a [Option<usize>],
    pub owners: &'a Owners,
    /// Of global layers, and of local ones.
    pub ropes: [Rope; 2],
    pub moe: Option<MoeLayout>,
}

impl Loader<'_> {
    /// Takes a layer.
    pub(super) fn block(&self, at: &At<'_, '_>, layer_idx: usize) -> LoadResult<Block> {
        let Self { config, windows, owners, .. } = *self;
        let (dims, window) = (&config.dims, windows[layer_idx]);
        let (n_hidden, eps) = (dims.hidden_size as i32, dims.rms_norm_eps);
        let norm = |name: &str| RmsNorm::load(&at.at(name), n_hidden, eps, Centre::Zero);
        let own = if config.attention_k_eq_v && window.is_none() { Source::Keys } else { Source::Own };
        let source = owners.source(layer_idx, own);
        let sdpa = Sdpa::new(config.shape(window), owners.of(layer_idx), at.kernels());
        let rope = &self.ropes[usize::from(window.is_some())];
        let widening = if config.use_double_wide_mlp && source == Source::Earlier { 2 } else { 1 };
        let mlp = MlpLayout { activation: config.hidden_activation, ..MlpLayout::default() };
        let per_layer = config.hidden_size_per_layer_input.filter(|n| *n > 0);
        let gate = |n_inner| PerLayerGate::load(at, dims, n_inner, config.hidden_activation);
        let scalar = at.has("layer_scalar").then(|| at.tensor("layer_scalar", &[1]));
        Ok(Block {
            input_layernorm: norm("input_layernorm")?,
            self_attn: SelfAttention::load(&at.at("self_attn"), config.layout(source), sdpa, rope)?,
            post_attention_layernorm: norm("post_attention_layernorm")?,
            pre_feedforward_layernorm: norm("pre_feedforward_layernorm")?,
            mlp: GatedMlp::load(&at.at("mlp"), [n_hidden, dims.intermediate_size as i32 * widening], mlp)?,
            sparse: self.moe.as_ref().map(|moe| Sparse::load(at, dims, moe)).transpose()?,
            post_feedforward_layernorm: norm("post_feedforward_layernorm")?,
            per_layer: per_layer.map(gate).transpose()?,
            layer_scalar: scalar.transpose()?,
        })
    }
}
