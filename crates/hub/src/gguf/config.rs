//! GGUF metadata -> config.json.

use std::f64::consts::TAU;

use serde_json::{Map, Value, json};

use super::architecture::{Architecture, Dim};
use super::dequantize::dequantize;
use super::error::ImportError;
use super::reader::Gguf;

/// Sizes that the tensors are checked against and that config.json repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// `vocab_size`: rows of the embedding.
    pub vocab: usize,
    /// `hidden_size`
    pub hidden: usize,
    /// `intermediate_size`
    pub ffn: usize,
    /// `num_hidden_layers`
    pub n_layers: usize,
    /// `num_attention_heads`
    pub n_heads: usize,
    /// `num_key_value_heads`
    pub n_kv_heads: usize,
    /// `head_dim`
    pub head: usize,
}

impl Sizes {
    /// Length of a dimension.
    pub fn of(&self, dim: Dim) -> usize {
        match dim {
            Dim::Vocab => self.vocab,
            Dim::Hidden => self.hidden,
            Dim::Ffn => self.ffn,
            Dim::Query => self.n_heads * self.head,
            Dim::KeyValue => self.n_kv_heads * self.head,
            Dim::Head => self.head,
        }
    }
}

/// Reads metadata keys of one architecture.
struct Keys<'a> {
    gguf: &'a Gguf,
    prefix: &'static str,
}

impl Keys<'_> {
    fn key(&self, name: &str) -> String {
        format!("{}.{name}", self.prefix)
    }

    fn size(&self, name: &str) -> Result<Option<usize>, ImportError> {
        let key = self.key(name);
        match self.gguf.metadata.uniform_count(&key)? {
            None => Ok(None),
            Some(n @ 1..=0x7fff_ffff) => Ok(Some(n as usize)),
            Some(n) => Err(ImportError::Metadata { key, problem: format!("is {n}, which is no possible size") }),
        }
    }

    fn need_size(&self, name: &str) -> Result<usize, ImportError> {
        self.gguf.metadata.need(&self.key(name), self.size(name)?)
    }

    /// A float. Metadata holds f32: the shortest decimal that means the same f32 is what a person wrote (1e-5).
    fn number(&self, name: &str) -> Result<Option<f64>, ImportError> {
        let number = self.gguf.metadata.number(&self.key(name))?;
        Ok(number.map(|x| (x as f32).to_string().parse().unwrap_or(x)))
    }

    fn text(&self, name: &str) -> Result<Option<&str>, ImportError> {
        self.gguf.metadata.text(&self.key(name))
    }
}

/// Longest row and head accepted: weights are converted by whole rows and heads, which must fit in memory.
const ROW_LEN_MAX: usize = 1 << 18;
const HEAD_LEN_MAX: usize = 1 << 10;

/// Reads the sizes of `gguf`.
pub fn sizes(gguf: &Gguf, architecture: &Architecture) -> Result<Sizes, ImportError> {
    let keys = Keys { gguf, prefix: architecture.name };
    if keys.gguf.metadata.count(&keys.key("expert_count"))?.is_some_and(|n| n > 0) {
        return Err(unsupported("a mixture of experts"));
    }
    let embedding = gguf.tensors.get("token_embd.weight").ok_or_else(|| ImportError::Tensor {
        tensor: "token_embd.weight".to_owned(),
        problem: "is missing (a vocabulary-only file holds no model)".to_owned(),
    })?;
    let (hidden, n_heads) = (keys.need_size("embedding_length")?, keys.need_size("attention.head_count")?);
    let n_kv_heads = keys.size("attention.head_count_kv")?.unwrap_or(n_heads);
    let head = keys.size("attention.key_length")?.unwrap_or(hidden / n_heads);
    if keys.size("attention.value_length")?.is_some_and(|n| n != head) {
        return Err(unsupported("values of another size than keys"));
    }
    if keys.size("rope.dimension_count")?.is_some_and(|n| n != head) {
        return Err(unsupported("rotary positions on a part of each head"));
    }
    if head == 0 || head % 2 != 0 || n_heads % n_kv_heads != 0 {
        let problem = format!("makes {n_heads} heads of {head} over {n_kv_heads} key-value heads");
        return Err(ImportError::Metadata { key: keys.key("attention.head_count"), problem });
    }
    let ffn = keys.need_size("feed_forward_length")?;
    if hidden.max(ffn) > ROW_LEN_MAX || head > HEAD_LEN_MAX {
        let problem = format!("with {ffn} feed-forward and heads of {head} is too large to be true");
        return Err(ImportError::Metadata { key: keys.key("embedding_length"), problem });
    }
    let n_layers = keys.need_size("block_count")?;
    if n_layers > gguf.tensors.len() {
        let problem = format!("is {n_layers}, more than the file has tensors");
        return Err(ImportError::Metadata { key: keys.key("block_count"), problem });
    }
    Ok(Sizes { vocab: embedding.n_rows(), hidden, ffn, n_layers, n_heads, n_kv_heads, head })
}

