//! Tiny GGUF files built in memory for tests: the writing side of the format, straight from its specification.

use std::fs;
use std::path::{Path, PathBuf};

use super::kind::Kind;

/// A file in the making. Every method adds to it; later keys may repeat earlier ones to make a bad file.
#[derive(Clone)]
pub struct Builder {
    version: u32,
    alignment: usize,
    keys: Vec<(String, u32, Vec<u8>)>,
    tensors: Vec<(String, Vec<u64>, u32, Vec<u8>)>,
}

fn text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend((text.len() as u64).to_le_bytes());
    bytes.extend(text.as_bytes());
}

impl Builder {
    pub fn new() -> Self {
        Self { version: 3, alignment: 32, keys: Vec::new(), tensors: Vec::new() }
    }

    pub fn version(mut self, version: u32) -> Self {
        self.version = version;
        self
    }

    pub fn key(mut self, key: &str, number: u32, value: &[u8]) -> Self {
        self.keys.push((key.to_owned(), number, value.to_vec()));
        self
    }

    pub fn unset(mut self, key: &str) -> Self {
        self.keys.retain(|(name, ..)| name != key);
        self
    }

    pub fn count(self, key: &str, n: u32) -> Self {
        self.key(key, 4, &n.to_le_bytes())
    }

    pub fn number(self, key: &str, x: f32) -> Self {
        self.key(key, 6, &x.to_le_bytes())
    }

    pub fn flag(self, key: &str, flag: bool) -> Self {
        self.key(key, 7, &[flag.into()])
    }

    pub fn text(self, key: &str, value: &str) -> Self {
        let mut bytes = Vec::new();
        text(&mut bytes, value);
        self.key(key, 8, &bytes)
    }

    fn array(self, key: &str, number: u32, n: usize, elements: &[u8]) -> Self {
        let mut bytes = number.to_le_bytes().to_vec();
        bytes.extend((n as u64).to_le_bytes());
        bytes.extend(elements);
        self.key(key, 9, &bytes)
    }

    pub fn texts(self, key: &str, values: &[&str]) -> Self {
        let mut bytes = Vec::new();
        values.iter().for_each(|value| text(&mut bytes, value));
        self.array(key, 8, values.len(), &bytes)
    }

    pub fn counts(self, key: &str, values: &[u32]) -> Self {
        let bytes: Vec<u8> = values.iter().flat_map(|n| n.to_le_bytes()).collect();
        self.array(key, 4, values.len(), &bytes)
    }

    pub fn numbers(self, key: &str, values: &[f32]) -> Self {
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.array(key, 6, values.len(), &bytes)
    }

    /// Adds a tensor of row-major `shape` from its stored bytes.
    pub fn tensor(mut self, name: &str, kind: Kind, shape: &[usize], bytes: Vec<u8>) -> Self {
        let dims = shape.iter().rev().map(|&n| n as u64).collect();
        self.tensors.push((name.to_owned(), dims, kind.number(), bytes));
        self
    }

    /// Adds a tensor of `kind` with small, varied weights.
    pub fn weights(self, name: &str, kind: Kind, shape: &[usize]) -> Self {
        let n: usize = shape.iter().product();
        let seed = self.tensors.len();
        let bytes = match kind {
            Kind::F32 => (0..n).flat_map(|i| value(i + 31 * seed).to_le_bytes()).collect(),
            _ => blocks(kind, n / kind.block_len(), seed),
        };
        self.tensor(name, kind, shape, bytes)
    }

    /// Changes what `change` finds of the tensor `name`: its dimensions (reversed, as stored), kind number and bytes.
    pub fn change(mut self, name: &str, change: impl Fn(&mut Vec<u64>, &mut u32, &mut Vec<u8>)) -> Self {
        let tensor = self.tensors.iter_mut().find(|tensor| tensor.0 == name).expect("the tensor was added");
        change(&mut tensor.1, &mut tensor.2, &mut tensor.3);
        self
    }

    pub fn without(mut self, name: &str) -> Self {
        self.tensors.retain(|tensor| tensor.0 != name);
        self
    }

    pub fn build(&self) -> Vec<u8> {
        let mut bytes = b"GGUF".to_vec();
        bytes.extend(self.version.to_le_bytes());
        bytes.extend((self.tensors.len() as u64).to_le_bytes());
        bytes.extend((self.keys.len() as u64).to_le_bytes());
        for (key, number, value) in &self.keys {
            text(&mut bytes, key);
            bytes.extend(number.to_le_bytes());
            bytes.extend(value);
        }
        let mut data = Vec::new();
        for (name, dims, kind, weights) in &self.tensors {
            text(&mut bytes, name);
            bytes.extend((dims.len() as u32).to_le_bytes());
            dims.iter().for_each(|dim| bytes.extend(dim.to_le_bytes()));
            bytes.extend(kind.to_le_bytes());
            bytes.extend((data.len() as u64).to_le_bytes());
            data.extend(weights);
            data.resize(data.len().next_multiple_of(self.alignment), 0);
        }
        bytes.resize(bytes.len().next_multiple_of(self.alignment), 0);
        bytes.extend(data);
        bytes
    }

