//! What the state of one sequence takes, from config.json alone.
//!
//! Knows which layers see every position, which a window, and which keep a state of a fixed size. Must not know how they
//! compute. Sizes come from untrusted files: all arithmetic is checked.

use serde_json::{Map, Value};

/// What the state of one sequence takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KvCost {
    /// Bytes per token in layers that see the whole context.
    pub n_bytes_per_token: u64,
    /// Bytes per token in layers that see a sliding window.
    pub n_window_bytes_per_token: u64,
    /// Length of the sliding window in tokens; 0 without one.
    pub window: u64,
    /// Bytes of layers whose state has a fixed size (recurrent, convolution).
    pub n_state_bytes: u64,
}

impl KvCost {
    /// Bytes for a sequence of `n_tokens`.
    pub fn n_bytes(&self, n_tokens: u64) -> u64 {
        let windowed = self.n_window_bytes_per_token.saturating_mul(n_tokens.min(self.window));
        self.n_bytes_per_token.saturating_mul(n_tokens).saturating_add(windowed).saturating_add(self.n_state_bytes)
    }

    /// The cost with elements of the type that config.json names: two bytes but for `float32`.
    pub fn as_published(config: &Map<String, Value>) -> Option<Self> {
        let dtype = text_field(config, "torch_dtype").or_else(|| text_field(config, "dtype")).and_then(Value::as_str);
        Self::of(config, if dtype == Some("float32") { 4 } else { 2 })
    }

    /// The cost with elements of `n_element` bytes; `None` when config.json does not tell.
    pub fn of(config: &Map<String, Value>, n_element: u64) -> Option<Self> {
        let layers = Layers::of(config)?;
        let full = full_elements(config)?.checked_mul(n_element)?;
        let windowed = head_elements(config, "num_key_value_heads", "head_dim")?.checked_mul(n_element)?;
        Some(Self {
            n_bytes_per_token: full.checked_mul(layers.n_full)?,
            n_window_bytes_per_token: windowed.checked_mul(layers.n_windowed)?,
            window: if layers.n_windowed > 0 { count(config, "sliding_window").unwrap_or(0) } else { 0 },
            n_state_bytes: state_bytes(config, n_element).unwrap_or(0).checked_mul(layers.n_state)?,
        })
    }
}

/// A field of the text model: at the top, or under `text_config` where a checkpoint also sees or hears.
pub(crate) fn text_field<'a>(config: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    let nested = || config.get("text_config").and_then(|text| text.get(name));
    config.get(name).filter(|value| !value.is_null()).or_else(nested).filter(|value| !value.is_null())
}

pub(crate) fn count(config: &Map<String, Value>, name: &str) -> Option<u64> {
    text_field(config, name).and_then(Value::as_u64)
}

/// How many layers keep what.
struct Layers {
    n_full: u64,
    n_windowed: u64,
    n_state: u64,
}

impl Layers {
    /// From a list of kinds, or from what families write instead of one.
    fn of(config: &Map<String, Value>) -> Option<Self> {
        // Layers that use the keys and values of earlier ones keep none of their own.
        let n_layers = count(config, "num_hidden_layers")?;
        let n_own = n_layers.checked_sub(count(config, "num_kv_shared_layers").unwrap_or(0))?;
        let rest = |n_full: u64| Some(Self { n_full, n_windowed: 0, n_state: n_own.checked_sub(n_full)? });
        if let Some(kinds) = list(config, "layer_types").or_else(|| list(config, "layers_block_type")) {
            return Some(Self::listed(kinds.iter().take(usize::try_from(n_own).ok()?)));
        }
        if let Some(full) = linear_attention(config, "full_attn_layers").and_then(Value::as_array) {
            return rest(full.len() as u64);
        }
        if let Some(full) = list(config, "full_attn_idxs") {
            return rest(full.len() as u64);
        }
        if let Some(interval) = count(config, "full_attention_interval") {
            return rest(n_own.checked_div(interval)?);
        }
        let n_full = match count(config, "sliding_window_pattern") {
            Some(pattern) => n_own.checked_div(pattern)?,
            None => n_own,
        };
        Some(Self { n_full, n_windowed: n_own - n_full, n_state: 0 })
    }

