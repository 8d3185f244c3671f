//! Neutral output: every dialect prints these in its own shape.

/// One piece of a model's output.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Visible text.
    Text(String),
    /// Thinking, not part of the answer.
    Reasoning(String),
    /// The last event.
    Finish(FinishReason),
}

/// Why the output ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FinishReason {
    /// EOS, a stop token or a stop string.
    Stop,
    /// The token limit or the context is full.
    Length,
}
