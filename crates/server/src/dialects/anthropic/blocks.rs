//! Messages and their content blocks: wire to neutral.

use serde_json::{Value, json};
use tokbar_chat::{Message, Role, ToolCall};

use crate::ApiError;
use crate::fields::{Fields, must_be};

/// The conversation. One wire message may become several: the results of tools are messages of their own.
///
/// # Errors
/// Names the message and block at fault.
pub fn messages(fields: &mut Fields) -> Result<Vec<Message>, ApiError> {
    let Some(items) = fields.list("messages")? else {
        return Err(ApiError::invalid("messages", "is required and must be an array of messages"));
    };
    if items.is_empty() {
        return Err(ApiError::invalid("messages", "must hold at least one message"));
    }
    let mut turns = Vec::with_capacity(items.len());
    for (idx, item) in items.into_iter().enumerate() {
        message(format!("messages[{idx}]"), item, &mut turns)?;
    }
    if turns.last().is_some_and(|turn: &Message| turn.role == Role::Assistant) {
        let detail = "an answer cannot be begun for the model; let the last message be the user's";
        return Err(ApiError::unsupported("messages", detail));
    }
    Ok(turns)
}

fn message(path: String, item: Value, turns: &mut Vec<Message>) -> Result<(), ApiError> {
    let mut fields = Fields::new(path, item)?;
    let role = match fields.required_string("role")?.as_str() {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "system" => Role::System,
        other => {
            let detail = format!("must be user, assistant or system, not {other:?}");
            return Err(ApiError::invalid(fields.path("role"), detail));
        }
    };
    let path = fields.path("content");
    let items = match fields.take("content") {
        Some(Value::String(text)) => {
            turns.push(Message::new(role, text));
            return Ok(());
        }
        Some(Value::Array(items)) => items,
        Some(other) => return Err(must_be(path, "a string or an array of blocks", &other)),
        None => return Err(ApiError::invalid(path, "is required: a string or an array of blocks")),
    };
    let n_before = turns.len();
    let mut turn = Turn::new(role);
    for (idx, item) in items.into_iter().enumerate() {
        block(Fields::new(format!("{path}[{idx}]"), item)?, &mut turn, turns)?;
    }
    turn.close(turns);
    if turns.len() == n_before {
        turns.push(Message::new(role, String::new()));
    }
    Ok(())
}

/// A message as its blocks are read.
struct Turn {
    role: Role,
    texts: Vec<String>,
    reasoning: Vec<String>,
    calls: Vec<ToolCall>,
}

impl Turn {
    fn new(role: Role) -> Self {
        Self { role, texts: Vec::new(), reasoning: Vec::new(), calls: Vec::new() }
    }

    /// What was read so far becomes a message, unless it is nothing.
    fn close(&mut self, turns: &mut Vec<Message>) {
        let Self { role, texts, reasoning, calls } = std::mem::replace(self, Self::new(self.role));
        if texts.is_empty() && reasoning.is_empty() && calls.is_empty() {
            return;
        }
        turns.push(Message {
            reasoning: (!reasoning.is_empty()).then(|| reasoning.join("\n")),
            tool_calls: calls,
            ..Message::new(role, texts.join("\n"))
        });
    }
}

fn block(mut fields: Fields, turn: &mut Turn, turns: &mut Vec<Message>) -> Result<(), ApiError> {
    let kind = fields.required_string("type")?;
    match (turn.role, kind.as_str()) {
        (_, "text") => turn.texts.push(fields.required_string("text")?),
        (Role::User, "document" | "search_result") => turn.texts.push(document(&kind, &mut fields)?),
        (Role::User, "tool_result") => {
            turn.close(turns);
            turns.push(tool_result(&mut fields)?);
        }
        (Role::Assistant, "tool_use") => turn.calls.push(tool_use(&mut fields)?),
        (Role::Assistant, "thinking") => turn.reasoning.push(fields.required_string("thinking")?),
        // Nothing that a local model could read.
        (Role::Assistant, "redacted_thinking") => {}
        _ => return Err(no_such_block(&fields, &kind, turn.role)),
    }
    Ok(())
}

