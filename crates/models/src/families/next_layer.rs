//! A head that predicts the token after the next and is kept as one more layer (DeepSeek-AI 2024), as families that keep it by itself
//! have it.

use super::block::{Chained, HeadLayout, Layer, MlpKind};
use crate::layers::rope::Rope;
use crate::weights::Weights;

/// Its own tensors. Its copies of what is around the blocks are dropped.
const NAMES: &[(&str, Option<&str>)] = &[
    ("eh_proj.", Some("fc.")),
    ("embed_tokens.", None),
    ("enorm.", Some("pre_fc_norm_embedding.")),
    ("hnorm.", Some("pre_fc_norm_hidden.")),
    ("shared_head.head.", None),
    ("shared_head.norm.", Some("norm.")),
];

/// Renames the layer after the last of `n_layers`, and drops those after it; what it is like, if it is there. Its block attends by
/// `rope` and has experts.
pub fn head(weights: &Weights<'_>, n_layers: usize, rope: &Rope) -> Option<HeadLayout> {
    weights.rename(|name| renamed(name, n_layers));
    let layer = Layer { window: None, rope: rope.clone(), attention: None, mlp: MlpKind::Sparse, norms: None };
    weights.contains("mtp.fc.weight").then_some(HeadLayout { layer, chained: Chained::Plain })
}

fn renamed(name: &str, n_layers: usize) -> Option<String> {
    let parts = name.strip_prefix("model.layers.").and_then(|rest| rest.split_once('.'));
    let Some((layer, rest)) = parts.and_then(|(layer, rest)| Some((layer.parse::<usize>().ok()?, rest))) else {
        return Some(name.to_owned());
    };
    if layer != n_layers {
        return (layer < n_layers).then(|| name.to_owned());
    }
    match NAMES.iter().find_map(|(theirs, ours)| Some((rest.strip_prefix(theirs)?, ours))) {
        Some((leaf, ours)) => ours.map(|ours| format!("mtp.{ours}{leaf}")),
        None => Some(format!("mtp.layers.0.{rest}")),
    }
}
