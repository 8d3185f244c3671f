//! Messages and tools: wire to neutral, tolerant of what agents really send.

use serde_json::{Value, json};
use tokbar_chat::{Message, Role, Tool, ToolCall};

use crate::ApiError;
use crate::fields::{Fields, must_be};

/// The conversation of a chat call.
///
/// # Errors
/// Names the message and field at fault.
pub fn messages(fields: &mut Fields) -> Result<Vec<Message>, ApiError> {
    let Some(items) = fields.list("messages")? else {
        return Err(ApiError::invalid("messages", "is required and must be an array of messages"));
    };
    if items.is_empty() {
        return Err(ApiError::invalid("messages", "must hold at least one message"));
    }
    items.into_iter().enumerate().map(|(idx, item)| message(format!("messages[{idx}]"), item)).collect()
}

fn message(path: String, item: Value) -> Result<Message, ApiError> {
    let mut fields = Fields::new(path, item)?;
    let role = role(&mut fields)?;
    let tool_calls = tool_calls(&mut fields)?;
    let content_path = fields.path("content");
    let content = match fields.take("content") {
        Some(value) => content(&content_path, value)?,
        None if matches!(role, Role::Assistant | Role::Tool) => String::new(),
        None => return Err(ApiError::invalid(content_path, "is required: a string or an array of text parts")),
    };
    let reasoning = match fields.string("reasoning_content")? {
        Some(text) => Some(text),
        None => fields.string("reasoning")?,
    };
    Ok(Message {
        role,
        content,
        name: fields.string("name")?,
        reasoning,
        tool_calls,
        tool_call_id: fields.string("tool_call_id")?,
    })
}

fn role(fields: &mut Fields) -> Result<Role, ApiError> {
    match fields.required_string("role")?.as_str() {
        "system" | "developer" => Ok(Role::System),
        "user" => Ok(Role::User),
        "assistant" => Ok(Role::Assistant),
        "tool" | "function" => Ok(Role::Tool),
        other => {
            let detail = format!("must be system, developer, user, assistant or tool, not {other:?}");
            Err(ApiError::invalid(fields.path("role"), detail))
        }
    }
}

/// A string, or text parts, which are joined by line breaks.
fn content(path: &str, value: Value) -> Result<String, ApiError> {
    let parts = match value {
        Value::String(text) => return Ok(text),
        Value::Array(parts) => parts,
        other => return Err(must_be(path.to_owned(), "a string or an array of parts", &other)),
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
        "text" | "input_text" | "output_text" => fields.required_string("text"),
        "refusal" => fields.required_string("refusal"),
        other => Err(ApiError::unsupported(
            fields.path("type"),
            format!("this model reads text only and cannot take a part of type {other:?}; send text parts"),
        )),
    }
}

fn tool_calls(fields: &mut Fields) -> Result<Vec<ToolCall>, ApiError> {
    if let Some(mut call) = fields.object("function_call")? {
        return Ok(vec![function(String::new(), &mut call)?]);
    }
    let path = fields.path("tool_calls");
    let items = fields.list("tool_calls")?.unwrap_or_default();
    items.into_iter().enumerate().map(|(idx, item)| tool_call(format!("{path}[{idx}]"), item)).collect()
}

fn tool_call(path: String, item: Value) -> Result<ToolCall, ApiError> {
    let mut fields = Fields::new(path, item)?;
    let id = fields.string("id")?.unwrap_or_default();
    let Some(mut call) = fields.object("function")? else {
        return Err(ApiError::invalid(fields.path("function"), "is required and must be an object"));
    };
    function(id, &mut call)
}

/// Arguments come as JSON in a string. What a model once wrote wrongly stays as it is: refusing it would end the
/// conversation.
fn function(id: String, fields: &mut Fields) -> Result<ToolCall, ApiError> {
    let arguments = match fields.take("arguments") {
        None => json!({}),
        Some(Value::String(text)) if text.trim().is_empty() => json!({}),
        Some(Value::String(text)) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        Some(other) => other,
    };
    Ok(ToolCall { id, name: fields.required_string("name")?, arguments })
}

/// The declared tools.
///
/// # Errors
/// Names the tool and field at fault.
pub fn tools(fields: &mut Fields) -> Result<Vec<Tool>, ApiError> {
    let items = fields.list("tools")?.unwrap_or_default();
    items.into_iter().enumerate().map(|(idx, item)| tool(format!("tools[{idx}]"), item)).collect()
}

fn tool(path: String, item: Value) -> Result<Tool, ApiError> {
    let mut fields = Fields::new(path, item)?;
    let kind = fields.string("type")?.unwrap_or_else(|| "function".to_owned());
    if kind != "function" {
        let detail = format!("tools of type {kind:?} do not exist here; declare a tool of type \"function\"");
        return Err(ApiError::unsupported(fields.path("type"), detail));
    }
    let Some(mut function) = fields.object("function")? else {
        return Err(ApiError::invalid(fields.path("function"), "is required and must be an object"));
    };
    let parameters = match function.take("parameters") {
        None => json!({ "type": "object", "properties": {} }),
        Some(schema @ Value::Object(_)) => schema,
        Some(other) => return Err(must_be(function.path("parameters"), "a JSON schema (an object)", &other)),
    };
    Ok(Tool { name: function.required_string("name")?, description: function.string("description")?, parameters })
}
