//! Where a checkpoint keeps its chat templates.

use std::path::Path;

use serde_json::Value;

use super::TemplateError;
use crate::{
    files::{read_json, read_text},
    tokenizer_config::TokenizerConfig,
};

/// Largest template accepted; the longest known are under 40 kB.
const TEMPLATE_BYTES_MAX: u64 = 4 << 20;

/// Template sources of a checkpoint.
pub(super) struct Sources {
    pub default: String,
    /// For conversations with tools.
    pub tool_use: Option<String>,
}

/// Looks in `chat_template.jinja`, then `tokenizer_config.json`, then `chat_template.json`.
pub(super) fn find(dir: &Path, config: &TokenizerConfig) -> Result<Option<Sources>, TemplateError> {
    if let Some(default) = read_text(&dir.join("chat_template.jinja"), TEMPLATE_BYTES_MAX)? {
        let tool_use = dir.join("additional_chat_templates").join("tool_use.jinja");
        return Ok(Some(Sources { default, tool_use: read_text(&tool_use, TEMPLATE_BYTES_MAX)? }));
    }
    if let Some(template) = &config.chat_template {
        return parse("tokenizer_config.json", template).map(Some);
    }
    match read_json(&dir.join("chat_template.json"), TEMPLATE_BYTES_MAX)? {
        Some(Value::Object(fields)) => match fields.get("chat_template") {
            Some(template) => parse("chat_template.json", template).map(Some),
            None => Err(malformed("chat_template.json", "it has no field chat_template")),
        },
        Some(_) => Err(malformed("chat_template.json", "it is not an object")),
        None => Ok(None),
    }
}

/// A string, or a list of `{name, template}`.
fn parse(file: &'static str, value: &Value) -> Result<Sources, TemplateError> {
    match value {
        Value::String(default) => Ok(Sources { default: default.clone(), tool_use: None }),
        Value::Array(named) => {
            let get = |wanted: &str| {
                let entry = named.iter().find(|entry| entry["name"] == wanted)?;
                entry["template"].as_str().map(str::to_owned)
            };
            let only = || named.first()?["template"].as_str().map(str::to_owned);
            let default = get("default").or_else(|| (named.len() == 1).then(only).flatten());
            let default = default.ok_or_else(|| malformed(file, "none of its templates is named default"))?;
            Ok(Sources { default, tool_use: get("tool_use") })
        }
        _ => Err(malformed(file, "chat_template is neither a string nor a list")),
    }
}

fn malformed(file: &'static str, detail: &str) -> TemplateError {
    TemplateError::Malformed { file, detail: detail.to_owned() }
}
