//! GPT-OSS (OpenAI 2025): attention sinks, a window in every other layer, experts with bounded gates and biases.

use serde::Deserialize;

use super::Model;
use super::block::Recipe;
use super::decoder::{Dims, sanitize, windows};
use super::experts::{Experts, switch};
use crate::LoadResult;
use crate::config::ConfigFile;
use crate::layers::linear::Bias;
use crate::layers::moe::{Glu, Scoring};
use crate::layers::self_attention::Sinks;
use crate::mx::{self, Array, Cut, Dtype, Result};
use crate::weights::Weights;

#[derive(Deserialize)]
struct Config {
    #[serde(flatten)]
    dims: Dims,
    tie_word_embeddings: Option<bool>,
    num_local_experts: usize,
    num_experts_per_tok: usize,
    sliding_window: usize,
    layer_types: Option<Vec<String>>,
    swiglu_limit: Option<f32>,
}

/// Builds the network.
pub(super) fn load(file: &ConfigFile, weights: &Weights<'_>) -> LoadResult<Box<dyn Model>> {
    let config: Config = file.parse()?;
    config.dims.check(file)?;
    let experts = Experts {
        n: config.num_local_experts,
        top_k: config.num_experts_per_tok,
        n_inner: config.dims.intermediate_size,
    };
    let mut moe = experts.layout(file, Scoring::SoftmaxOfPicked)?;
    moe.router.name = "router";
    moe.router.bias = Bias::Present;
    moe.bias = Bias::Present;
    moe.stacked = "experts";
    moe.glu = Glu::Clamped { alpha: 1.702, limit: config.swiglu_limit.unwrap_or(7.0) };
    sanitize(weights, config.tie_word_embeddings);
    weights.remake(apart)?;
    let rope = config.dims.rope(file, weights.root().kernels())?;
    let is_sliding = |layer_idx: usize| layer_idx.is_multiple_of(2);
    let windows = windows(&config.dims, config.layer_types.as_deref(), Some(config.sliding_window), is_sliding);
    let mut recipe = Recipe::new(config.dims, windows, &rope);
    recipe.attention.qkv_bias = Bias::Present;
    recipe.attention.o_bias = Bias::Present;
    recipe.attention.sinks = Sinks::Present;
    recipe.moe = Some(moe);
    switch(&mut recipe.layers, |_| true);
    recipe.load(weights)
}

/// The experts' tensors as published, `experts.{gate_up,down}_proj_{blocks,scales,bias}`, as MLX conversions keep them: gate and
/// up rows, which alternate, apart; sixteen bytes of a block as four words. `None` = any other tensor.
pub fn apart(name: &str, array: &Array) -> Result<Option<Vec<(String, Array)>>> {
    let known = [("_blocks", ".weight"), ("_scales", ".scales"), ("_bias", ".bias")];
    let found = known.iter().find_map(|(theirs, ours)| Some((name.strip_suffix(theirs)?, *ours)));
    let Some((path, ending)) = found.filter(|(path, _)| path.contains(".experts.")) else { return Ok(None) };
    let array = if ending == ".weight" { words(array)? } else { array.clone() };
    let Some(prefix) = path.strip_suffix("gate_up_proj") else {
        return Ok(Some(vec![(format!("{path}{ending}"), array)]));
    };
    let shape = array.shape();
    let (n_experts, n_rows, rest) = (shape[0], shape.get(1).copied().unwrap_or(0), shape.get(2).copied());
    let pairs = mx::reshape(&array, &[n_experts, n_rows / 2, 2, rest.unwrap_or(1)])?;
    let part = |at: i32| {
        let rows = mx::slice(&pairs, &[Cut { axis: 2, start: at, stop: at + 1 }])?;
        let shape: Vec<i32> = [n_experts, n_rows / 2].into_iter().chain(rest).collect();
        mx::contiguous(&mx::reshape(&rows, &shape)?)
    };
    let named = |which: &str, array| (format!("{prefix}{which}_proj{ending}"), array);
    Ok(Some(vec![named("gate", part(0)?), named("up", part(1)?)]))
}

/// `[E, out, G, 16]` bytes as `[E, out, 4 G]` words.
fn words(blocks: &Array) -> Result<Array> {
    let words = mx::view(blocks, Dtype::Uint32)?;
    let shape = words.shape().to_vec();
    match shape.as_slice() {
        [n_experts, n_out, n_groups, n_words] => mx::reshape(&words, &[*n_experts, *n_out, n_groups * n_words]),
        _ => Ok(words),
    }
}
