//! What a model takes: weights, state of a sequence, what a step computes with, and a drafter.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::checkpoint::Checkpoint;
use crate::kv_cost::{KvCost, count};

/// Tokens that prefill computes at a time.
const N_CHUNK: u64 = 512;
/// Queries that the plain path of attention scores at a time.
const N_QUERY_BLOCK: u64 = 128;
/// Positions before a block from which on they are scored apart from the rest.
const N_APART: u64 = 1024;
/// Arrays of the largest block's scores at the peak, scored as one or apart, and how much of the other blocks is gone by then.
const N_SCORE_ARRAYS: f64 = 8.24;
const N_SCORE_ARRAYS_APART: f64 = 7.4;
const N_SCORES_GONE: f64 = 0.72;
/// On a CPU: rows of queries, keys and values, and of the feed-forward's inside, at the peak of a layer; and copies of a
/// layer's keys and values.
const N_HEAD_ROWS: f64 = 3.93;
const N_INNER_ROWS: f64 = 2.26;
const N_COPIES: f64 = 0.73;
/// On a GPU, where attention keeps no scores: rows of the residual stream and of the feed-forward's inside, with room to spare.
const N_GPU_HIDDEN_ROWS: f64 = 5.0;
const N_GPU_INNER_ROWS: f64 = 4.5;
const N_GPU_COPIES: f64 = 2.0;
/// KV is stored in buffers with an eighth to spare, in units of this many positions.
const N_GRAIN: u64 = 64;
/// What a buffer of a window holds beside it and a chunk: growth, and what can be taken back.
const N_WINDOW_SPARE: u64 = 544;
/// Allocator cache kept between steps, and what the program needs beside arrays.
const N_PROGRAM_BYTES: u64 = 192 << 20;

/// What numbers a model is computed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// As the checkpoint has them, on a GPU.
    Published,
    /// f32, unpacked, on a CPU.
    F32,
}

/// What a model takes at any context.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    /// Bytes of the weights as loaded.
    pub n_weight_bytes: u64,
    /// State of one sequence.
    pub kv: KvCost,
    /// Bytes that a prefill step computes with for each of its tokens.
    pub n_row_bytes: u64,
    /// Bytes that it computes with for each position of context.
    pub n_position_bytes: u64,
    /// Bytes of one query's scores of one position, by all heads; 0 where attention keeps none.
    pub n_score_bytes: u64,
    /// A model that drafts, with the same context.
    pub drafter: Option<Box<Demand>>,
    /// Longest context that the model was made for, in tokens.
    pub n_context: Option<u64>,
}

/// What a model takes at one context, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Need {
    /// Tokens of context.
    pub n_context: u64,
    /// Weights.
    pub n_weight_bytes: u64,
    /// State of one sequence.
    pub n_kv_bytes: u64,
    /// Peak of what a step computes with.
    pub n_step_bytes: u64,
    /// All of the drafter.
    pub n_drafter_bytes: u64,
    /// The program itself.
    pub n_program_bytes: u64,
}

impl Need {
    /// All together.
    pub fn n_bytes(&self) -> u64 {
        self.n_array_bytes().saturating_add(self.n_program_bytes)
    }

    /// What arrays take.
    pub fn n_array_bytes(&self) -> u64 {
        let parts = [self.n_weight_bytes, self.n_kv_bytes, self.n_step_bytes, self.n_drafter_bytes];
        parts.into_iter().fold(0, u64::saturating_add)
    }
}

impl Demand {
    /// Of a checkpoint on disk; without a KV cost where config.json does not tell the shape.
    pub fn of(checkpoint: &Checkpoint, numbers: Numbers) -> Self {
        let n_weight_bytes = match numbers {
            Numbers::Published => checkpoint.n_bytes(),
            Numbers::F32 => checkpoint.n_params.saturating_mul(4),
        };
        Self { n_context: checkpoint.n_context, ..Self::from_config(&checkpoint.config, n_weight_bytes, numbers) }
    }

    /// Of a model whose config.json and weights' size are known.
    pub fn from_config(config: &Map<String, Value>, n_weight_bytes: u64, numbers: Numbers) -> Self {
        let kv = match numbers {
            Numbers::Published => KvCost::as_published(config),
            Numbers::F32 => KvCost::of(config, 4),
        };
        let step = Step::of(config, numbers);
        Self {
            n_weight_bytes,
            kv: kv.unwrap_or_default(),
            n_row_bytes: step.n_row_bytes,
            n_position_bytes: step.n_position_bytes,
            n_score_bytes: step.n_score_bytes,
            drafter: None,
            n_context: count(config, "max_position_embeddings"),
        }
    }

    /// The same with a drafter.
    pub fn with_drafter(self, drafter: Self) -> Self {
        Self { drafter: Some(Box::new(drafter)), ..self }
    }

    /// What it takes for a sequence of `n_context` tokens.
    pub fn at(&self, n_context: u64) -> Need {
        let drafter = self.drafter.as_ref().map(|drafter| drafter.at(n_context).n_array_bytes());
        Need {
            n_context,
            n_weight_bytes: self.n_weight_bytes,
            n_kv_bytes: self.kv_bytes(n_context),
            n_step_bytes: self.step_bytes(n_context),
            n_drafter_bytes: drafter.unwrap_or(0),
            n_program_bytes: N_PROGRAM_BYTES,
        }
    }

