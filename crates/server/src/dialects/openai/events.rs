//! Neutral events as OpenAI writes them: parts of a whole message, or deltas of a streamed one.

use tokbar_chat::Event;

use super::wire::{CallDelta, ChatMessage, Delta, FunctionDelta, FunctionText, MessageCall};

/// Adds an event to a whole message. Events of one message must come in order.
pub fn add_event(message: &mut ChatMessage, event: Event) {
    match event {
        Event::Text(text) => message.content.get_or_insert_default().push_str(&text),
        Event::Reasoning(text) => message.reasoning_content.get_or_insert_default().push_str(&text),
        Event::ToolStart { id, name, .. } => {
            let function = FunctionText { name, arguments: String::new() };
            message.tool_calls.push(MessageCall { id, kind: "function", function });
        }
        Event::ToolArgs { index, json } => {
            if let Some(call) = message.tool_calls.get_mut(index) {
                call.function.arguments.push_str(&json);
            }
        }
        Event::ToolEnd { .. } | Event::Finish(_) => {}
    }
}

/// What a chunk adds; `None` where the wire has nothing to say.
pub fn delta(event: Event) -> Option<Delta> {
    match event {
        Event::Text(text) => Some(Delta { content: Some(text), ..Delta::default() }),
        Event::Reasoning(text) => Some(Delta { reasoning_content: Some(text), ..Delta::default() }),
        Event::ToolStart { index, id, name } => {
            let function = FunctionDelta { name: Some(name), arguments: String::new() };
            Some(call(CallDelta { index, id: Some(id), kind: Some("function"), function }))
        }
        Event::ToolArgs { index, json } => {
            let function = FunctionDelta { name: None, arguments: json };
            Some(call(CallDelta { index, id: None, kind: None, function }))
        }
        Event::ToolEnd { .. } | Event::Finish(_) => None,
    }
}

fn call(call: CallDelta) -> Delta {
    Delta { tool_calls: Some([call]), ..Delta::default() }
}

#[cfg(test)]
#[path = "events_tests.rs"]
mod tests;