fn no_such_block(fields: &Fields, kind: &str, role: Role) -> ApiError {
    let detail = match kind {
        "image" => {
            "this model reads text only and cannot see images; send text blocks, or load a model that sees".into()
        }
        _ => format!("a message of the {} cannot hold a block of type {kind:?} here; send text blocks", role.as_str()),
    };
    ApiError::unsupported(fields.path("type"), detail)
}

fn tool_use(fields: &mut Fields) -> Result<ToolCall, ApiError> {
    let arguments = fields.take("input").unwrap_or_else(|| json!({}));
    Ok(ToolCall { id: fields.required_string("id")?, name: fields.required_string("name")?, arguments })
}

/// A failure is said in words, as templates have no other place for it.
fn tool_result(fields: &mut Fields) -> Result<Message, ApiError> {
    let path = fields.path("content");
    let texts = match fields.take("content") {
        None => Vec::new(),
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(items)) => items
            .into_iter()
            .enumerate()
            .map(|(idx, item)| result_part(format!("{path}[{idx}]"), item))
            .collect::<Result<_, _>>()?,
        Some(other) => return Err(must_be(path, "a string or an array of blocks", &other)),
    };
    let mut content = texts.join("\n");
    if fields.flag("is_error")?.unwrap_or(false) && !content.to_ascii_lowercase().contains("error") {
        content.insert_str(0, "Error: ");
    }
    let id = fields.required_string("tool_use_id")?;
    Ok(Message { tool_call_id: Some(id), ..Message::new(Role::Tool, content) })
}

fn result_part(path: String, item: Value) -> Result<String, ApiError> {
    let mut fields = Fields::new(path, item)?;
    match fields.required_string("type")?.as_str() {
        "text" => fields.required_string("text"),
        kind @ ("document" | "search_result") => document(kind, &mut fields),
        "tool_reference" => fields.required_string("tool_name"),
        kind => Err(no_such_block(&fields, kind, Role::Tool)),
    }
}

/// Plain text with its title; other sources cannot be read.
fn document(kind: &str, fields: &mut Fields) -> Result<String, ApiError> {
    let title = fields.string("title")?;
    let text = if kind == "search_result" {
        let source = fields.required_string("source")?;
        let path = fields.path("content");
        format!("{source}\n{}", texts(path, fields.take("content").unwrap_or_default())?)
    } else {
        let Some(mut source) = fields.object("source")? else {
            return Err(ApiError::invalid(fields.path("source"), "is required and must be an object"));
        };
        match source.required_string("type")?.as_str() {
            "text" => source.required_string("data")?,
            "content" => {
                let path = source.path("content");
                texts(path, source.take("content").unwrap_or_default())?
            }
            other => {
                let detail = format!("documents of type {other:?} cannot be read; send their text");
                return Err(ApiError::unsupported(source.path("type"), detail));
            }
        }
    };
    Ok(title.map_or_else(|| text.clone(), |title| format!("{title}\n{text}")))
}

fn texts(path: String, value: Value) -> Result<String, ApiError> {
    match value {
        Value::String(text) => Ok(text),
        Value::Array(items) => {
            let texts: Result<Vec<String>, _> =
                items.into_iter().enumerate().map(|(idx, item)| text(format!("{path}[{idx}]"), item)).collect();
            Ok(texts?.join("\n"))
        }
        other => Err(must_be(path, "a string or an array of text blocks", &other)),
    }
}

/// A block that must be text.
///
/// # Errors
/// When it is not.
pub fn text(path: String, item: Value) -> Result<String, ApiError> {
    let mut fields = Fields::new(path, item)?;
    match fields.required_string("type")?.as_str() {
        "text" => fields.required_string("text"),
        other => {
            let detail = format!("only text can stand here, not a block of type {other:?}; send text blocks");
            Err(ApiError::unsupported(fields.path("type"), detail))
        }
    }
}
