//! A JSON value as it arrives, passed on with the smallest repairs that keep it JSON.

mod comments;
mod inner_quotes;
mod python;

use comments::Comment;
use python::PythonString;

/// Deepest nesting followed.
const DEPTH_MAX: usize = 256;
/// Longest number or literal.
const WORD_MAX: usize = 64;
/// What Python puts before some strings.
const STRING_PREFIXES: [&str; 8] = ["r", "b", "f", "u", "R", "B", "F", "U"];

/// Follows one JSON value. It passes the text on as it is, but for: control characters, bad escapes and quotes in strings
/// (escaped), stray commas and comments (dropped), missing commas, colons and values (added), bare words (quoted), Python's
/// `True`, `False` and `None`, single-quoted strings, and missing closers at the end. So what comes out is JSON.
#[derive(Clone, Debug, Default)]
pub(super) struct JsonValue {
    /// Open brackets.
    stack: Vec<char>,
    wants: Wants,
    /// The quote that ends the string, while inside one.
    quote: Option<char>,
    is_key: bool,
    /// The quote that may have ended the string, until what follows tells.
    closing: Option<char>,
    /// Whitespace after that quote.
    spaces: String,
    /// An escape in a string, until it is complete.
    escape: String,
    /// A number or literal, until it ends.
    word: String,
    /// A comma and the whitespace after it, until a value follows.
    comma: String,
    /// What is skipped, if anything.
    comment: Comment,
    /// The latest character.
    last: char,
    /// How strings are read where Python's may come.
    python: Option<PythonString>,
    /// Open dictionaries whose members are arguments of a Python call.
    n_spread: usize,
    /// Names of arguments that a Python call may give by their place.
    names: std::vec::IntoIter<String>,
}

/// What a place in the value asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Wants {
    #[default]
    Value,
    Key,
    Colon,
    /// A comma or a closer.
    Comma,
}

/// What a character did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// The value goes on.
    More,
    /// The value is complete with this character.
    Done,
    /// The character has no place in JSON; nothing has changed.
    Stray,
}

impl JsonValue {
    /// The arguments of a call; `names` are those that it may give by their place.
    pub fn of_arguments(names: Vec<String>) -> Self {
        Self { names: names.into_iter(), ..Self::default() }
    }

    /// Takes one character and appends to `out` what is certain.
    pub fn push(&mut self, character: char, out: &mut String) -> Progress {
        let progress = self.push_any(character, out);
        self.last = character;
        progress
    }

    fn push_any(&mut self, character: char, out: &mut String) -> Progress {
        if self.closing.is_some() {
            return self.push_after_quote(character, out);
        }
        if self.quote.is_none() && self.skips(character) {
            return Progress::More;
        }
        match self.quote {
            None if self.has_string() => self.push_after_string(character, out),
            Some(_) if !self.escape.is_empty() => self.push_escape(character, out),
            Some(quote) => self.push_in_string(character, quote, out),
            None => self.push_outside(character, out),
        }
    }

    /// Appends whatever makes the text so far a complete value.
    pub fn complete(&mut self, out: &mut String) {
        self.escape.clear();
        if self.quote.is_some() || self.closing.is_some() || self.has_string() {
            self.end_string(out);
        }
        self.flush_word(out);
        while let Some(open) = self.stack.last().copied() {
            self.close(open, out);
        }
    }

    fn push_in_string(&mut self, character: char, quote: char, out: &mut String) -> Progress {
        if self.python.is_some() && self.holds_quote(character, quote, out) {
            return Progress::More;
        }
        match character {
            '\\' => self.escape.push('\\'),
            _ if character == quote && (self.is_key || self.stack.is_empty()) => return self.end_string(out),
            _ if character == quote => self.may_close(quote),
            _ => push_escaped_char(out, character),
        }
        Progress::More
    }

