//! Neutral output: every dialect prints these in its own shape.

/// One piece of a model's output.
///
/// A tool call is one `ToolStart`, its arguments in pieces, and one `ToolEnd`; calls do not overlap. The pieces of one
/// call joined are a JSON object, unless the output ends inside the call: then no `ToolEnd` comes and they are a
/// beginning of one.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Visible text.
    Text(String),
    /// Thinking, not part of the answer.
    Reasoning(String),
    /// The model calls a tool.
    ToolStart {
        /// Counts the calls of one output from 0.
        index: usize,
        /// Names the call in the conversation.
        id: String,
        /// The tool's name.
        name: String,
    },
    /// The next piece of a call's arguments.
    ToolArgs {
        /// Which call.
        index: usize,
        /// Some bytes of the arguments' JSON.
        json: String,
    },
    /// A call is complete.
    ToolEnd {
        /// Which call.
        index: usize,
    },
    /// The last event.
    Finish(FinishReason),
}

/// Why the output ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishReason {
    /// EOS, a stop token or a stop string.
    Stop,
    /// The token limit or the context is full.
    Length,
    /// The model waits for the results of its calls.
    ToolCalls,
}