    pub fn write(&self, dir: &Path) -> PathBuf {
        let path = dir.join("model.gguf");
        fs::write(&path, self.build()).expect("the folder can be written");
        path
    }
}

/// The weight that [`Builder::weights`] stores at `i` for f32.
pub fn value(i: usize) -> f32 {
    ((i * 37 % 101) as f32 - 50.0) / 64.0
}

/// Blocks with varied values and a scale of 1/8 at every place where a kind keeps a scale.
fn blocks(kind: Kind, n_blocks: usize, seed: usize) -> Vec<u8> {
    let n_bytes = kind.block_n_bytes();
    let scales: &[usize] = match kind {
        Kind::Q4_1 | Kind::Q5_1 | Kind::Q4_K | Kind::Q5_K => &[0, 2],
        Kind::Q2_K => &[80, 82],
        Kind::Q3_K => &[108],
        Kind::Q6_K => &[208],
        _ => &[0],
    };
    let mut bytes: Vec<u8> = (0..n_blocks * n_bytes).map(|i| (i * 73 + seed * 11 + i / 5) as u8).collect();
    for block in bytes.chunks_exact_mut(n_bytes) {
        for &at in scales {
            block[at..at + 2].copy_from_slice(&half::f16::from_f32(0.125).to_le_bytes());
        }
    }
    bytes
}

/// Texts of the tiny byte-level vocabulary.
pub const TOKENS: [&str; 8] = ["<|end|>", "a", "b", "ab", "Ġ", "Ġa", "<tool>", "c"];

/// A whole tiny model: hidden 32, 2 heads of 16 over 1 key-value head, feed-forward 64, 2 layers, matrices of `kind`.
pub fn tiny(architecture: &str, kind: Kind) -> Builder {
    let key = |name: &str| format!("{architecture}.{name}");
    let mut builder = Builder::new()
        .text("general.architecture", architecture)
        .text("general.name", "Tiny")
        .count(&key("context_length"), 128)
        .count(&key("embedding_length"), 32)
        .count(&key("block_count"), 2)
        .count(&key("feed_forward_length"), 64)
        .count(&key("attention.head_count"), 2)
        .count(&key("attention.head_count_kv"), 1)
        .number(&key("attention.layer_norm_rms_epsilon"), 1e-5)
        .number(&key("rope.freq_base"), 50_000.0)
        .text("tokenizer.ggml.model", "gpt2")
        .text("tokenizer.ggml.pre", "smollm")
        .texts("tokenizer.ggml.tokens", &TOKENS)
        .counts("tokenizer.ggml.token_type", &[3, 1, 1, 1, 1, 1, 4, 1])
        .texts("tokenizer.ggml.merges", &["a b", "Ġ a", "c c"])
        .count("tokenizer.ggml.eos_token_id", 0)
        .text("tokenizer.chat_template", "{{ messages }}")
        .weights("token_embd.weight", kind, &[8, 32])
        .weights("output_norm.weight", Kind::F32, &[32]);
    if architecture == "gemma3" {
        builder = builder.count(&key("attention.sliding_window"), 16);
    }
    for idx in 0..2 {
        builder = layer(builder, architecture, kind, &format!("blk.{idx}"));
    }
    builder
}

fn layer(mut builder: Builder, architecture: &str, kind: Kind, block: &str) -> Builder {
    let matrices: [(&str, [usize; 2]); 7] = [
        ("attn_q", [32, 32]),
        ("attn_k", [16, 32]),
        ("attn_v", [16, 32]),
        ("attn_output", [32, 32]),
        ("ffn_gate", [64, 32]),
        ("ffn_up", [64, 32]),
        ("ffn_down", [32, 64]),
    ];
    for (name, shape) in matrices {
        builder = builder.weights(&format!("{block}.{name}.weight"), kind, &shape);
    }
    let vectors: &[(&str, usize)] = match architecture {
        "qwen2" => &[("attn_q.bias", 32), ("attn_k.bias", 16), ("attn_v.bias", 16)],
        "qwen3" => &[("attn_q_norm.weight", 16), ("attn_k_norm.weight", 16)],
        "gemma3" => &[
            ("attn_q_norm.weight", 16),
            ("attn_k_norm.weight", 16),
            ("post_attention_norm.weight", 32),
            ("post_ffw_norm.weight", 32),
        ],
        _ => &[],
    };
    for (name, len) in [("attn_norm.weight", 32), ("ffn_norm.weight", 32)].iter().chain(vectors) {
        builder = builder.weights(&format!("{block}.{name}"), Kind::F32, &[*len]);
    }
    builder
}
