//! Arguments as pairs of plain text: written as a JSON object while they come.

use super::{
    json_value::{JsonValue, Progress, is_json, json_literal, push_escaped, quoted},
    schema::ValueKind,
};
use crate::formats::ValueStyle;

/// Longest value held until its type is known; longer ones become strings.
const HELD_MAX: usize = 1 << 20;

/// Writes an object member by member.
#[derive(Clone, Debug, Default)]
pub(super) struct PlainArguments {
    n_members: usize,
    value: Option<OpenValue>,
}

/// The value that is being read.
#[derive(Clone, Debug)]
struct OpenValue {
    kind: ValueKind,
    style: ValueStyle,
    /// Whether no text has come yet, so that the first newline may belong to the tags.
    at_start: bool,
    /// Text of a value that may be something else than a string.
    held: String,
}

impl PlainArguments {
    /// Starts a member.
    pub fn begin(&mut self, key: &str, (kind, style): (ValueKind, ValueStyle), out: &mut String) {
        out.push_str(if self.n_members == 0 { "{" } else { ", " });
        self.n_members += 1;
        let kind = match style {
            ValueStyle::Text => ValueKind::Text,
            ValueStyle::Json => ValueKind::Json,
            ValueStyle::Exact | ValueStyle::OwnLines => kind,
        };
        out.push_str(&quoted(key));
        out.push_str(if kind == ValueKind::Text { ": \"" } else { ": " });
        self.value = Some(OpenValue { kind, style, at_start: true, held: String::new() });
    }

    /// Takes a piece of the value. Strings go out at once, others when they are complete.
    pub fn push(&mut self, text: &str, out: &mut String) {
        let Some(value) = &mut self.value else { return };
        let mut text = text;
        if value.at_start && !text.is_empty() {
            value.at_start = false;
            if matches!(value.style, ValueStyle::OwnLines) {
                text = text.strip_prefix('\n').unwrap_or(text);
            }
        }
        if value.kind == ValueKind::Text {
            return push_escaped(out, text);
        }
        value.held.push_str(text);
        if value.held.len() > HELD_MAX {
            out.push('"');
            push_escaped(out, &std::mem::take(&mut value.held));
            value.kind = ValueKind::Text;
        }
    }

    /// Ends the value.
    pub fn end(&mut self, out: &mut String) {
        match self.value.take() {
            Some(OpenValue { kind: ValueKind::Text, .. }) => out.push('"'),
            Some(value) => out.push_str(&typed(&value.held)),
            None => {}
        }
    }

    /// Ends the object; a value that is still open ends with it.
    pub fn finish(&mut self, out: &mut String) {
        self.end(out);
        out.push_str(if self.n_members == 0 { "{}" } else { "}" });
    }
}

/// The text itself where it is JSON, or Python's way to write the same, else a string of it.
pub(super) fn typed(text: &str) -> String {
    let trimmed = text.trim();
    if let Some(literal) = json_literal(trimmed) {
        return literal.to_owned();
    }
    if is_json(trimmed) {
        return trimmed.to_owned();
    }
    python_literal(trimmed).unwrap_or_else(|| quoted(text))
}

/// JSON of a Python list or dict.
fn python_literal(text: &str) -> Option<String> {
    let mut value = JsonValue::default();
    let mut out = String::new();
    let mut progress = Progress::More;
    for character in text.starts_with(['[', '{']).then_some(text)?.chars() {
        if progress == Progress::Done {
            return None;
        }
        progress = value.push(character, &mut out);
        if progress == Progress::Stray {
            return None;
        }
    }
    (progress == Progress::Done && is_json(&out)).then_some(out)
}