/// Builds config.json, without dtype and quantization, which depend on how the weights are stored.
pub fn config(gguf: &Gguf, architecture: &Architecture, sizes: &Sizes) -> Result<Map<String, Value>, ImportError> {
    let keys = Keys { gguf, prefix: architecture.name };
    let eps = "attention.layer_norm_rms_epsilon";
    let eps = gguf.metadata.need(&keys.key(eps), keys.number(eps)?)?;
    let shared = json!({
        "architectures": [architecture.class],
        "model_type": architecture.model_type,
        "vocab_size": sizes.vocab,
        "hidden_size": sizes.hidden,
        "intermediate_size": sizes.ffn,
        "num_hidden_layers": sizes.n_layers,
        "num_attention_heads": sizes.n_heads,
        "num_key_value_heads": sizes.n_kv_heads,
        "head_dim": sizes.head,
        "max_position_embeddings": keys.need_size("context_length")?,
        "rms_norm_eps": eps,
        "rope_scaling": rope_scaling(&keys, sizes)?,
        "tie_word_embeddings": !gguf.tensors.contains_key("output.weight"),
        "attention_bias": has_bias(gguf, &["attn_q", "attn_k", "attn_v", "attn_output"]),
    });
    let Value::Object(mut config) = shared else { unreachable!("the literal above is an object") };
    config.extend(match architecture.name {
        "gemma3" => gemma3(&keys, sizes)?,
        _ => plain(&keys)?,
    });
    for id in ["bos", "eos"] {
        if let Some(n) = gguf.metadata.count(&format!("tokenizer.ggml.{id}_token_id"))? {
            config.insert(format!("{id}_token_id"), json!(n));
        }
    }
    Ok(config)
}

fn has_bias(gguf: &Gguf, projections: &[&str]) -> bool {
    projections.iter().any(|name| gguf.tensors.contains_key(&format!("blk.0.{name}.bias")))
}

fn plain(keys: &Keys<'_>) -> Result<Map<String, Value>, ImportError> {
    let mut config = Map::new();
    config.insert("hidden_act".into(), json!("silu"));
    config.insert("rope_theta".into(), json!(keys.number("rope.freq_base")?.unwrap_or(10_000.0)));
    config.insert("mlp_bias".into(), json!(has_bias(keys.gguf, &["ffn_gate", "ffn_up", "ffn_down"])));
    Ok(config)
}

/// Layers of the one Gemma 3 size whose queries are not scaled by the head's own size.
const N_LAYERS_GEMMA3_27B: usize = 62;

fn gemma3(keys: &Keys<'_>, sizes: &Sizes) -> Result<Map<String, Value>, ImportError> {
    let scalar = if sizes.n_layers == N_LAYERS_GEMMA3_27B { sizes.hidden / sizes.n_heads } else { sizes.head };
    let window = keys.need_size("attention.sliding_window")?;
    let pattern = keys.size("attention.sliding_window_pattern").ok().flatten().unwrap_or(6);
    let mut config = Map::new();
    config.insert("hidden_activation".into(), json!("gelu_pytorch_tanh"));
    config.insert("rope_theta".into(), json!(keys.number("rope.freq_base")?.unwrap_or(1_000_000.0)));
    config.insert("rope_local_base_freq".into(), json!(keys.number("rope.freq_base_swa")?.unwrap_or(10_000.0)));
    config.insert("query_pre_attn_scalar".into(), json!(scalar));
    config.insert("sliding_window".into(), json!(window));
    config.insert("sliding_window_pattern".into(), json!(pattern));
    let layer = |idx: usize| if (idx + 1).is_multiple_of(pattern) { "full_attention" } else { "sliding_attention" };
    config.insert("layer_types".into(), (0..sizes.n_layers).map(layer).collect());
    config.insert("final_logit_softcapping".into(), json!(keys.number("final_logit_softcapping")?));
    config.insert("attn_logit_softcapping".into(), json!(keys.number("attn_logit_softcapping")?));
    Ok(config)
}

