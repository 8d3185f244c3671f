//! The seam between scheduling and tensors: one step is one forward pass over a batch of rows.

use std::ops::Range;
use std::sync::Arc;

use crate::stats::ExpertStats;
use crate::{BlockId, SamplingOptions, SequenceId, SnapshotId, TokenId};

/// What runs forward passes. One OS thread owns it and every array behind it.
///
/// Steps are queued with [`submit`](Backend::submit) and answered in order by [`collect`](Backend::collect), so that the
/// graph of step `n + 1` is built while the device runs step `n`. At most two steps are in flight.
pub trait Backend {
    /// Facts of the loaded model.
    fn info(&self) -> &ModelInfo;

    /// Makes room for a sequence and remembers how it is sampled.
    ///
    /// A preempted sequence is closed and opened again under its id.
    ///
    /// # Errors
    /// When the sequence's state cannot be allocated.
    fn open(&mut self, id: SequenceId, opening: &Opening<'_>) -> Result<(), StepError>;

    /// Queues one forward pass over all rows; returns before the device is done.
    ///
    /// # Errors
    /// When the graph cannot be built. Nothing of the step has happened then.
    fn submit(&mut self, step: &Step) -> Result<(), StepError>;

    /// Tells the terms of the late draws of the oldest step in flight: for each row that has such, in the step's order, those
    /// of all its draws. To be called once, before that step is collected and before another one is submitted, and only if
    /// the step has late draws. Until then the device computes what does not depend on them. What goes wrong here is told
    /// when the step is collected.
    fn bind(&mut self, terms: Vec<Vec<Terms>>);

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

    /// How often the experts that tokens took were in memory; all zero where all of them are, or there are none.
    fn experts(&self) -> ExpertStats {
        ExpertStats::default()
    }

    /// Gives back memory that is only held for speed, such as what an allocator keeps.
    fn give_back(&mut self) {}

    /// Drafts by a drafter of the backend (a draft model, or heads of the model), for each ask at most as many tokens as it
    /// has uniforms; fewer or none when it has nothing to say. Waits for the device. Whatever it says, output stays the same.
    ///
    /// # Errors
    /// When the device failed; the sequences themselves are unharmed.
    fn draft(&mut self, asks: &[DraftAsk<'_>]) -> Result<Vec<Vec<TokenId>>, StepError> {
        Ok(vec![Vec::new(); asks.len()])
    }

    /// Keeps the KV of `positions` of an open sequence as `block`, beyond the sequence's end. Their step is submitted, and
    /// may be in flight. Nothing is copied: sequence and block share the storage.
    ///
    /// # Errors
    /// When the sequence does not hold the positions.
    fn keep(&mut self, id: SequenceId, block: BlockId, positions: Range<usize>) -> Result<(), StepError>;

    /// Keeps the state of the layers that cannot be cut back (recurrent, sliding window), as it is after all positions
    /// submitted so far.
    ///
    /// # Errors
    /// When the sequence is not open.
    fn snapshot(&mut self, id: SequenceId, snapshot: SnapshotId) -> Result<(), StepError>;

    /// Lets kept state go. Open sequences that started from it go on; unknown ids are ignored.
    fn forget(&mut self, kept: &[Kept]);

    /// Kept state as bytes that [`import`](Backend::import) takes, in this or a later process with the same
    /// [`ModelInfo::fingerprint`]. Waits for the device.
    ///
    /// # Errors
    /// When the id is unknown or the device failed.
    fn export(&mut self, kept: Kept) -> Result<Vec<u8>, StepError>;

    /// Brings exported state back under a new id. The bytes may come from anywhere: they are checked.
    ///
    /// # Errors
    /// When they do not fit the model, or memory runs out; nothing is kept then.
    fn import(&mut self, kept: Kept, bytes: &[u8]) -> Result<(), StepError>;
}

/// A sequence that wants drafts. No row of it is in flight.
#[derive(Clone, Debug)]
pub struct DraftAsk<'a> {
    /// An open sequence.
    pub sequence: SequenceId,
    /// All its tokens, prompt and output.
    pub tokens: &'a [TokenId],
    /// The numbers that will draw the tokens to be drafted: a drafter that draws with the same is right more often.
    pub uniforms: Vec<f32>,
}

/// State that outlives its sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kept {
    /// KV of a run of positions.
    Block(BlockId),
    /// State of the layers that cannot be cut back.
    Snapshot(SnapshotId),
}

/// Kept state that a sequence starts from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prefix<'a> {
    /// Consecutive blocks from position 0 on, shared and not copied.
    pub blocks: &'a [BlockId],
    /// Positions taken from them; the last block may be used in part.
    pub n_tokens: usize,
    /// Taken at exactly `n_tokens`; needed when [`ModelInfo::snapshot_bytes`] is not 0.
    pub snapshot: Option<SnapshotId>,
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
    /// State to start from: the first row starts at `prefix.n_tokens`.
    pub prefix: Prefix<'a>,
}