    fn kv_bytes(&self, n_context: u64) -> u64 {
        let KvCost { n_bytes_per_token, n_window_bytes_per_token, window, n_state_bytes } = self.kv;
        let n_held = capacity(n_context);
        let n_windowed = n_held.min(window.saturating_add(N_CHUNK + N_WINDOW_SPARE));
        let full = n_bytes_per_token.saturating_mul(n_held);
        full.saturating_add(n_window_bytes_per_token.saturating_mul(n_windowed)).saturating_add(n_state_bytes)
    }

    /// The peak is in the last whole step, when KV was shorter, or in what is left after it.
    fn step_bytes(&self, n_context: u64) -> u64 {
        let n_left = n_context % N_CHUNK;
        let n_whole = n_context - n_left;
        let n_kv_later = self.kv_bytes(n_context).saturating_sub(self.kv_bytes(n_whole));
        let whole = if n_whole > 0 { self.one_step_bytes(N_CHUNK, n_whole) } else { 0 };
        whole.saturating_sub(n_kv_later).max(self.one_step_bytes(n_left, n_context))
    }

    /// Of the last `n_rows` tokens of `n_context`.
    fn one_step_bytes(&self, n_rows: u64, n_context: u64) -> u64 {
        let rows = self.n_row_bytes.saturating_mul(n_rows);
        let positions = self.n_position_bytes.saturating_mul(n_context);
        let scores = (self.n_score_bytes as f64 * n_scores(n_rows, n_context)) as u64;
        rows.saturating_add(positions).saturating_add(scores)
    }
}

/// Scores that are there at the peak of a step, of one head. A block sees the positions up to its own end.
fn n_scores(n_rows: u64, n_context: u64) -> f64 {
    let n_before = n_context.saturating_sub(n_rows);
    let block = |n: u64| {
        let n_queries = N_QUERY_BLOCK.min(n_rows - n * N_QUERY_BLOCK);
        n_queries.saturating_mul(n_before.saturating_add(n * N_QUERY_BLOCK + n_queries)) as f64
    };
    let blocks = || (0..n_rows.div_ceil(N_QUERY_BLOCK)).map(block);
    let largest = blocks().fold(0.0, f64::max);
    let n_last = n_rows.saturating_sub(1) / N_QUERY_BLOCK * N_QUERY_BLOCK;
    let is_apart = n_before.saturating_add(n_last) >= N_APART;
    let n_arrays = if is_apart { N_SCORE_ARRAYS_APART } else { N_SCORE_ARRAYS };
    n_arrays * largest - N_SCORES_GONE * (blocks().sum::<f64>() - largest)
}

/// Positions that a buffer has which grew chunk by chunk to hold `n`.
fn capacity(n: u64) -> u64 {
    let room = |n: u64| n.saturating_add(n / 8).saturating_add(1).div_ceil(N_GRAIN).saturating_mul(N_GRAIN);
    let mut held = 0;
    while held < n {
        held = room((held / N_CHUNK + 1).saturating_mul(N_CHUNK).min(n));
    }
    held
}

/// What a prefill step computes with at its peak.
#[derive(Clone, Copy, Debug, Default)]
struct Step {
    n_row_bytes: u64,
    n_position_bytes: u64,
    n_score_bytes: u64,
}

impl Step {
    /// One layer at a time: its projections, the gated feed-forward (of the experts that a token takes), copies of the layer's
    /// keys and values as their buffer grows, and, where attention is not fused, scores of blocks of queries. MLX runs ahead of
    /// what is computed, so that several of each are there at once: the CPU's factors are measured, and a test of the models
    /// holds them to what MLX counts.
    fn of(config: &Map<String, Value>, numbers: Numbers) -> Self {
        let field = |name: &str| count(config, name).unwrap_or(0).min(1 << 24) as f64;
        let n_element = if numbers == Numbers::F32 { 4.0 } else { 2.0 };
        let n_taken = field("num_experts_per_tok").max(field("num_experts_per_token"));
        let n_inner = field("intermediate_size").max(field("moe_intermediate_size") * n_taken);
        let is_plain = numbers == Numbers::F32;
        let n_row = match is_plain {
            true => N_HEAD_ROWS * projected(config) + N_INNER_ROWS * n_inner,
            false => N_GPU_HIDDEN_ROWS * field("hidden_size") + N_GPU_INNER_ROWS * n_inner,
        };
        let kv = KvCost::of(config, n_element as u64).unwrap_or_default();
        let n_layers = field("num_hidden_layers").max(1.0);
        let n_copies = if is_plain { N_COPIES } else { N_GPU_COPIES };
        let n_copied = n_copies * kv.n_bytes_per_token.max(kv.n_window_bytes_per_token) as f64 / n_layers;
        let n_score_bytes = if is_plain { field("num_attention_heads") as u64 * 4 } else { 0 };
        Self { n_row_bytes: (n_row * n_element) as u64, n_position_bytes: n_copied as u64, n_score_bytes }
    }
}

/// Elements of a token's queries, keys and values in one layer.
fn projected(config: &Map<String, Value>) -> f64 {
    let field = |name: &str| count(config, name).map(|n| n.min(1 << 24) as f64);
    let n_heads = field("num_attention_heads").unwrap_or(1.0).max(1.0);
    let n_kv_heads = field("num_key_value_heads").unwrap_or(n_heads);
    let head = field("head_dim").or_else(|| Some(field("hidden_size")? / n_heads)).unwrap_or(0.0);
    (n_heads + 2.0 * n_kv_heads) * head
}
