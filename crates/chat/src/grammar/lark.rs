//! Writes grammars in llguidance's dialect of Lark.

use std::fmt::Write;

use serde_json::{Value, json};

/// Rules written so far; their names are numbered.
#[derive(Debug, Default)]
pub(super) struct Lark {
    text: String,
    n_rules: usize,
}

/// How JSON may be spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spacing {
    /// On one line, with at most a space after commas and colons: the arguments of calls.
    Line,
    /// On one line or indented; runs of blanks are bounded, so that no model can go on with them for ever.
    Free,
}

/// One line break with its indentation, or a blank or two.
const BLANKS: &str = r"\r?\n[\x20\x09]{0,40}|[\x20\x09]{1,2}";

impl Lark {
    /// A rule by number; its body may name other rules.
    pub fn rule(&mut self, body: &str) -> String {
        let name = self.name("r");
        self.define(&name, body);
        name
    }

    /// A terminal by number: no rules in its body.
    pub fn terminal(&mut self, body: &str) -> String {
        let name = self.name("T");
        self.define(&name, body);
        name
    }

    /// A new name, for rules that refer to one another.
    pub fn name(&mut self, prefix: &str) -> String {
        self.n_rules += 1;
        format!("{prefix}{}", self.n_rules)
    }

    pub fn define(&mut self, name: &str, body: &str) {
        self.text.push_str(name);
        self.text.push_str(": ");
        self.text.push_str(body);
        self.text.push('\n');
    }

    /// A rule that matches JSON of a schema made ready.
    pub fn json(&mut self, schema: &Value, spacing: Spacing) -> String {
        let mut schema = if schema.is_object() { schema.clone() } else { json!({}) };
        schema["x-guidance"] = match spacing {
            Spacing::Line => json!({
                "whitespace_flexible": false, "item_separator": ", ?", "key_separator": ": ?", "lenient": true
            }),
            Spacing::Free => json!({ "whitespace_pattern": BLANKS, "lenient": true }),
        };
        self.rule(&format!("%json {schema}"))
    }

    /// The whole grammar, which begins at `start`.
    pub fn finish(mut self, start: &str) -> String {
        self.define("start", start);
        self.text
    }
}

/// A literal; the empty one is none.
pub(super) fn literal(text: &str) -> String {
    if text.is_empty() { String::new() } else { Value::from(text).to_string() }
}

/// A regular expression that matches just `text`, without slashes around it.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars() {
        match character {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if character.is_ascii_control() => push_code(&mut out, character),
            _ if r"\.+*?()|[]{}^$#&-~/".contains(character) => out.extend(['\\', character]),
            _ => out.push(character),
        }
    }
    out
}

fn push_code(out: &mut String, character: char) {
    if write!(out, "\\x{:02x}", character as u32).is_err() {
        out.push(character);
    }
}

/// Alternatives in parentheses.
pub(super) fn any_of(alternatives: &[String]) -> String {
    format!("({})", alternatives.join(" | "))
}