    fn push_escape(&mut self, character: char, out: &mut String) -> Progress {
        let is_unicode = self.escape.len() > 1;
        match character {
            '\'' if !is_unicode => out.push('\''),
            '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' if !is_unicode => out.extend(['\\', character]),
            'u' | 'x' | 'U' if !is_unicode => {
                self.escape.push(character);
                return Progress::More;
            }
            _ if is_unicode && character.is_ascii_hexdigit() => {
                self.escape.push(character);
                if self.escape.len() < escape_len(&self.escape) {
                    return Progress::More;
                }
                push_code(out, &self.escape);
            }
            _ => {
                // No escape of JSON: the backslash is meant as one, and the character is read as any other.
                push_escaped(out, &std::mem::take(&mut self.escape));
                return self.push(character, out);
            }
        }
        self.escape.clear();
        Progress::More
    }

    fn end_string(&mut self, out: &mut String) -> Progress {
        self.quote = None;
        self.closing = None;
        self.spaces.clear();
        self.python.iter_mut().for_each(PythonString::end);
        out.push('"');
        if self.is_key {
            self.wants = Wants::Colon;
            return Progress::More;
        }
        self.after_value()
    }

    fn push_outside(&mut self, character: char, out: &mut String) -> Progress {
        match character {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '+' | '-' | '.' | '_' => return self.push_word(character),
            ' ' | '\t' | '\n' | '\r' => self.push_space(character, out),
            '"' | '\'' => {
                if STRING_PREFIXES.contains(&self.word.as_str()) {
                    self.word.clear();
                }
                self.name_by_place(out);
                self.begin(out);
                self.is_key = self.wants == Wants::Key;
                self.quote = Some(character);
                self.begin_python_string();
                out.push('"');
            }
            '{' | '[' => {
                self.flush_word(out);
                self.name_by_place(out);
                if self.stack.len() >= DEPTH_MAX || self.wants_key() {
                    return Progress::Stray;
                }
                self.begin(out);
                self.stack.push(character);
                out.push(character);
                self.wants = if character == '{' { Wants::Key } else { Wants::Value };
            }
            '}' | ']' if self.stack.last().is_some_and(|open| closer(*open) == character) => {
                self.name_word_by_place(out);
                self.flush_word(out);
                if let Some(open) = self.stack.last().copied() {
                    return self.close(open, out);
                }
            }
            ',' if !self.stack.is_empty() => self.push_comma(out),
            ':' => {
                self.flush_word(out);
                if self.wants != Wants::Colon {
                    return Progress::Stray;
                }
                self.wants = Wants::Value;
                out.push(':');
            }
            _ => return Progress::Stray,
        }
        Progress::More
    }

    /// Whether a key must come next, perhaps after a comma that is missing.
    fn wants_key(&self) -> bool {
        self.wants == Wants::Key || (self.wants == Wants::Comma && self.stack.last() == Some(&'{'))
    }

    fn push_word(&mut self, character: char) -> Progress {
        if self.word.len() >= WORD_MAX || self.stack.is_empty() {
            return Progress::Stray;
        }
        self.word.push(character);
        Progress::More
    }

    fn push_space(&mut self, character: char, out: &mut String) {
        self.flush_word(out);
        if self.comma.is_empty() { out.push(character) } else { self.comma.push(character) }
    }

    fn push_comma(&mut self, out: &mut String) {
        self.name_word_by_place(out);
        self.flush_word(out);
        self.fill(out);
        if self.wants == Wants::Comma {
            self.comma.push(',');
            self.wants = self.next_member();
        }
    }

    fn next_member(&self) -> Wants {
        if self.stack.last() == Some(&'{') { Wants::Key } else { Wants::Value }
    }

    fn flush_word(&mut self, out: &mut String) {
        if self.word.is_empty() {
            return;
        }
        let word = std::mem::take(&mut self.word);
        if !is_name(&word) {
            self.name_by_place(out);
        }
        self.begin(out);
        if self.wants == Wants::Key {
            out.push_str(&quoted(&word));
            self.wants = Wants::Colon;
            return;
        }
        match json_literal(&word) {
            Some(literal) => out.push_str(literal),
            None if is_json(&word) => out.push_str(&word),
            None => out.push_str(&json_number(&word).unwrap_or_else(|| quoted(&word))),
        }
        self.wants = Wants::Comma;
    }

