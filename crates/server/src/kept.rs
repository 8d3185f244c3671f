//! Answers that a client may refer to later: in memory, bounded in number and bytes, the least recently used go first.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokbar_chat::Message;

use crate::guard::Caller;

/// Most answers kept.
const N_ANSWERS_MAX: usize = 1024;
/// Most bytes of all answers kept, as JSON.
const N_BYTES_MAX: usize = 64 << 20;

/// An answer with the conversation that led to it.
#[derive(Debug)]
pub struct KeptAnswer {
    /// Only who asked may see it.
    pub caller: Caller,
    /// As the client got it.
    pub body: Value,
    /// What the client sent in this turn.
    pub input: Vec<Value>,
    /// The conversation turn by turn, with this answer; turns are shared with the answers before it.
    pub turns: Vec<Arc<[Message]>>,
}

/// All of them; cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    shelf: Arc<Mutex<Shelf>>,
}

#[derive(Debug, Default)]
struct Shelf {
    answers: HashMap<String, Place>,
    n_bytes: usize,
    n_uses: u64,
}

#[derive(Debug)]
struct Place {
    answer: Arc<KeptAnswer>,
    n_bytes: usize,
    last_use: u64,
}

impl Kept {
    /// Keeps an answer, at the cost of others if there are too many; one that is too large alone is not kept.
    pub fn put(&self, id: String, answer: KeptAnswer) {
        let n_bytes = n_bytes(&answer);
        if n_bytes > N_BYTES_MAX {
            return;
        }
        let mut shelf = self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        while shelf.answers.len() >= N_ANSWERS_MAX || shelf.n_bytes + n_bytes > N_BYTES_MAX {
            let oldest = shelf.answers.iter().min_by_key(|(_, place)| place.last_use).map(|(id, _)| id.clone());
            let Some(oldest) = oldest else { break };
            shelf.remove(&oldest);
        }
        shelf.n_uses += 1;
        let place = Place { answer: Arc::new(answer), n_bytes, last_use: shelf.n_uses };
        shelf.n_bytes += n_bytes;
        shelf.answers.insert(id, place);
    }

    /// The answer of that id, if this caller got it.
    pub fn get(&self, id: &str, caller: &Caller) -> Option<Arc<KeptAnswer>> {
        let mut shelf = self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        shelf.n_uses += 1;
        let now = shelf.n_uses;
        let place = shelf.answers.get_mut(id).filter(|place| place.answer.caller == *caller)?;
        place.last_use = now;
        Some(place.answer.clone())
    }

    /// Forgets an answer; false if this caller has none of that id.
    pub fn forget(&self, id: &str, caller: &Caller) -> bool {
        let mut shelf = self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        let is_own = shelf.answers.get(id).is_some_and(|place| place.answer.caller == *caller);
        if is_own {
            shelf.remove(id);
        }
        is_own
    }
}

impl Shelf {
    fn remove(&mut self, id: &str) {
        if let Some(place) = self.answers.remove(id) {
            self.n_bytes -= place.n_bytes;
        }
    }
}

/// Text is what takes room. Turns are counted with every answer that shares them.
fn n_bytes(answer: &KeptAnswer) -> usize {
    let message = |message: &Message| {
        let calls: usize = message.tool_calls.iter().map(|call| call.name.len() + value_bytes(&call.arguments)).sum();
        128 + message.content.len() + message.reasoning.as_ref().map_or(0, String::len) + calls
    };
    let turns: usize = answer.turns.iter().flat_map(|turn| turn.iter()).map(message).sum();
    turns + value_bytes(&answer.body) + answer.input.iter().map(value_bytes).sum::<usize>()
}

/// Depth is bounded by what a body may have.
fn value_bytes(value: &Value) -> usize {
    let own = size_of::<Value>();
    match value {
        Value::String(text) => own + text.len(),
        Value::Array(items) => own + items.iter().map(value_bytes).sum::<usize>(),
        Value::Object(map) => own + map.iter().map(|(key, value)| own + key.len() + value_bytes(value)).sum::<usize>(),
        Value::Null | Value::Bool(_) | Value::Number(_) => own,
    }
}

#[cfg(test)]
#[path = "kept_tests.rs"]
mod tests;
