//! What `/v1/completions` continues: text, token ids, or several of either.

use serde_json::Value;
use tokbar_chat::Prompt;

use crate::ApiError;
use crate::fields::{Fields, must_be, whole};

const FORMS: &str = "a string, an array of strings, an array of token ids, or an array of such arrays";

/// The prompts, each with its suffix if one is given.
///
/// # Errors
/// Names the prompt of the wrong type, or the reason why a suffix cannot be had.
pub fn prompts(fields: &mut Fields) -> Result<Vec<Prompt>, ApiError> {
    let prompts = match fields.take("prompt") {
        None => return Err(ApiError::invalid("prompt", format!("is required: {FORMS}"))),
        Some(Value::String(text)) => vec![Prompt::Text(text)],
        Some(Value::Array(items)) => several(items)?,
        Some(other) => return Err(must_be("prompt".to_owned(), FORMS, &other)),
    };
    match fields.string("suffix")?.filter(|suffix| !suffix.is_empty()) {
        None => Ok(prompts),
        Some(suffix) => prompts.into_iter().map(|prompt| infill(prompt, &suffix)).collect(),
    }
}

fn several(items: Vec<Value>) -> Result<Vec<Prompt>, ApiError> {
    match items.first() {
        None => Err(ApiError::invalid("prompt", format!("must not be empty: {FORMS}"))),
        Some(Value::Number(_)) => Ok(vec![Prompt::Tokens(tokens("prompt", &items)?)]),
        Some(_) => items.into_iter().enumerate().map(|(idx, item)| one(format!("prompt[{idx}]"), item)).collect(),
    }
}

fn one(path: String, item: Value) -> Result<Prompt, ApiError> {
    match item {
        Value::String(text) => Ok(Prompt::Text(text)),
        Value::Array(items) => Ok(Prompt::Tokens(tokens(&path, &items)?)),
        other => Err(must_be(path, "a string or an array of token ids", &other)),
    }
}

fn tokens(path: &str, items: &[Value]) -> Result<Vec<u32>, ApiError> {
    let token = |(idx, item): (usize, &Value)| {
        let id = whole(item).and_then(|id| u32::try_from(id).ok());
        id.ok_or_else(|| ApiError::invalid(format!("{path}[{idx}]"), format!("must be a token id, not {item}")))
    };
    items.iter().enumerate().map(token).collect()
}

fn infill(prompt: Prompt, suffix: &str) -> Result<Prompt, ApiError> {
    match prompt {
        Prompt::Text(prefix) => Ok(Prompt::Infill { prefix, suffix: suffix.to_owned() }),
        _ => Err(ApiError::unsupported("suffix", "it goes with prompts that are text, not token ids")),
    }
}