/// Facts of a loaded model that scheduling needs.
#[derive(Clone, Debug, Default, PartialEq)]
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
    /// Bytes that the device has for this process; 0 when it does not say.
    pub memory_bytes: usize,
    /// Bytes of a snapshot; 0 when every layer's cache can be cut back to any position, so that none is needed.
    pub snapshot_bytes: usize,
    /// Most drafts that a row may carry; 0 where the caches cannot take back what was rejected.
    pub n_drafts_max: usize,
    /// Drafts that [`Backend::draft`] makes at a time; 0 without a drafter.
    pub n_drafter_tokens: usize,
    /// Tells checkpoints and their numerics apart: kept state with another fingerprint is foreign.
    pub fingerprint: String,
}

/// One forward pass: every row advances its own sequence.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// Rows of different sequences, in any mix of prefill chunks and single decode tokens.
    pub rows: Vec<Row>,
}

impl Row {
    /// Whether its draws' terms are told later.
    pub fn is_late(&self) -> bool {
        self.output.draws().iter().any(|draw| draw.terms.is_none())
    }
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
    /// A token from the logits of each of the last `draws.len()` input positions. With more than one draw, the inputs at
    /// all of these positions but the first are drafts: tokens are returned up to and including the first that is not the
    /// draft at the next position, and the cache is cut back to what was confirmed. No other row of that sequence may be
    /// in flight beside drafts.
    Sample {
        /// In the order of positions; at least one.
        draws: Vec<Draw>,
    },
    /// The scores of `targets[i]` at the `i`-th input position (prompt log-probabilities), and the next token.
    /// Targets may be fewer than the input's positions.
    Score {
        /// The tokens that follow each input position.
        targets: Vec<TokenId>,
        /// For the last position; `None` when no token is wanted.
        draw: Option<Draw>,
    },
}

impl RowOutput {
    /// One token from the last position.
    pub fn sample(uniform: f32) -> Self {
        Self::Sample { draws: vec![Draw::free(uniform)] }
    }

    /// The draws, in the order of positions; the last is for the row's last position.
    pub fn draws(&self) -> &[Draw] {
        match self {
            Self::None => &[],
            Self::Sample { draws } => draws,
            Self::Score { draw, .. } => draw.as_slice(),
        }
    }
}

impl Draw {
    /// From all tokens.
    pub fn free(uniform: f32) -> Self {
        Self { uniform, terms: Some(Terms::default()) }
    }

    /// On terms that [`Backend::bind`] tells.
    pub fn late(uniform: f32) -> Self {
        Self { uniform, terms: None }
    }

    /// On these terms.
    pub fn on(uniform: f32, terms: Terms) -> Self {
        Self { uniform, terms: Some(terms) }
    }

    /// Tokens that may be drawn; `None` = all.
    pub fn mask(&self) -> Option<&TokenBits> {
        self.terms.as_ref()?.mask.as_deref()
    }

    /// Added to the logits of single tokens.
    pub fn bias(&self) -> &[(TokenId, f32)] {
        self.terms.as_ref().map_or(&[], |terms| &terms.bias)
    }
}

/// How one position's token is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Draw {
    /// Uniform in `[0, 1)`, drawn by the scheduler from the request's seed and the position: the only randomness. A draft
    /// changes no draw, so output is the same with and without drafts.
    pub uniform: f32,
    /// `None`: they hang on tokens that are not known when the step is submitted.
    pub terms: Option<Terms>,
}

/// What a draw hangs on besides the sampling options.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Terms {
    /// Tokens that may be drawn; `None` = all.
    pub mask: Option<Arc<TokenBits>>,
    /// Added to the logits of single tokens, after the penalties.
    pub bias: Vec<(TokenId, f32)>,
}

/// A set of tokens: bit `t % 32` of word `t / 32` is token `t`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenBits {
    /// At least `n_vocab` bits.
    pub words: Vec<u32>,
}

impl TokenBits {
    /// Of `n_vocab` tokens just one.
    pub(crate) fn only(token: TokenId, n_vocab: usize) -> Self {
        let mut words = vec![0; n_vocab.div_ceil(32)];
        if let Some(word) = words.get_mut(token as usize / 32) {
            *word |= 1 << (token % 32);
        }
        Self { words }
    }

    /// Whether a token is in the set.
    pub fn holds(&self, token: TokenId) -> bool {
        self.words.get(token as usize / 32).is_some_and(|word| word >> (token % 32) & 1 == 1)
    }
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
    /// The sampled tokens with their scores: none, one, or one more than the drafts that were accepted.
    pub tokens: Vec<TokenScore>,
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
