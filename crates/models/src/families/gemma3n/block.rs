//! A block of Gemma 3n.

use super::Config;
use super::altup::AltUp;
use crate::LoadResult;
use crate::families::per_layer::PerLayerGate;
use crate::families::shared_kv::Owners;
use crate::layers::attention::{AttentionShape, Sdpa};
use crate::layers::linear::{Bias, Linear, Shape};
use crate::layers::mlp::{GatedMlp, MlpLayout};
use crate::layers::norm::{Centre, RmsNorm};
use crate::layers::rope::Rope;
use crate::layers::self_attention::{Layout, QkNorm, SelfAttention, Source};
use crate::mx::{self, Array, Cut, Result};
use crate::pass::Pass;
use crate::weights::At;

/// A low-rank path beside attention: `x + norm(right(left(x)))`.
struct Laurel {
    linear_left: Linear,
    linear_right: Linear,
    post_laurel_norm: RmsNorm,
}

/// See the module.
pub(super) struct Block {
    altup: AltUp,
    laurel: Laurel,
    input_layernorm: RmsNorm,
    self_attn: SelfAttention,
    post_attention_layernorm: RmsNorm,
    pre_feedforward_layernorm: RmsNorm,
    mlp: GatedMlp,
    post_feedforward_layernorm: RmsNorm,
    /// `[hidden]`, of the active stream on its way to the gate.
    correct_output_scale: Option<Array>,
    per_layer: PerLayerGate,
}

impl Block {
    /// `[T, A, hidden]` and the layer's vectors `[T, inner]` to `[T, A, hidden]`.
    pub(super) fn forward(&self, streams: &Array, vector: &Array, pass: &mut Pass<'_>) -> Result<Array> {
        let (predicted, active) = self.altup.predict(streams)?;
        let activated = self.activate(&active, pass)?;
        let (corrected, mut active) = self.altup.correct(&predicted, &activated)?;
        if let Some(scale) = &self.correct_output_scale {
            active = mx::multiply(&active, scale)?;
        }
        let vector = mx::expand_dims(&self.per_layer.forward(&active, vector)?, 1)?;
        // The first stream goes without.
        let part = |start, stop| mx::slice(&corrected, &[Cut { axis: 1, start, stop }]);
        mx::concatenate(&[&part(0, 1)?, &mx::add(&part(1, corrected.dim(1))?, &vector)?], 1)
    }

    /// What attention and feed-forward make of the active stream.
    fn activate(&self, x: &Array, pass: &mut Pass<'_>) -> Result<Array> {
        let normed = self.input_layernorm.forward(x)?;
        let attention = self.post_attention_layernorm.forward(&self.self_attn.forward(&normed, pass)?)?;
        let h = mx::add(&mx::add(x, &attention)?, &self.laurel.forward(&normed)?)?;
        let h = mx::scale(&h, 0.5_f32.sqrt())?;
        let y = self.mlp.forward(&self.pre_feedforward_layernorm.forward(&h)?)?;
        mx::add(&h, &self.post_feedforward_layernorm.forward(&y)?)
    }
}

impl Laurel {
    fn load(at: &At<'_, '_>, config: &Config) -> LoadResult<Self> {
        let (rank, n_hidden) = (config.laurel_rank as i32, config.dims.hidden_size as i32);
        let linear = |name, n_out, n_in| Linear::load(at, Shape { name, n_out, n_in, bias: Bias::Absent });
        let norm = RmsNorm::load(&at.at("post_laurel_norm"), n_hidden, config.dims.rms_norm_eps, Centre::Zero)?;
        Ok(Self {
            linear_left: linear("linear_left", rank, n_hidden)?,
            linear_right: linear("linear_right", n_hidden, rank)?,
            post_laurel_norm: norm,
        })
    }

    fn forward(&self, x: &Array) -> Result<Array> {
        let y = self.linear_right.forward(&self.linear_left.forward(x)?)?;
        mx::add(x, &self.post_laurel_norm.forward(&y)?)
    }
}

/// What the blocks are loaded with.
pub(super) struct Loader<'a> {
    pub config: &'a Config,
    pub windows: &'a [Option<usize>],
    pub owners: &'a Owners,
    /// Of global layers, and of local ones.
    pub ropes: [Rope; 2],
}

impl Loader<'_> {
    /// Takes a layer whose feed-forward part has `n_inner` inner elements.
    pub(super) fn block(&self, at: &At<'_, '_>, layer_idx: usize, n_inner: usize) -> LoadResult<Block> {
        let Self { config, windows, owners, .. } = *self;
        let (dims, window) = (&config.dims, windows[layer_idx]);
        let (n_hidden, eps) = (dims.hidden_size as i32, dims.rms_norm_eps);
        let norm = |name: &str| RmsNorm::load(&at.at(name), n_hidden, eps, Centre::Zero);
        let layout = Layout {
            qk_norm: Some(QkNorm::per_head(eps)),
            source: owners.source(layer_idx, Source::Own),
            value_norm: Some(eps),
            ..Layout::plain(n_hidden)
        };
        // Queries and keys are normed, which leaves nothing to scale.
        let shape = AttentionShape { scale: 1.0, ..dims.attention(window) };
        let sdpa = Sdpa::new(shape, owners.of(layer_idx), at.kernels());
        let kept = config.activation_sparsity_pattern.as_ref().and_then(|parts| parts.get(layer_idx)).copied();
        let cutoff = kept.filter(|part| *part > 0.0).map(mx::deviations).transpose()?;
        let mlp = MlpLayout { activation: config.hidden_activation, cutoff, ..MlpLayout::default() };
        // Checkpoints carry it whether it is used or not.
        let scale = at.at("altup").tensor("correct_output_scale", &[n_hidden])?;
        Ok(Block {
            altup: AltUp::load(&at.at("altup"), config)?,
            laurel: Laurel::load(&at.at("laurel"), config)?,
            input_layernorm: norm("input_layernorm")?,
            self_attn: SelfAttention::load(
                &at.at("self_attn"),
                layout,
                sdpa,
                &self.ropes[usize::from(window.is_some())],
            )?,
            post_attention_layernorm: norm("post_attention_layernorm")?,
            pre_feedforward_layernorm: norm("pre_feedforward_layernorm")?,
            mlp: GatedMlp::load(&at.at("mlp"), [n_hidden, n_inner as i32], mlp)?,
            post_feedforward_layernorm: norm("post_feedforward_layernorm")?,
            correct_output_scale: config.altup_correct_scale.then_some(scale),
            per_layer: PerLayerGate::load(at, dims, config.hidden_size_per_layer_input, config.hidden_activation)?,
        })
    }
}
