//! The response object, and the stream of numbered events around it.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokbar_chat::{FinishReason, Message};
use tokbar_engine as engine;

use super::input;
use super::output::Output;
use crate::generation::Update;
use crate::guard::Caller;
use crate::kept::{Kept, KeptAnswer};
use crate::stream::Printer;
use crate::{ApiError, sse};

/// What the response object says of the call.
pub struct Outline {
    /// Names the response.
    pub id: String,
    /// Unix seconds.
    pub created: i64,
    /// The served id.
    pub model: String,
    /// Parameters, as they are sent back.
    pub echo: Map<String, Value>,
}

impl Outline {
    fn object(&self, status: &str, output: &[Value]) -> Value {
        let mut object = json!({
            "id": self.id, "object": "response", "created_at": self.created, "status": status, "background": false,
            "error": null, "incomplete_details": null, "model": self.model, "output": output, "usage": null,
        });
        if let Value::Object(object) = &mut object {
            object.extend(self.echo.clone());
        }
        object
    }

    /// The object at the end; `events` tell how the last item ends.
    pub fn finished(
        &self,
        output: &mut Output,
        (reason, usage): (FinishReason, &engine::Usage),
        events: &mut Vec<Value>,
    ) -> Value {
        let status = if reason == FinishReason::Length { "incomplete" } else { "completed" };
        let items = output.finish(status, events);
        let mut object = self.object(status, &items);
        if reason == FinishReason::Length {
            object["incomplete_details"] = json!({ "reason": "max_output_tokens" });
        }
        object["usage"] = json!({
            "input_tokens": usage.n_prompt,
            "input_tokens_details": { "cached_tokens": usage.n_cached },
            "output_tokens": usage.n_output,
            "output_tokens_details": { "reasoning_tokens": output.n_reasoning().min(usage.n_output) },
            "total_tokens": usage.n_prompt + usage.n_output,
        });
        object
    }
}

/// Where a finished answer goes.
pub struct Keeping {
    /// `None` when it is not kept.
    pub kept: Option<Kept>,
    /// Whose it is.
    pub caller: Caller,
    /// What was sent in this turn.
    pub input: Vec<Value>,
    /// The conversation up to the answer.
    pub turns: Vec<Arc<[Message]>>,
}

impl Keeping {
    /// Keeps a finished answer. Its items are read as if the client sent them back.
    pub fn keep(self, id: &str, body: &Value) {
        let Some(kept) = self.kept else { return };
        let items = body["output"].as_array().map_or(&[][..], Vec::as_slice);
        match input::messages("output", items) {
            Ok(messages) => {
                let mut turns = self.turns;
                turns.push(messages.into());
                kept.put(
                    id.to_owned(),
                    KeptAnswer { caller: self.caller, body: body.clone(), input: self.input, turns },
                );
            }
            Err(error) => tracing::error!(%error, "an answer cannot be read back and is not kept"),
        }
    }
}

/// Prints the events of one response.
pub struct EventPrinter {
    outline: Outline,
    output: Output,
    keeping: Option<Keeping>,
    n_events: u64,
}

impl EventPrinter {
    /// Nothing is printed yet.
    pub fn new(outline: Outline, output: Output, keeping: Keeping) -> Self {
        Self { outline, output, keeping: Some(keeping), n_events: 0 }
    }

    fn event(&mut self, mut event: Value, frames: &mut Vec<u8>) {
        event["sequence_number"] = json!(self.n_events);
        self.n_events += 1;
        sse::event(event["type"].as_str().unwrap_or("message"), &event, frames);
    }

    /// An event that carries the whole object.
    fn about(&mut self, name: &str, object: Value, frames: &mut Vec<u8>) {
        self.event(json!({ "type": name, "response": object }), frames);
    }
}

impl Printer for EventPrinter {
    fn open(&mut self, frames: &mut Vec<u8>) {
        self.about("response.created", self.outline.object("in_progress", &[]), frames);
        self.keep_alive(frames);
    }

    fn print(&mut self, _: usize, update: Update, frames: &mut Vec<u8>) {
        let mut events = Vec::new();
        match update {
            Update::Piece { event, .. } => self.output.add(event, &mut events),
            Update::Finish { reason, usage, .. } => {
                let object = self.outline.finished(&mut self.output, (reason, &usage), &mut events);
                let name = if reason == FinishReason::Length { "response.incomplete" } else { "response.completed" };
                if let Some(keeping) = self.keeping.take() {
                    keeping.keep(&self.outline.id, &object);
                }
                events.push(json!({ "type": name, "response": object }));
            }
            Update::Prompt(_) | Update::Failed(_) => {}
        }
        for event in events {
            self.event(event, frames);
        }
    }

    /// Some clients count events, not comments, as signs of life.
    fn keep_alive(&mut self, frames: &mut Vec<u8>) {
        self.about("response.in_progress", self.outline.object("in_progress", self.output.done()), frames);
    }

    fn end(&mut self, _: &mut Vec<u8>) {}

    fn fail(&mut self, failure: &ApiError, frames: &mut Vec<u8>) {
        let mut object = self.outline.object("failed", self.output.done());
        object["error"] = json!({ "code": "server_error", "message": failure.message() });
        self.about("response.failed", object, frames);
    }
}
