//! A vector of each token for each layer, beside the residual stream (Gemma Team 2025).

use super::decoder::Dims;
use crate::LoadResult;
use crate::config::{ConfigFile, Limit};
use crate::layers::embedding::Embedding;
use crate::layers::linear::{Bias, Linear, Shape};
use crate::layers::mlp::Activation;
use crate::layers::norm::{Centre, RmsNorm};
use crate::mx::{self, Array, Cut, Dtype, Result};
use crate::weights::At;

/// The tables and the projection that the vectors come from.
pub struct PerLayer {
    embed_tokens: Embedding,
    projection: Linear,
    norm: RmsNorm,
    n_vocab: usize,
    n_layers: i32,
    n_inner: i32,
    n_hidden: f32,
}

impl PerLayer {
    /// Takes `embed_tokens_per_layer`, `per_layer_model_projection` and `per_layer_projection_norm`; `n_vocab` tokens have
    /// vectors of their own, `n_inner` elements a layer.
    pub fn load(file: &ConfigFile, at: &At<'_, '_>, dims: &Dims, [n_vocab, n_inner]: [usize; 2]) -> LoadResult<Self> {
        file.check(&[
            Limit::positive("vocab_size_per_layer_input", n_vocab, 1 << 24),
            Limit::positive("hidden_size_per_layer_input", n_inner, 1 << 15),
        ])?;
        let (n_layers, n_inner) = (dims.num_hidden_layers as i32, n_inner as i32);
        let n_out = n_layers * n_inner;
        let name = "per_layer_model_projection";
        let n_in = dims.hidden_size as i32;
        Ok(Self {
            embed_tokens: Embedding::load(&at.at("embed_tokens_per_layer"), n_vocab as i32, n_out)?,
            projection: Linear::load(at, Shape { name, n_out, n_in, bias: Bias::Absent })?,
            norm: RmsNorm::load(&at.at("per_layer_projection_norm"), n_inner, dims.rms_norm_eps, Centre::Zero)?,
            n_vocab,
            n_layers,
            n_inner,
            n_hidden: dims.hidden_size as f32,
        })
    }

    /// `[T]` ids and `[T, hidden]` embeddings to `[T, inner]` for each layer.
    pub fn forward(&self, tokens: &Array, embedded: &Array) -> Result<Vec<Array>> {
        let shape = [tokens.dim(0), self.n_layers, self.n_inner];
        // Tokens without a vector of their own take the first one's.
        let n_vocab = Array::from_slice(&[self.n_vocab as u32], &[1]);
        let first = Array::from_slice(&[0_u32], &[1]);
        let tokens = mx::select(&mx::greater(&n_vocab, tokens)?, &mx::cast(tokens, Dtype::Uint32)?, &first)?;
        let own = mx::reshape(&self.embed_tokens.forward(&tokens)?, &shape)?;
        let own = mx::scale(&own, (self.n_inner as f32).sqrt())?;
        let projected = mx::scale(&self.projection.forward(embedded)?, self.n_hidden.powf(-0.5))?;
        let projected = self.norm.forward(&mx::reshape(&projected, &shape)?)?;
        let all = mx::scale(&mx::add(&projected, &own)?, 0.5_f32.sqrt())?;
        let layer = |start| {
            let part = mx::slice(&all, &[Cut { axis: 1, start, stop: start + 1 }])?;
            mx::reshape(&part, &[shape[0], self.n_inner])
        };
        (0..self.n_layers).map(layer).collect()
    }
}

/// How a block takes its vector in: `norm(projection(act(gate(x)) * vector))`.
pub struct PerLayerGate {
    gate: Linear,
    projection: Linear,
    norm: RmsNorm,
    activation: Activation,
}

impl PerLayerGate {
    /// Takes `per_layer_input_gate`, `per_layer_projection` and `post_per_layer_input_norm` of a block.
    pub fn load(at: &At<'_, '_>, dims: &Dims, n_inner: usize, activation: Activation) -> LoadResult<Self> {
        let (n_hidden, n_inner) = (dims.hidden_size as i32, n_inner as i32);
        let linear = |name, n_out, n_in| Linear::load(at, Shape { name, n_out, n_in, bias: Bias::Absent });
        Ok(Self {
            gate: linear("per_layer_input_gate", n_inner, n_hidden)?,
            projection: linear("per_layer_projection", n_hidden, n_inner)?,
            norm: RmsNorm::load(&at.at("post_per_layer_input_norm"), n_hidden, dims.rms_norm_eps, Centre::Zero)?,
            activation,
        })
    }

    /// `[T, hidden]` and `[T, inner]` to `[T, hidden]`.
    pub fn forward(&self, x: &Array, vector: &Array) -> Result<Array> {
        let gated = mx::multiply(&self.activation.apply(&self.gate.forward(x)?)?, vector)?;
        self.norm.forward(&self.projection.forward(&gated)?)
    }
}
