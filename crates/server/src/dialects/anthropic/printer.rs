//! A stream of events: `message_start`, blocks one after the other, `message_delta`, `message_stop`.

use serde_json::{Value, json};
use tokbar_chat::Event;

use super::{error, wire};
use crate::generation::Update;
use crate::stream::Printer;
use crate::{ApiError, sse};

/// The block that is open.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    Text,
    Thinking,
    ToolUse,
}

/// Prints the events of one answer.
pub struct EventPrinter {
    /// The message without content.
    start: Value,
    open: Option<Open>,
    n_closed: usize,
}

impl EventPrinter {
    /// `start` is what `message_start` carries.
    pub fn new(start: Value) -> Self {
        Self { start, open: None, n_closed: 0 }
    }

    /// Goes on with an open block of this kind, or opens one that starts as `block` says.
    fn enter(&mut self, kind: Open, block: Value, frames: &mut Vec<u8>) {
        if self.open == Some(kind) && kind != Open::ToolUse {
            return;
        }
        self.close(frames);
        self.open = Some(kind);
        let start = json!({ "type": "content_block_start", "index": self.n_closed, "content_block": block });
        sse::event("content_block_start", &start, frames);
    }

    fn delta(&self, delta: Value, frames: &mut Vec<u8>) {
        let event = json!({ "type": "content_block_delta", "index": self.n_closed, "delta": delta });
        sse::event("content_block_delta", &event, frames);
    }

    fn close(&mut self, frames: &mut Vec<u8>) {
        let Some(open) = self.open else { return };
        if open == Open::Thinking {
            self.delta(json!({ "type": "signature_delta", "signature": wire::SIGNATURE }), frames);
        }
        let stop = json!({ "type": "content_block_stop", "index": self.n_closed });
        sse::event("content_block_stop", &stop, frames);
        self.open = None;
        self.n_closed += 1;
    }

    fn piece(&mut self, event: Event, frames: &mut Vec<u8>) {
        match event {
            Event::Text(text) | Event::Reasoning(text) if text.is_empty() => {}
            Event::Text(text) => {
                self.enter(Open::Text, json!({ "type": "text", "text": "" }), frames);
                self.delta(json!({ "type": "text_delta", "text": text }), frames);
            }
            Event::Reasoning(text) => {
                let block = json!({ "type": "thinking", "thinking": "", "signature": "" });
                self.enter(Open::Thinking, block, frames);
                self.delta(json!({ "type": "thinking_delta", "thinking": text }), frames);
            }
            Event::ToolStart { id, name, .. } => {
                let block = json!({ "type": "tool_use", "id": id, "name": name, "input": {} });
                self.enter(Open::ToolUse, block, frames);
                self.delta(json!({ "type": "input_json_delta", "partial_json": "" }), frames);
            }
            Event::ToolArgs { json, .. } => {
                self.delta(json!({ "type": "input_json_delta", "partial_json": json }), frames);
            }
            Event::ToolEnd { .. } => self.close(frames),
            Event::Finish(_) => {}
        }
    }
}

impl Printer for EventPrinter {
    fn open(&mut self, frames: &mut Vec<u8>) {
        sse::event("message_start", &json!({ "type": "message_start", "message": self.start }), frames);
        self.keep_alive(frames);
    }

    fn print(&mut self, _: usize, update: Update, frames: &mut Vec<u8>) {
        match update {
            Update::Piece { event, .. } => self.piece(event, frames),
            Update::Finish { reason, usage, stop_string } => {
                self.close(frames);
                let (reason, stop) = wire::stop(reason, stop_string.as_deref());
                let delta = json!({ "stop_reason": reason, "stop_sequence": stop });
                let event = json!({ "type": "message_delta", "delta": delta, "usage": wire::usage_json(&usage) });
                sse::event("message_delta", &event, frames);
            }
            Update::Prompt(_) | Update::Failed(_) => {}
        }
    }

    fn keep_alive(&mut self, frames: &mut Vec<u8>) {
        sse::event("ping", &json!({ "type": "ping" }), frames);
    }

    fn end(&mut self, frames: &mut Vec<u8>) {
        sse::event("message_stop", &json!({ "type": "message_stop" }), frames);
    }

    fn fail(&mut self, failure: &ApiError, frames: &mut Vec<u8>) {
        sse::event("error", &error::body(failure), frames);
    }
}
