//! Messages and tools: wire to neutral.

use serde_json::{Value, json};
use tokbar_chat::{Message, Role, Tool, ToolCall};

use crate::ApiError;
use crate::fields::{Fields, must_be};

/// The conversation; empty when the call only asks that the model be loaded.
///
/// # Errors
/// Names the message and field at fault.
pub fn messages(fields: &mut Fields) -> Result<Vec<Message>, ApiError> {
    let items = fields.list("messages")?.unwrap_or_default();
    items.into_iter().enumerate().map(|(idx, item)| message(format!("messages[{idx}]"), item)).collect()
}

fn message(path: String, item: Value) -> Result<Message, ApiError> {
    let mut fields = Fields::new(path, item)?;
    let role = match fields.required_string("role")?.as_str() {
        "system" => Role::System,
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "tool" => Role::Tool,
        other => {
            let detail = format!("must be system, user, assistant or tool, not {other:?}");
            return Err(ApiError::invalid(fields.path("role"), detail));
        }
    };
    no_images(&mut fields)?;
    let path = fields.path("tool_calls");
    let calls = fields.list("tool_calls")?.unwrap_or_default();
    let calls: Result<Vec<ToolCall>, _> =
        calls.into_iter().enumerate().map(|(idx, item)| tool_call(format!("{path}[{idx}]"), item)).collect();
    let name = match fields.string("tool_name")? {
        Some(name) => Some(name),
        None => fields.string("name")?,
    };
    Ok(Message {
        name,
        reasoning: fields.string("thinking")?.filter(|text| !text.is_empty()),
        tool_calls: calls?,
        tool_call_id: fields.string("tool_call_id")?,
        ..Message::new(role, fields.string("content")?.unwrap_or_default())
    })
}

/// # Errors
/// When there are images: this model reads text only.
pub fn no_images(fields: &mut Fields) -> Result<(), ApiError> {
    if fields.list("images")?.is_some_and(|images| !images.is_empty()) {
        let detail = "this model reads text only and cannot see images; leave them out, or load a model that sees";
        return Err(ApiError::unsupported(fields.path("images"), detail));
    }
    Ok(())
}

/// Arguments are an object; some clients send JSON in a string.
fn tool_call(path: String, item: Value) -> Result<ToolCall, ApiError> {
    let mut fields = Fields::new(path, item)?;
    let id = fields.string("id")?.unwrap_or_default();
    let Some(mut function) = fields.object("function")? else {
        return Err(ApiError::invalid(fields.path("function"), "is required and must be an object"));
    };
    let arguments = match function.take("arguments") {
        None => json!({}),
        Some(Value::String(text)) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        Some(other) => other,
    };
    Ok(ToolCall { id, name: function.required_string("name")?, arguments })
}

/// The tools that the template shows to the model.
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
