//! Items to messages. Items of one answer (thoughts, text, calls) become one message, as the model wrote them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokbar_chat::{Message, Role, ToolCall};

use super::tools::{flat, plain_arguments};
use crate::fields::{Fields, must_be};
use crate::{ApiError, ids};

/// What `encrypted_content` of our own starts with.
const SEAL: &str = "tokbar:";

/// The input as items, each with an id; a string is one message of the user.
///
/// # Errors
/// When it is neither a string nor an array.
pub fn items(fields: &mut Fields) -> Result<Vec<Value>, ApiError> {
    let path = fields.path("input");
    let mut items = match fields.take("input") {
        None => Vec::new(),
        Some(Value::String(text)) => {
            vec![json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": text }] })]
        }
        Some(Value::Array(items)) => items,
        Some(other) => return Err(must_be(path, "a string or an array of items", &other)),
    };
    for item in items.iter_mut().filter_map(Value::as_object_mut) {
        if !item.get("id").is_some_and(Value::is_string) {
            item.insert("id".to_owned(), Value::String(ids::unique("msg_")));
        }
    }
    Ok(items)
}

/// The messages that items are.
///
/// # Errors
/// Names the item and field at fault.
pub fn messages(path: &str, items: &[Value]) -> Result<Vec<Message>, ApiError> {
    let mut messages = Vec::with_capacity(items.len());
    for (idx, item) in items.iter().enumerate() {
        add(Fields::new(format!("{path}[{idx}]"), item.clone())?, &mut messages)?;
    }
    Ok(messages)
}

fn add(mut fields: Fields, messages: &mut Vec<Message>) -> Result<(), ApiError> {
    let kind = fields.string("type")?.unwrap_or_else(|| "message".to_owned());
    match kind.as_str() {
        "message" => add_message(&mut fields, messages)?,
        "reasoning" => {
            let text = reasoning(&mut fields)?;
            if !text.is_empty() {
                answer(messages, |answer| answer.content.is_empty() && answer.tool_calls.is_empty()).reasoning =
                    Some(text);
            }
        }
        "function_call" => {
            let namespace = fields.string("namespace")?;
            let name = flat(namespace.as_deref(), &fields.required_string("name")?);
            let arguments = match fields.take("arguments") {
                None => json!({}),
                Some(Value::String(text)) if text.trim().is_empty() => json!({}),
                // What a model once wrote wrongly stays as it is: refusing it would end the conversation.
                Some(Value::String(text)) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
                Some(other) => other,
            };
            let id = fields.required_string("call_id")?;
            answer(messages, |_| true).tool_calls.push(ToolCall { id, name, arguments });
        }
        "custom_tool_call" => {
            let arguments = plain_arguments(fields.string("input")?.unwrap_or_default());
            let (id, name) = (fields.required_string("call_id")?, fields.required_string("name")?);
            answer(messages, |_| true).tool_calls.push(ToolCall { id, name, arguments });
        }
        "function_call_output" | "custom_tool_call_output" => {
            let path = fields.path("output");
            let output = text(path, fields.take("output").unwrap_or_default())?;
            let tool_call_id = Some(fields.required_string("call_id")?);
            messages.push(Message { tool_call_id, ..Message::new(Role::Tool, output) });
        }
        "item_reference" => {
            let detail = "items are not kept one by one; send the item itself, or previous_response_id";
            return Err(ApiError::unsupported(fields.path("type"), detail));
        }
        other => {
            let detail = format!("items of type {other:?} cannot be read; send messages, calls and their outputs");
            return Err(ApiError::unsupported(fields.path("type"), detail));
        }
    }
    Ok(())
}

/// The model's message that is being put together, if it `takes` more, else a new one.
fn answer(messages: &mut Vec<Message>, takes: impl Fn(&Message) -> bool) -> &mut Message {
    if !messages.last().is_some_and(|last| last.role == Role::Assistant && takes(last)) {
        messages.push(Message::new(Role::Assistant, String::new()));
    }
    let last = messages.len() - 1;
    &mut messages[last]
}

fn add_message(fields: &mut Fields, messages: &mut Vec<Message>) -> Result<(), ApiError> {
    let role = match fields.required_string("role")?.as_str() {
        "system" | "developer" => Role::System,
        "user" => Role::User,
        "assistant" => Role::Assistant,
        other => {
            let detail = format!("must be system, developer, user or assistant, not {other:?}");
            return Err(ApiError::invalid(fields.path("role"), detail));
        }
    };
    let path = fields.path("content");
    let Some(value) = fields.take("content") else {
        return Err(ApiError::invalid(path, "is required: a string or an array of text parts"));
    };
    let content = text(path, value)?;
    if role == Role::Assistant {
        answer(messages, |answer| answer.content.is_empty() && answer.tool_calls.is_empty()).content = content;
    } else {
        messages.push(Message::new(role, content));
    }
    Ok(())
}

/// A string, or text parts, which are joined by line breaks.
fn text(path: String, value: Value) -> Result<String, ApiError> {
    let parts = match value {
        Value::String(text) => return Ok(text),
        Value::Array(parts) => parts,
        Value::Null => return Ok(String::new()),
        other => return Err(must_be(path, "a string or an array of parts", &other)),
    };
    let texts: Result<Vec<String>, _> =
        parts.into_iter().enumerate().map(|(idx, item)| part(format!("{path}[{idx}]"), item)).collect();
    Ok(texts?.join("\n"))
}

fn part(path: String, item: Value) -> Result<String, ApiError> {
    if let Value::String(text) = item {
        return Ok(text);
    }
    let mut fields = Fields::new(path, item)?;
    match fields.required_string("type")?.as_str() {
        "input_text" | "output_text" | "text" | "summary_text" | "reasoning_text" => fields.required_string("text"),
        "refusal" => fields.required_string("refusal"),
        other => {
            let detail =
                format!("this model reads text only and cannot take a part of type {other:?}; send text parts");
            Err(ApiError::unsupported(fields.path("type"), detail))
        }
    }
}

/// A thought: its text if it came along, else what we sealed, else its summary.
fn reasoning(fields: &mut Fields) -> Result<String, ApiError> {
    let path = fields.path("content");
    let content = text(path, fields.take("content").unwrap_or_default())?;
    if !content.is_empty() {
        return Ok(content);
    }
    if let Some(text) = fields.string("encrypted_content")?.and_then(|sealed| unseal(&sealed)) {
        return Ok(text);
    }
    let path = fields.path("summary");
    text(path, fields.take("summary").unwrap_or_default())
}

/// A thought for clients that send it back unread. No secret: it is the text in another form.
pub fn seal(text: &str) -> String {
    format!("{SEAL}{}", STANDARD.encode(text))
}

fn unseal(sealed: &str) -> Option<String> {
    String::from_utf8(STANDARD.decode(sealed.strip_prefix(SEAL)?).ok()?).ok()
}
