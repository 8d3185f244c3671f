//! The smallest safe repairs of arguments that do not fit their tool's schema: a list around a lone value, the JSON in a
//! string, a string around a number. Top-level members only; everything else passes as it is.

use std::collections::HashMap;

use serde_json::Value;

use super::json_value::json_number;

/// Longest value held for a repair; a longer one passes as it is.
const HELD_MAX: usize = 1 << 20;

/// What a schema wants of an argument.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Want {
    #[default]
    Any,
    /// A string.
    Text,
    /// A number, truth value or object.
    Json,
    /// A list; of strings or of anything else.
    List { of_text: bool },
}

/// Reads the JSON of one call's arguments as it is written, and passes on what should stand there.
#[derive(Clone, Debug, Default)]
pub(super) struct Repair {
    wants: HashMap<String, Want>,
    depth: usize,
    in_string: bool,
    is_escaped: bool,
    /// The member's key with its quotes, while and after it is read.
    key: String,
    is_key: bool,
    want: Want,
    /// A value that may be repaired, until it ends.
    held: Option<String>,
    /// Whether a list has been opened around the value.
    is_wrapped: bool,
    /// Whether the member's value has begun.
    in_value: bool,
}

impl Repair {
    pub fn new(wants: HashMap<String, Want>) -> Self {
        Self { wants, ..Self::default() }
    }

    pub fn push(&mut self, json: &str, out: &mut String) {
        for character in json.chars() {
            self.step(character, out);
        }
    }

    /// The arguments end here; held text goes out.
    pub fn finish(&mut self, out: &mut String) {
        self.end_value(out);
    }

    fn step(&mut self, character: char, out: &mut String) {
        if self.in_string {
            self.in_string_step(character, out);
            return;
        }
        match character {
            '"' => {
                self.in_string = true;
                if self.depth == 1 && !self.in_value && self.want_key() {
                    self.is_key = true;
                    self.key.clear();
                    self.key.push('"');
                    out.push('"');
                    return;
                }
                self.begin_value(character, out);
            }
            ':' if self.depth == 1 && !self.in_value => {
                let key = serde_json::from_str::<String>(&self.key).unwrap_or_default();
                self.want = self.wants.get(&key).copied().unwrap_or_default();
                self.is_key = false;
                out.push(':');
                self.key.clear();
                self.key.push(':');
                return;
            }
            ',' | '}' if self.depth == 1 => {
                self.end_value(out);
                self.key.clear();
                self.depth -= usize::from(character == '}');
                out.push(character);
                return;
            }
            '{' | '[' => {
                self.begin_value(character, out);
                self.depth += 1;
            }
            '}' | ']' => self.depth = self.depth.saturating_sub(1),
            ' ' | '\n' | '\t' | '\r' if !self.in_value => {
                out.push(character);
                return;
            }
            _ => self.begin_value(character, out),
        }
        self.put(character, out);
    }

    /// Whether the next string at the top level is a key.
    fn want_key(&self) -> bool {
        self.key != ":"
    }

    fn in_string_step(&mut self, character: char, out: &mut String) {
        let ends = character == '"' && !self.is_escaped;
        self.is_escaped = character == '\\' && !self.is_escaped;
        self.in_string = !ends;
        if self.is_key {
            self.key.push(character);
            self.is_key = !ends;
            out.push(character);
        } else {
            self.put(character, out);
        }
    }

    fn put(&mut self, character: char, out: &mut String) {
        let Some(held) = &mut self.held else { return out.push(character) };
        held.push(character);
        if held.len() > HELD_MAX {
            out.push_str(held);
            self.held = None;
        }
    }

    /// The first character of a member's value decides whether it fits.
    fn begin_value(&mut self, first: char, out: &mut String) {
        if self.depth != 1 || self.in_value {
            return;
        }
        self.in_value = true;
        let is_scalar = !matches!(first, '"' | '{' | '[' | 'n');
        match (self.want, first) {
            (Want::Json | Want::List { .. }, '"') => self.held = Some(String::new()),
            (Want::Text, _) if is_scalar => self.held = Some(String::new()),
            (Want::List { .. }, _) if is_scalar || first == '{' => {
                self.is_wrapped = true;
                out.push('[');
            }
            _ => {}
        }
    }

    fn end_value(&mut self, out: &mut String) {
        if let Some(held) = self.held.take() {
            out.push_str(&repaired(self.want, &held));
        }
        if std::mem::take(&mut self.is_wrapped) {
            out.push(']');
        }
        self.in_value = false;
        self.want = Want::Any;
    }
}

/// What a value that does not fit becomes.
fn repaired(want: Want, held: &str) -> String {
    if want == Want::Text {
        return Value::from(held.trim_end()).to_string();
    }
    let inner = serde_json::from_str::<String>(held).ok();
    let text = inner.as_deref().unwrap_or_default().trim();
    // The text stays as it is: numbers may have more digits than fit.
    match (want, serde_json::from_str::<Value>(text).ok()) {
        (Want::Json, Some(value)) if !value.is_string() && !value.is_array() => text.to_owned(),
        (Want::Json, None) => loose_word(text).unwrap_or_else(|| held.to_owned()),
        (Want::List { .. }, Some(value)) if value.is_array() => text.to_owned(),
        (Want::List { of_text: true }, _) if inner.is_some() => format!("[{held}]"),
        _ => held.to_owned(),
    }
}

/// A truth value in any case, or a number that JSON writes in another way.
fn loose_word(text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    if matches!(lower.as_str(), "true" | "false") { Some(lower) } else { json_number(text) }
}

#[cfg(test)]
#[path = "repair_tests.rs"]
mod tests;
