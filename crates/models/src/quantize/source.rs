//! A checkpoint to be packed: its tensors under the names that the result has, read when they are computed.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use tokbar_hub::checkpoint::headers;

use super::QuantizeError;
use crate::LoadError;
use crate::config::{ConfigFile, QuantizationConfig};
use crate::families::{self, FACTORS, blocks_apart};
use crate::mx::{self, Array, Cut, Dtype};
use crate::weights::{Compute, Kernels, PackedWeights, Weights, published_name};

/// Bits below which packing once more would lose too much.
const N_BITS_MIN: i32 = 8;

/// Opens the checkpoint in `dir`.
pub fn open(dir: &Path, file: &ConfigFile) -> Result<BTreeMap<String, Array>, QuantizeError> {
    let quantization = file.quantization()?;
    if let Some(packing) = quantization.as_ref().map(|quantization| quantization.default_packing())
        && packing.mode.has_biases()
        && packing.bits < N_BITS_MIN
    {
        let detail =
            format!("it is packed already, in {} bits; take the original, which loses nothing twice", packing.bits);
        return Err(QuantizeError::Source { dir: dir.to_owned(), detail });
    }
    let mut tensors = BTreeMap::new();
    for path in headers(dir).map_err(LoadError::from)?.into_keys() {
        let loaded = mx::load_safetensors(&path)?.into_iter();
        tensors.extend(loaded.filter_map(|(name, array)| Some((published_name(&name)?, array))));
    }
    let weights = weights(tensors, None);
    weights.remake(blocks_apart)?;
    let n_hidden = file.field("hidden_size").and_then(Value::as_u64).unwrap_or(0) as i32;
    weights.remake(|name, array| fused_apart(name, array, n_hidden))?;
    Ok(weights.into_tensors())
}

/// For taking tensors as they are stored.
pub fn weights(tensors: BTreeMap<String, Array>, quantization: Option<QuantizationConfig>) -> Weights<'static> {
    let compute = Compute { dtype: None, packed: PackedWeights::Keep, kernels: Kernels::Fused };
    Weights::of(tensors, compute, quantization)
}

/// Whether the matrix at `path` is packed.
pub fn has_companion(weights: &Weights<'_>, path: &str) -> bool {
    ["scales", "scale", "weight_scale_inv"].iter().any(|leaf| weights.contains(&format!("{path}.{leaf}")))
}

/// What config.json in `dir` describes, with tensors that cannot be read.
pub fn imagine(file: &ConfigFile) -> Result<BTreeMap<String, Array>, QuantizeError> {
    let family = families::find(file.model_type()?)?;
    let is_tied = file.field("tie_word_embeddings").and_then(Value::as_bool).unwrap_or(false);
    let weights = Weights::phantom(is_tied);
    (family.load)(file, &weights)?;
    Ok(weights.given())
}

/// `experts.gate_up_proj` and `experts.down_proj` of all experts, outputs before inputs or after them, as MLX conversions keep
/// them. `None` = any other tensor.
fn fused_apart(name: &str, array: &Array, n_hidden: i32) -> mx::Result<Option<Vec<(String, Array)>>> {
    let Some((at, projection)) = name.rsplit_once(".experts.").filter(|_| array.ndim() == 3) else { return Ok(None) };
    let (projection, leaf) = match projection.strip_suffix(FACTORS) {
        Some(projection) => (projection, "weight_scale_inv"),
        None => (projection, "weight"),
    };
    let is_down = match projection {
        "down_proj" => true,
        "gate_up_proj" => false,
        _ => return Ok(None),
    };
    let stacked = match at.rsplit('.').next() {
        Some("feed_forward") => "experts",
        // Beside the layer's other parts.
        Some(last) if last.parse::<usize>().is_ok() => "experts.switch_glu",
        _ => "switch_mlp",
    };
    // Hidden sizes that are an expert's, too, are read as published last: outputs first.
    let is_out_first = leaf != "weight" || array.dim(if is_down { 1 } else { 2 }) == n_hidden;
    let array = if is_out_first { array.clone() } else { mx::transpose_axes(array, &[0, 2, 1])? };
    let named = |part: &str, array: Array| Ok((format!("{at}.{stacked}.{part}.{leaf}"), mx::contiguous(&array)?));
    if is_down {
        return Ok(Some(vec![named("down_proj", array)?]));
    }
    let n = array.dim(1);
    let part = |start, stop| mx::slice(&array, &[Cut { axis: 1, start, stop }]);
    if n == 1 {
        return Ok(Some(vec![named("gate_proj", array.clone())?, named("up_proj", array.clone())?]));
    }
    Ok(Some(vec![named("gate_proj", part(0, n / 2)?)?, named("up_proj", part(n / 2, n)?)?]))
}

/// Whether elements of that type are packed or made of several parts.
pub fn is_coded(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::Uint8 | Dtype::Int8 | Dtype::Uint32)
}
