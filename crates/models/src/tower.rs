//! The text part of a checkpoint that also sees or hears: its settings and its tensors, as a text-only checkpoint has them.

use serde_json::{Map, Value};

/// Where config.json keeps the text part's settings.
pub const CONFIGS: &[&str] = &["text_config", "llm_config", "language_config"];

/// What names of the text part's tensors start with, and what they would start with alone.
const PREFIXES: &[(&str, &str)] =
    &[("model.language_model.", "model."), ("language_model.", ""), ("model.text_model.", "model.")];

/// What names of the other parts' tensors start with, after an optional `model.`.
const OTHERS: &[&str] = &[
    "audio_tower.",
    "embed_audio.",
    "embed_vision.",
    "mm_projector.",
    "multi_modal_projector.",
    "vision_embed_tokens.",
    "vision_embedder.",
    "vision_model.",
    "vision_tower.",
    "visual.",
];

/// Settings of the text part, with those that a checkpoint keeps beside it; `None` when it has no part of its own.
pub fn config(whole: &Value) -> Option<Value> {
    let text = CONFIGS.iter().find_map(|name| whole.get(name)).and_then(Value::as_object)?;
    let is_setting = |(name, value): &(&String, &Value)| {
        !value.is_object() || matches!(name.as_str(), "quantization" | "quantization_config")
    };
    let mut merged: Map<String, Value> = whole.as_object()?.iter().filter(is_setting).map(owned).collect();
    // What is unset there is set outside.
    merged.extend(text.iter().filter(|(_, value)| !value.is_null()).map(owned));
    Some(Value::Object(merged))
}

fn owned((name, value): (&String, &Value)) -> (String, Value) {
    (name.clone(), value.clone())
}

/// A tensor's or module's name in a text-only checkpoint; `None` when it belongs to another part.
pub fn text_name(name: &str) -> Option<String> {
    let inner = name.strip_prefix("model.").unwrap_or(name);
    if OTHERS.iter().any(|other| inner.starts_with(other)) {
        return None;
    }
    let renamed = PREFIXES.iter().find_map(|(prefix, alone)| Some(format!("{alone}{}", name.strip_prefix(prefix)?)));
    Some(renamed.unwrap_or_else(|| name.to_owned()))
}

#[cfg(test)]
#[path = "tower_tests.rs"]
mod tests;
