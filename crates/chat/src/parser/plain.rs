//! Arguments as pairs of plain text: written as a JSON object while they come.

use super::{
    json_value::{JsonValue, Progress, is_json, json_literal, push_escaped, quoted},
    scan::{Breaks, More},
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
    /// Whether no text has come yet, so that the first line break may belong to the tags.
    at_start: bool,
    /// The line breaks at its end that belong to the tags: such as stood at its start.
    breaks: Breaks,
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
        self.value = Some(OpenValue { kind, at_start: true, breaks: Breaks::Lf(1), held: String::new() });
    }

    /// Bytes of the line break at the value's start; 0 while more text decides, `None` where the value has begun.
    pub fn open_lines(&mut self, text: &str, more: More) -> Option<usize> {
        let value = self.value.as_mut().filter(|value| value.at_start)?;
        if text == "\r" && more == More::Coming {
            return Some(0);
        }
        value.at_start = false;
        if text.starts_with("\r\n") {
            value.breaks = Breaks::Any(1);
            return Some(2);
        }
        text.starts_with('\n').then_some(1)
    }

    /// The line breaks that belong to the tag after the value.
    pub fn breaks(&self) -> Breaks {
        self.value.as_ref().map_or(Breaks::None, |value| value.breaks)
    }

    /// Takes a piece of the value. Strings go out at once, others when they are complete.
    pub fn push(&mut self, text: &str, out: &mut String) {
        let Some(value) = &mut self.value else { return };
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
