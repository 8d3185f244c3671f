//! Answers as Ollama writes them: one object, or one line per piece and a last one with the counts.

use serde_json::{Map, Value, json};
use tokbar_chat::{Event, FinishReason};
use tokbar_engine as engine;
use tokio::time::Instant;

/// Which endpoint answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `/api/chat`: the text stands in a message.
    Chat,
    /// `/api/generate`: the text stands alone.
    Generate,
}

/// What all objects of an answer share.
#[derive(Clone, Debug)]
pub struct Head {
    /// Which endpoint.
    pub shape: Shape,
    /// The served id.
    pub model: String,
    /// The clock for `created_at`.
    pub now: fn() -> jiff::Zoned,
    /// When the call arrived.
    pub started: Instant,
}

/// What one object says.
#[derive(Debug, Default)]
pub struct Piece {
    /// Visible text.
    pub text: String,
    /// Thinking.
    pub thinking: String,
    /// Whole calls.
    pub calls: Vec<Value>,
}

impl Head {
    /// One object; `ending` is what the last one adds.
    pub fn object(&self, piece: Piece, ending: Option<Map<String, Value>>) -> Value {
        let Piece { text, thinking, calls } = piece;
        let mut object = json!({ "model": self.model, "created_at": (self.now)().timestamp().to_string() });
        let mut said = match self.shape {
            Shape::Chat => json!({ "role": "assistant", "content": text }),
            Shape::Generate => json!({ "response": text }),
        };
        if !thinking.is_empty() {
            said["thinking"] = Value::String(thinking);
        }
        if !calls.is_empty() {
            said["tool_calls"] = Value::Array(calls);
        }
        match (self.shape, said, &mut object) {
            (Shape::Chat, said, object) => object["message"] = said,
            (Shape::Generate, Value::Object(said), Value::Object(object)) => object.extend(said),
            (Shape::Generate, _, _) => {}
        }
        object["done"] = Value::Bool(ending.is_some());
        if let (Some(ending), Value::Object(object)) = (ending, &mut object) {
            object.extend(ending);
        }
        object
    }

    /// What the answer to a call says that only asks for the model to be there.
    pub fn loaded(&self) -> Value {
        let ending = Map::from_iter([("done_reason".to_owned(), json!("load"))]);
        self.object(Piece::default(), Some(ending))
    }
}

/// Gathers what the last object tells: when the first token came, and calls until they are whole.
#[derive(Debug, Default)]
pub struct Progress {
    first: Option<Instant>,
    n_calls: usize,
    /// Id, name and the arguments so far of the call that is being written.
    call: Option<(String, String, String)>,
}

impl Progress {
    /// What an event adds.
    pub fn piece(&mut self, event: Event) -> Piece {
        self.first.get_or_insert_with(Instant::now);
        let mut piece = Piece::default();
        match event {
            Event::Text(text) => piece.text = text,
            Event::Reasoning(text) => piece.thinking = text,
            Event::ToolStart { id, name, .. } => self.call = Some((id, name, String::new())),
            Event::ToolArgs { json, .. } => {
                if let Some((_, _, arguments)) = &mut self.call {
                    arguments.push_str(&json);
                }
            }
            Event::ToolEnd { .. } => piece.calls.extend(self.whole_call()),
            Event::Finish(_) => {}
        }
        piece
    }

    fn whole_call(&mut self) -> Option<Value> {
        let (id, name, arguments) = self.call.take()?;
        let arguments: Value = serde_json::from_str(&arguments).unwrap_or_else(|_| json!({}));
        let index = self.n_calls;
        self.n_calls += 1;
        Some(json!({ "id": id, "function": { "index": index, "name": name, "arguments": arguments } }))
    }

    /// Why it ended, counts, and nanoseconds: of all, of the prompt (with the wait before it), of the answer.
    pub fn ending(&self, head: &Head, reason: FinishReason, usage: &engine::Usage) -> Map<String, Value> {
        let now = Instant::now();
        let first = self.first.unwrap_or(now);
        let nanoseconds = |from: Instant, to: Instant| json!(u64::try_from((to - from).as_nanos()).unwrap_or(u64::MAX));
        let reason = match reason {
            FinishReason::Length => "length",
            FinishReason::Stop | FinishReason::ToolCalls => "stop",
        };
        let ending = [
            ("done_reason", json!(reason)),
            ("total_duration", nanoseconds(head.started, now)),
            ("load_duration", json!(0)),
            ("prompt_eval_count", json!(usage.n_prompt)),
            ("prompt_eval_duration", nanoseconds(head.started, first)),
            ("eval_count", json!(usage.n_output)),
            ("eval_duration", nanoseconds(first, now)),
        ];
        ending.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}
