//! Text to tokens and back: chat templates, tokenizers, detokenizing, stop strings.
//!
//! Knows messages, tools and token ids. Must not know tensors or HTTP.

mod event;
mod message;

pub use event::{Event, FinishReason};
pub use message::{Message, Prompt, Role, Tool, ToolCall};
