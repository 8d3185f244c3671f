//! Tokens to tokens: sequences, the scheduler, sampling options, and the [`Backend`] seam that a model implements.
//!
//! Knows requests as token ids and rows of a step. Must not know text, MLX or HTTP.

mod backend;
mod costs;
mod draft;
mod draw;
mod dry;
mod engine;
pub mod fake;
mod hold;
mod limits;
mod mask;
mod outputs;
mod plan;
mod prefix_tree;
mod request;
mod sampling;
mod scheduler;
mod sequence;
mod speculation;
mod spill;
mod stats;
mod throttle;
pub mod tier;
mod worker;

pub use backend::{
    Backend, DraftAsk, Draw, Kept, ModelInfo, Opening, Prefix, PromptScores, Row, RowInput, RowOutput, RowResult, Step,
    StepError, StepOutput, Terms, TokenBits, TokenScore,
};
pub use engine::{Engine, EngineOptions, StartError, SubmitError};
pub use hold::Hold;
pub use mask::{MaskSource, TokenMask};
pub use outputs::Outputs;
pub use request::{FinishReason, Output, Priority, Request, Usage};
pub use sampling::{Dry, N_LOGPROBS_MAX, SamplingError, SamplingOptions};
pub use speculation::{DraftCounts, Speculation};
pub use stats::{ExpertStats, Stats};

/// A token's index in the vocabulary.
pub type TokenId = u32;

/// Names one sequence for as long as the engine lives; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SequenceId(pub u64);

/// Names one block of kept KV for as long as the engine lives; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(pub u64);

/// Names one snapshot for as long as the engine lives; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SnapshotId(pub u64);