    fn listed<'a>(kinds: impl Iterator<Item = &'a Value>) -> Self {
        let mut layers = Self { n_full: 0, n_windowed: 0, n_state: 0 };
        for kind in kinds {
            match kind.as_str() {
                Some("full_attention" | "attention") => layers.n_full += 1,
                Some("sliding_attention") => layers.n_windowed += 1,
                // Feed-forward layers of their own keep nothing.
                Some("moe" | "mlp") => {}
                _ => layers.n_state += 1,
            }
        }
        layers
    }
}

/// Elements that a layer which sees everything keeps of a position.
fn full_elements(config: &Map<String, Value>) -> Option<u64> {
    // Latent attention keeps one small vector, of which keys and values are made.
    if let Some(rank) = count(config, "kv_lora_rank").filter(|rank| *rank > 0) {
        return rank.checked_add(count(config, "qk_rope_head_dim").unwrap_or(0));
    }
    let has_own = |name: &str| count(config, name).is_some();
    let heads =
        if has_own("num_global_key_value_heads") { "num_global_key_value_heads" } else { "num_key_value_heads" };
    head_elements(config, heads, if has_own("global_head_dim") { "global_head_dim" } else { "head_dim" })
}

/// Elements of the keys and values of a position.
fn head_elements(config: &Map<String, Value>, n_heads: &str, head_dim: &str) -> Option<u64> {
    let n_query_heads = count(config, "num_attention_heads")?;
    let head = count(config, head_dim).or_else(|| count(config, "hidden_size")?.checked_div(n_query_heads))?;
    count(config, n_heads).unwrap_or(n_query_heads).checked_mul(head)?.checked_mul(2)
}

/// Bytes of one layer's recurrent or convolution state, where its sizes are told.
fn state_bytes(config: &Map<String, Value>, n_element: u64) -> Option<u64> {
    let kda = |name: &str| linear_attention(config, name).and_then(Value::as_u64);
    if let (Some(n_heads), Some(head)) = (kda("num_heads"), kda("head_dim")) {
        let kernel = kda("short_conv_kernel_size").unwrap_or(4).saturating_sub(1);
        return recurrent([n_heads, n_heads], [head, head], kernel, n_element);
    }
    if let Some(n_values) = count(config, "linear_num_value_heads") {
        let heads = [count(config, "linear_num_key_heads")?, n_values];
        let dims = [count(config, "linear_key_head_dim")?, count(config, "linear_value_head_dim")?];
        let kernel = count(config, "linear_conv_kernel_dim").unwrap_or(4).saturating_sub(1);
        return recurrent(heads, dims, kernel, n_element);
    }
    let kernel = count(config, "conv_L_cache")?.saturating_sub(1);
    count(config, "hidden_size")?.checked_mul(kernel)?.checked_mul(n_element)
}

/// The delta rule's matrix a head, in f32, and the last inputs of the convolution before it.
fn recurrent(n_heads: [u64; 2], dims: [u64; 2], n_kept: u64, n_element: u64) -> Option<u64> {
    let [[n_keys, n_values], [key, value]] = [n_heads, dims];
    let matrices = n_values.checked_mul(key)?.checked_mul(value)?.checked_mul(4)?;
    let channels = n_keys.checked_mul(key)?.checked_mul(2)?.checked_add(n_values.checked_mul(value)?)?;
    matrices.checked_add(channels.checked_mul(n_kept)?.checked_mul(n_element)?)
}

fn list<'a>(config: &'a Map<String, Value>, name: &str) -> Option<&'a Vec<Value>> {
    text_field(config, name).and_then(Value::as_array)
}

fn linear_attention<'a>(config: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    text_field(config, "linear_attn_config").and_then(|linear| linear.get(name))
}

#[cfg(test)]
#[path = "kv_cost_tests.rs"]
mod tests;