    /// Writes what must stand before a key or value.
    fn begin(&mut self, out: &mut String) {
        self.flush_word(out);
        out.push_str(&std::mem::take(&mut self.comma));
        match self.wants {
            Wants::Colon => {
                out.push(':');
                self.wants = Wants::Value;
            }
            Wants::Comma => {
                out.push(',');
                self.wants = self.next_member();
            }
            Wants::Value | Wants::Key => {}
        }
    }

    /// Writes the value that a key or colon still asks for.
    fn fill(&mut self, out: &mut String) {
        let is_object = self.stack.last() == Some(&'{');
        match self.wants {
            Wants::Colon => out.push_str(":null"),
            Wants::Value if is_object => out.push_str("null"),
            _ => return,
        }
        self.wants = Wants::Comma;
    }

    fn close(&mut self, open: char, out: &mut String) -> Progress {
        self.fill(out);
        self.comma.clear();
        self.stack.pop();
        out.push(closer(open));
        self.after_value()
    }

    fn after_value(&mut self) -> Progress {
        self.wants = Wants::Comma;
        if self.stack.is_empty() { Progress::Done } else { Progress::More }
    }
}

fn closer(open: char) -> char {
    if open == '{' { '}' } else { ']' }
}

/// Whether a word may be an argument's name.
fn is_name(word: &str) -> bool {
    !word.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) && json_literal(word).is_none()
}

/// JSON's word for a literal of Python.
pub(super) fn json_literal(word: &str) -> Option<&'static str> {
    match word {
        "True" => Some("true"),
        "False" => Some("false"),
        "None" => Some("null"),
        _ => None,
    }
}

/// A number that JSON does not write so: `+3`, `.5`, `5.`, `1_000`.
pub(super) fn json_number(word: &str) -> Option<String> {
    let (sign, digits) = match word.strip_prefix(['+', '-']) {
        Some(digits) => (if word.starts_with('-') { "-" } else { "" }, digits),
        None => ("", word),
    };
    let is_grouped = |part: &str| part.split('_').all(|group| group.starts_with(|c: char| c.is_ascii_digit()));
    let digits = if digits.contains('_') && is_grouped(digits) { digits.replace('_', "") } else { digits.to_owned() };
    let digits = if digits.starts_with('.') { format!("0{digits}") } else { digits };
    let digits = if digits.ends_with('.') { format!("{digits}0") } else { digits };
    let number = format!("{sign}{digits}");
    let is_number = digits.starts_with(|c: char| c.is_ascii_digit()) && is_json(&number);
    is_number.then_some(number)
}

/// Length of an escape of Python or JSON by its first letter, backslash included.
fn escape_len(escape: &str) -> usize {
    match escape.as_bytes().get(1) {
        Some(b'x') => 4,
        Some(b'U') => 10,
        _ => 6,
    }
}

/// Writes an escape of a character by its number: JSON's own as it is.
fn push_code(out: &mut String, escape: &str) {
    if escape.starts_with("\\u") {
        return out.push_str(escape);
    }
    let code = u32::from_str_radix(&escape[2..], 16).ok().and_then(char::from_u32);
    match code {
        Some(character) => push_escaped_char(out, character),
        None => push_escaped(out, escape),
    }
}

/// A JSON string of `text`.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    push_escaped(&mut out, text);
    out.push('"');
    out
}

/// Appends `text` as the inside of a JSON string.
pub(super) fn push_escaped(out: &mut String, text: &str) {
    text.chars().for_each(|character| push_escaped_char(out, character));
}

fn push_escaped_char(out: &mut String, character: char) {
    match character {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\0'..'\u{20}' => out.push_str(&format!("\\u{:04x}", character as u32)),
        _ => out.push(character),
    }
}

/// Whether a text is one JSON value.
pub(super) fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}
