//! Answers as Anthropic writes them.

use serde_json::{Value, json};
use tokbar_chat::{Event, FinishReason};
use tokbar_engine as engine;

/// Stands where the vendor proves that a thought is its own. Clients send it back untouched; nothing here reads it.
pub const SIGNATURE: &str = "dG9rYmFy";

/// A message without content, as a stream starts with it.
pub fn blank(id: &str, model: &str, n_prompt: usize) -> Value {
    let usage = engine::Usage { n_prompt, ..engine::Usage::default() };
    json!({
        "id": id, "type": "message", "role": "assistant", "model": model, "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage_json(&usage),
    })
}

/// Counts; cached tokens are told apart, as the vendor does.
pub fn usage_json(usage: &engine::Usage) -> Value {
    json!({
        "input_tokens": usage.n_prompt.saturating_sub(usage.n_cached),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.n_cached,
        "output_tokens": usage.n_output,
    })
}

/// The vendor's word for why it ended, and the stop string if one was found.
pub fn stop(reason: FinishReason, stop_string: Option<&str>) -> (&'static str, Value) {
    match (reason, stop_string) {
        (FinishReason::Stop, Some(text)) => ("stop_sequence", json!(text)),
        (FinishReason::Stop, None) => ("end_turn", Value::Null),
        (FinishReason::Length, _) => ("max_tokens", Value::Null),
        (FinishReason::ToolCalls, _) => ("tool_use", Value::Null),
    }
}

/// Blocks of a whole answer.
#[derive(Debug, Default)]
pub struct Content {
    blocks: Vec<Block>,
}

#[derive(Debug)]
enum Block {
    Text(String),
    Thinking(String),
    ToolUse { id: String, name: String, json: String },
}

impl Content {
    /// Adds an event; those of one answer must come in order.
    pub fn add(&mut self, event: Event) {
        match (event, self.blocks.last_mut()) {
            (Event::Text(more), Some(Block::Text(text))) => text.push_str(&more),
            (Event::Text(text), _) if text.is_empty() => {}
            (Event::Text(text), _) => self.blocks.push(Block::Text(text)),
            (Event::Reasoning(more), Some(Block::Thinking(text))) => text.push_str(&more),
            (Event::Reasoning(text), _) => self.blocks.push(Block::Thinking(text)),
            (Event::ToolStart { id, name, .. }, _) => {
                self.blocks.push(Block::ToolUse { id, name, json: String::new() });
            }
            (Event::ToolArgs { json: more, .. }, Some(Block::ToolUse { json, .. })) => json.push_str(&more),
            (Event::ToolArgs { .. } | Event::ToolEnd { .. } | Event::Finish(_), _) => {}
        }
    }

    /// As the vendor writes them. Arguments that were cut off in the middle are empty; the stop reason tells why.
    pub fn json(&self) -> Value {
        let block = |block: &Block| match block {
            Block::Text(text) => json!({ "type": "text", "text": text }),
            Block::Thinking(text) => json!({ "type": "thinking", "thinking": text, "signature": SIGNATURE }),
            Block::ToolUse { id, name, json } => {
                let input = serde_json::from_str::<Value>(json).unwrap_or_else(|_| json!({}));
                json!({ "type": "tool_use", "id": id, "name": name, "input": input })
            }
        };
        self.blocks.iter().map(block).collect()
    }
}