fn rope_scaling(keys: &Keys<'_>, sizes: &Sizes) -> Result<Value, ImportError> {
    if keys.gguf.tensors.contains_key("rope_freqs.weight") {
        return llama3_scaling(keys, sizes);
    }
    let kind = keys.text("rope.scaling.type")?;
    let factor = keys.number("rope.scaling.factor")?.or(keys.number("rope.scale_linear")?);
    let needed = || {
        let factor = factor.filter(|&x| x > 0.0);
        keys.gguf.metadata.need(&keys.key("rope.scaling.factor"), factor)
    };
    match kind {
        Some("none") => Ok(Value::Null),
        None if factor.is_none_or(|x| x == 0.0 || x == 1.0) => Ok(Value::Null),
        None | Some("linear") => Ok(json!({"rope_type": "linear", "type": "linear", "factor": needed()?})),
        Some("yarn") => yarn_scaling(keys, needed()?),
        Some(other) => Err(unsupported(&format!("`{other}` scaling of rotary positions"))),
    }
}

fn yarn_scaling(keys: &Keys<'_>, factor: f64) -> Result<Value, ImportError> {
    let original = keys.need_size("rope.scaling.original_context_length")?;
    let mut scaling = json!({
        "rope_type": "yarn", "type": "yarn", "factor": factor, "original_max_position_embeddings": original,
    });
    // The factor in the file multiplies the usual one; config.json wants the product.
    if let Some(attention) = keys.number("rope.scaling.attn_factor")?.filter(|&x| x != 1.0) {
        scaling["attention_factor"] = json!(attention * (0.1 * factor.ln() + 1.0));
    }
    for (key, name) in [("yarn_beta_fast", "beta_fast"), ("yarn_beta_slow", "beta_slow")] {
        if let Some(beta) = keys.number(&format!("rope.scaling.{key}"))? {
            scaling[name] = json!(beta);
        }
    }
    Ok(scaling)
}

/// Llama 3 scaling is stored as one divisor per frequency; config.json wants the few numbers they were made from.
fn llama3_scaling(keys: &Keys<'_>, sizes: &Sizes) -> Result<Value, ImportError> {
    let divisors = vector(keys.gguf, "rope_freqs.weight", sizes.head / 2)?;
    let base = keys.number("rope.freq_base")?.unwrap_or(10_000.0);
    let factor = f64::from(divisors.iter().copied().fold(1.0, f32::max));
    if factor == 1.0 {
        return Ok(Value::Null);
    }
    let (low, high) = (1.0, 4.0);
    for original in [8192.0, 4096.0, 16384.0, 32768.0, 131_072.0] {
        let expected = |i: usize| {
            let wavelength = TAU * base.powf(2.0 * i as f64 / sizes.head as f64);
            let smooth = ((original / wavelength - low) / (high - low)).clamp(0.0, 1.0);
            1.0 / ((1.0 - smooth) / factor + smooth)
        };
        if divisors.iter().enumerate().all(|(i, &x)| (f64::from(x) / expected(i) - 1.0).abs() < 1e-3) {
            return Ok(json!({
                "rope_type": "llama3", "type": "llama3", "factor": factor, "low_freq_factor": low,
                "high_freq_factor": high, "original_max_position_embeddings": original as u64,
            }));
        }
    }
    Err(unsupported("a scaling of rotary positions other than Llama 3's"))
}

/// All weights of a small tensor of `n` elements.
fn vector(gguf: &Gguf, name: &str, n: usize) -> Result<Vec<f32>, ImportError> {
    let tensor = &gguf.tensors[name];
    if tensor.shape != [n] {
        let problem = format!("has shape {:?} where [{n}] is expected", tensor.shape);
        return Err(ImportError::Tensor { tensor: name.to_owned(), problem });
    }
    let mut bytes = vec![0; tensor.n_bytes as usize];
    gguf.read_at(tensor, 0, &mut bytes)?;
    let mut weights = vec![0.0; n];
    dequantize(tensor.kind, &bytes, &mut weights);
    Ok(weights)
}

fn unsupported(feature: &str) -> ImportError {
    ImportError::UnsupportedFeature { feature: feature.to_owned() }
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
