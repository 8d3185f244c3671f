//! Tokens to tokens: sequences, the scheduler, sampling options, and the [`Backend`] seam that a model implements.
//!
//! Knows requests as token ids and rows of a step. Must not know text, MLX or HTTP.

mod backend;
mod request;
mod sampling;

pub use backend::{
    Backend, ModelInfo, Opening, PromptScores, Row, RowInput, RowOutput, RowResult, Step, StepError, StepOutput,
    TokenScore,
};
pub use request::{FinishReason, Output, Request, Usage};
pub use sampling::{SamplingError, SamplingOptions};

/// A token's index in the vocabulary.
pub type TokenId = u32;

/// Names one sequence for as long as the engine lives; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SequenceId(pub u64);
