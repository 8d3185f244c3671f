//! The seam between scheduling and tensors: one step is one forward pass over a batch of rows.

use std::sync::Arc;

use crate::{SamplingOptions, SequenceId, TokenId};

/// What runs forward passes. One OS thread owns it and every array behind it.
///
/// Steps are queued with [`submit`](Backend::submit) and answered in order by [`collect`](Backend::collect), so that the
/// graph of step `n + 1` is built while the device runs step `n`. At most two steps are in flight.
pub trait Backend {
    /// Facts of the loaded model.
    fn info(&self) -> &ModelInfo;

    /// Makes room for a sequence and remembers how it is sampled.
    ///
    /// A preempted sequence is closed and opened again under its id, and everything is computed anew.
    ///
    /// # Errors
    /// When the sequence's state cannot be allocated.
    fn open(&mut self, id: SequenceId, opening: &Opening<'_>) -> Result<(), StepError>;

    /// Queues one forward pass over all rows; returns before the device is done.
    ///
    /// # Errors
    /// When the graph cannot be built. Nothing of the step has happened then.
    fn submit(&mut self, step: &Step) -> Result<(), StepError>;

    /// Waits for the oldest step in flight and returns its results, one per row in the step's order.
    ///
    /// # Errors
    /// When the device failed; the caches of that step's sequences are lost and must be closed. The step is no longer in
    /// flight then, and the next call answers the step after it.
    fn collect(&mut self) -> Result<StepOutput, StepError>;

    /// Forgets a sequence and frees its KV cache. No row of it is in flight. Unknown ids are ignored.
    fn close(&mut self, id: SequenceId);

    /// Bytes the backend holds now: weights, KV caches and allocator cache.
    fn memory_bytes(&self) -> usize;
}

/// What a sequence starts from. The tokens feed the penalties' counts only; rows bring them to the cache.
#[derive(Clone, Debug)]
pub struct Opening<'a> {
    /// How its tokens are chosen.
    pub sampling: Arc<SamplingOptions>,
    /// The request's tokens.
    pub prompt: &'a [TokenId],
    /// Tokens generated before a preemption; empty at first.
    pub output: &'a [TokenId],
}

/// Facts of a loaded model that scheduling needs.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelInfo {
    /// Logits per position.
    pub n_vocab: usize,
    /// Longest sequence, prompt and output together.
    pub n_context: usize,
    /// Tokens that end a sequence, from the checkpoint's configuration.
    pub eos: Vec<TokenId>,
    /// KV cache bytes that one more position costs.
    pub kv_bytes_per_token: usize,
    /// Bytes of the weights as loaded.
    pub weight_bytes: usize,
}

/// One forward pass: every row advances its own sequence.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// Rows of different sequences, in any mix of prefill chunks and single decode tokens.
    pub rows: Vec<Row>,
}

/// One sequence's part of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Whose cache is read and extended.
    pub sequence: SequenceId,
    /// Position of the first input token: what the cache holds already.
    pub start: usize,
    /// The tokens to compute.
    pub input: RowInput,
    /// What to return.
    pub output: RowOutput,
}

/// Where a row's tokens come from.
#[derive(Clone, Debug, PartialEq)]
pub enum RowInput {
    /// Known tokens: a prefill chunk, or the last sampled token.
    Tokens(Vec<TokenId>),
    /// The token that the step submitted just before samples for this sequence; it never visits the host.
    Pending,
}

/// What a row returns.
#[derive(Clone, Debug, PartialEq)]
pub enum RowOutput {
    /// Nothing: a prefill chunk before the last one.
    None,
    /// The next token, sampled from the last position's logits.
    Sample {
        /// Uniform in `[0, 1)`, drawn by the scheduler from the request's seed and the position: the only randomness.
        uniform: f32,
    },
    /// As `Sample`, plus the scores of `targets[i]` at the `i`-th input position (prompt log-probabilities).
    /// Targets may be fewer than the input's positions.
    Score {
        /// The tokens that follow each input position.
        targets: Vec<TokenId>,
        /// As in `Sample`; `None` when no token is wanted.
        uniform: Option<f32>,
    },
}

/// Results of one step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepOutput {
    /// In the order of [`Step::rows`].
    pub rows: Vec<RowResult>,
}

/// Result of one row.
#[derive(Clone, Debug, PartialEq)]
pub struct RowResult {
    /// The row's sequence.
    pub sequence: SequenceId,
    /// The sampled token with its score, if one was asked for.
    pub token: Option<TokenScore>,
    /// Prompt scores, if asked for, one per target.
    pub prompt_scores: PromptScores,
}

/// Scores of prompt tokens, in order.
pub type PromptScores = Vec<TokenScore>;

/// A token and how likely the model held it.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenScore {
    /// The token.
    pub token: TokenId,
    /// Natural log-probability under the raw logits (before temperature, filters and penalties);
    /// `NaN` when [`SamplingOptions::n_logprobs`] is `None`.
    pub logprob: f32,
    /// The `n_logprobs` likeliest tokens, best first.
    pub top: Vec<(TokenId, f32)>,
}

/// Why a step failed.
#[derive(Clone, Debug, thiserror::Error, PartialEq)]
pub enum StepError {
    /// The device has no room for the step.
    #[error("out of memory: {detail}")]
    OutOfMemory {
        /// What the device said.
        detail: String,
    },
    /// A row names a sequence that is not open, or a start that is not the cache's length.
    #[error("step does not match the cache: {detail}")]
    Mismatch {
        /// Which row and why.
        detail: String,
    },
    /// Anything else the device reports.
    #[error("the device failed: {detail}")]
    Device {
        /// What the device said.
        detail: String,
    },
}
