//! Neutral events to output items, and to the events that tell of them as they grow.

use std::sync::Arc;

use serde_json::{Value, json};
use tokbar_chat::{Event, Specials, Tokenizer};

use super::input::seal;
use super::tools::{Target, Tools, plain_input};
use crate::ids;

/// How thoughts are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reasoning {
    /// As text.
    Plain,
    /// As text, and once more in a form that clients send back unread.
    Sealed,
}

/// The items of one answer.
pub struct Output {
    tools: Tools,
    reasoning: Reasoning,
    tokenizer: Arc<Tokenizer>,
    done: Vec<Value>,
    open: Option<Open>,
    thoughts: String,
}

/// The item that grows.
struct Open {
    id: String,
    kind: Kind,
    /// Text, or arguments.
    text: String,
}

enum Kind {
    Message,
    Reasoning,
    Call { call_id: String, target: Target },
}

impl Output {
    /// No items yet.
    pub fn new(tools: Tools, reasoning: Reasoning, tokenizer: Arc<Tokenizer>) -> Self {
        Self { tools, reasoning, tokenizer, done: Vec::new(), open: None, thoughts: String::new() }
    }

    /// Adds an event; appends the wire's events that tell of it.
    pub fn add(&mut self, event: Event, events: &mut Vec<Value>) {
        match event {
            Event::Text(text) | Event::Reasoning(text) if text.is_empty() => {}
            Event::Text(text) => {
                if !matches!(self.open, Some(Open { kind: Kind::Message, .. })) {
                    self.start("msg_", Kind::Message, events);
                }
                self.grow(&text, events);
            }
            Event::Reasoning(text) => {
                if !matches!(self.open, Some(Open { kind: Kind::Reasoning, .. })) {
                    self.start("rs_", Kind::Reasoning, events);
                }
                self.thoughts.push_str(&text);
                self.grow(&text, events);
            }
            Event::ToolStart { id, name, .. } => {
                let target = self.tools.target(&name);
                let prefix = if matches!(target, Target::Custom { .. }) { "ctc_" } else { "fc_" };
                self.start(prefix, Kind::Call { call_id: id, target }, events);
            }
            Event::ToolArgs { json, .. } => self.grow(&json, events),
            Event::ToolEnd { .. } => self.close("completed", events),
            Event::Finish(_) => {}
        }
    }

    /// The items, the last of which has this status if it is still open. An answer of nothing is an empty message.
    pub fn finish(&mut self, status: &str, events: &mut Vec<Value>) -> Vec<Value> {
        if self.done.is_empty() && self.open.is_none() {
            self.start("msg_", Kind::Message, events);
        }
        self.close(status, events);
        self.done.clone()
    }

    /// The items that are done.
    pub fn done(&self) -> &[Value] {
        &self.done
    }

    /// Tokens of all thoughts.
    pub fn n_reasoning(&self) -> usize {
        if self.thoughts.is_empty() {
            return 0;
        }
        self.tokenizer.encode(&self.thoughts, Specials::Omit).map_or(0, |tokens| tokens.len())
    }

    fn start(&mut self, prefix: &str, kind: Kind, events: &mut Vec<Value>) {
        self.close("completed", events);
        let open = Open { id: ids::unique(prefix), kind, text: String::new() };
        let index = self.done.len();
        let item = open.item("in_progress", self.reasoning);
        events.push(json!({ "type": "response.output_item.added", "output_index": index, "item": item }));
        if let Some(part) = open.part() {
            events.push(open.place("response.content_part.added", index, json!({ "part": part })));
        }
        self.open = Some(open);
    }

    fn grow(&mut self, text: &str, events: &mut Vec<Value>) {
        let index = self.done.len();
        let Some(open) = &mut self.open else { return };
        open.text.push_str(text);
        let name = match &open.kind {
            Kind::Message => "response.output_text.delta",
            Kind::Reasoning => "response.reasoning_text.delta",
            Kind::Call { target: Target::Function { .. }, .. } => "response.function_call_arguments.delta",
            // Its text is known only when the arguments around it are whole.
            Kind::Call { target: Target::Custom { .. }, .. } => return,
        };
        let more = if matches!(open.kind, Kind::Message) {
            json!({ "delta": text, "logprobs": [] })
        } else {
            json!({ "delta": text })
        };
        events.push(open.place(name, index, more));
    }

    fn close(&mut self, status: &str, events: &mut Vec<Value>) {
        let Some(open) = self.open.take() else { return };
        let index = self.done.len();
        let text = &open.text;
        match &open.kind {
            Kind::Message => {
                let more = json!({ "text": text, "logprobs": [] });
                events.push(open.place("response.output_text.done", index, more));
            }
            Kind::Reasoning => {
                events.push(open.place("response.reasoning_text.done", index, json!({ "text": text })));
            }
            Kind::Call { target: Target::Function { name, .. }, .. } => {
                let more = json!({ "name": name, "arguments": text });
                events.push(open.place("response.function_call_arguments.done", index, more));
            }
            Kind::Call { target: Target::Custom { .. }, .. } => {
                let input = plain_input(text);
                let delta = json!({ "delta": input });
                events.push(open.place("response.custom_tool_call_input.delta", index, delta));
                events.push(open.place("response.custom_tool_call_input.done", index, json!({ "input": input })));
            }
        }
        if let Some(part) = open.part() {
            events.push(open.place("response.content_part.done", index, json!({ "part": part })));
        }
        let item = open.item(status, self.reasoning);
        events.push(json!({ "type": "response.output_item.done", "output_index": index, "item": item }));
        self.done.push(item);
    }
}

impl Open {
    /// An event about this item; parts have an index within it.
    fn place(&self, name: &str, output_index: usize, more: Value) -> Value {
        let mut event = json!({ "type": name, "item_id": self.id, "output_index": output_index });
        if !matches!(self.kind, Kind::Call { .. }) {
            event["content_index"] = json!(0);
        }
        if let (Value::Object(event), Value::Object(more)) = (&mut event, more) {
            event.extend(more);
        }
        event
    }

    /// The one part of items that have parts.
    fn part(&self) -> Option<Value> {
        match self.kind {
            Kind::Message => {
                Some(json!({ "type": "output_text", "text": self.text, "annotations": [], "logprobs": [] }))
            }
            Kind::Reasoning => Some(json!({ "type": "reasoning_text", "text": self.text })),
            Kind::Call { .. } => None,
        }
    }

    fn item(&self, status: &str, reasoning: Reasoning) -> Value {
        let is_new = status == "in_progress";
        let content = if is_new { json!([]) } else { json!([self.part()]) };
        match &self.kind {
            Kind::Message => json!({
                "id": self.id, "type": "message", "status": status, "role": "assistant", "content": content,
            }),
            Kind::Reasoning => {
                let mut item = json!({
                    "id": self.id, "type": "reasoning", "status": status, "summary": [], "content": content,
                });
                if reasoning == Reasoning::Sealed && !is_new {
                    item["encrypted_content"] = Value::String(seal(&self.text));
                }
                item
            }
            Kind::Call { call_id, target: Target::Function { namespace, name } } => {
                let mut item = json!({
                    "id": self.id, "type": "function_call", "status": status, "call_id": call_id, "name": name,
                    "arguments": self.text,
                });
                if let Some(namespace) = namespace {
                    item["namespace"] = json!(namespace);
                }
                item
            }
            Kind::Call { call_id, target: Target::Custom { name } } => json!({
                "id": self.id, "type": "custom_tool_call", "status": status, "call_id": call_id, "name": name,
                "input": if is_new { String::new() } else { plain_input(&self.text) },
            }),
        }
    }
}
