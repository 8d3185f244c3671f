//! Gemma's arguments, `{path:<|"|>/tmp<|"|>,n:5}`, as JSON.

use super::{
    json_value::{JsonValue, Progress, is_json, json_literal, push_escaped, quoted},
    scan::More,
};

/// Stands on both sides of a string.
const QUOTE: &str = "<|\"|>";
/// Deepest nesting followed.
const DEPTH_MAX: usize = 64;
/// Longest key, number or literal.
const WORD_MAX: usize = 4096;

/// Follows one object of arguments.
#[derive(Clone, Debug, Default)]
pub(super) struct GemmaValue {
    stack: Vec<char>,
    in_string: bool,
    /// A string in plain quotes, as JSON has them, and its text where it is a key.
    quoted: Option<(JsonValue, String)>,
    /// A key, or a value without quotes, until it ends.
    word: String,
    is_key: bool,
    /// Members of the innermost bracket.
    n_members: usize,
    /// Whether a key has been read whose value has not.
    wants_value: bool,
}

/// How much of the text was read, and what came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Read {
    /// So many bytes.
    Bytes(usize),
    /// So many bytes, with which the value is complete.
    Done(usize),
    /// More text must come first.
    Wait,
    /// The character has no place here.
    Stray,
}

impl GemmaValue {
    /// Reads from the start of `text`, which is not empty.
    pub fn read(&mut self, text: &str, more: More, out: &mut String) -> Read {
        if self.quoted.is_some() {
            return self.plain_quotes(text, out);
        }
        if text.starts_with(QUOTE) {
            return self.quote(out);
        }
        if more == More::Coming && QUOTE.starts_with(text) {
            return Read::Wait;
        }
        if self.in_string {
            let n_first = text.chars().next().map_or(0, char::len_utf8);
            let n = text[n_first..].find('<').map_or(text.len(), |at| n_first + at);
            push_escaped(out, &text[..n]);
            return Read::Bytes(n);
        }
        self.outside(text, out)
    }

    /// Appends whatever makes the text so far a complete object.
    pub fn complete(&mut self, out: &mut String) {
        if let Some((json, key)) = &mut self.quoted {
            json.complete(if self.is_key { key } else { out });
            self.end_quotes();
        }
        if std::mem::take(&mut self.in_string) {
            out.push('"');
        } else if self.is_key && !self.word.trim().is_empty() {
            self.end_key(out);
        }
        self.end_word(out);
        if self.stack.is_empty() {
            out.push_str("{}");
        }
        while let Some(open) = self.stack.pop() {
            out.push(if open == '{' { '}' } else { ']' });
        }
    }

    fn quote(&mut self, out: &mut String) -> Read {
        if self.in_string {
            self.in_string = false;
            out.push('"');
        } else if !self.is_key && !self.stack.is_empty() && !self.wants_comma() {
            // What stands before a string has no place there.
            self.word.clear();
            self.begin_value(out);
            self.in_string = true;
            out.push('"');
        }
        // A key in quotes is written like one without.
        Read::Bytes(QUOTE.len())
    }

    fn outside(&mut self, text: &str, out: &mut String) -> Read {
        let Some(character) = text.chars().next() else { return Read::Wait };
        match character {
            '{' | '[' if self.can_nest() => {
                self.word.clear();
                self.begin_value(out);
                self.stack.push(character);
                out.push(character);
                self.is_key = character == '{';
                self.n_members = 0;
            }
            '}' | ']' if !self.stack.is_empty() => return self.close(out),
            ',' if !self.stack.is_empty() => {
                self.end_word(out);
                self.is_key = self.stack.last() == Some(&'{');
            }
            ':' if self.is_key => self.end_key(out),
            '"' if self.word.trim().is_empty() && !self.stack.is_empty() && !self.wants_comma() => {
                self.word.clear();
                let mut string = (JsonValue::default(), String::new());
                if !self.is_key {
                    self.begin_value(out);
                }
                string.0.push(character, if self.is_key { &mut string.1 } else { out });
                self.quoted = Some(string);
            }
            '<' => return Read::Stray,
            _ if self.wants_comma() => return Read::Stray,
            _ if self.stack.is_empty() || self.word.len() > WORD_MAX => return Read::Stray,
            _ => self.word.push(character),
        }
        Read::Bytes(character.len_utf8())
    }

    /// A string in plain quotes: a value goes out as it comes, a key once it is complete.
    fn plain_quotes(&mut self, text: &str, out: &mut String) -> Read {
        let Some((json, key)) = &mut self.quoted else { return Read::Bytes(0) };
        let out = if self.is_key { key } else { out };
        for (at, character) in text.char_indices() {
            if json.push(character, out) != Progress::More {
                self.end_quotes();
                return Read::Bytes(at + character.len_utf8());
            }
        }
        Read::Bytes(text.len())
    }

    fn end_quotes(&mut self) {
        if let Some((_, key)) = self.quoted.take().filter(|_| self.is_key) {
            self.word = serde_json::from_str(&key).unwrap_or(key);
        }
    }

    /// Whether a member is complete, so that a comma or closer must come.
    fn wants_comma(&self) -> bool {
        self.stack.last() == Some(&'{') && !self.is_key && !self.wants_value
    }

    fn can_nest(&self) -> bool {
        !self.is_key && self.word.trim().is_empty() && self.stack.len() < DEPTH_MAX && !self.wants_comma()
    }

    fn close(&mut self, out: &mut String) -> Read {
        self.end_word(out);
        let open = self.stack.pop();
        out.push(if open == Some('{') { '}' } else { ']' });
        self.is_key = false;
        self.n_members = 1;
        if self.stack.is_empty() { Read::Done(1) } else { Read::Bytes(1) }
    }

    fn end_key(&mut self, out: &mut String) {
        self.separate(out);
        out.push_str(&quoted(self.word.trim()));
        out.push_str(": ");
        self.word.clear();
        self.is_key = false;
        self.wants_value = true;
    }

    /// Commas stand before members, so that none is left over at the end.
    fn separate(&mut self, out: &mut String) {
        if self.n_members > 0 {
            out.push_str(", ");
        }
        self.n_members += 1;
    }

    fn begin_value(&mut self, out: &mut String) {
        if !std::mem::take(&mut self.wants_value) && !self.stack.is_empty() {
            self.separate(out);
        }
    }

    /// Writes a value without quotes: JSON as it is, anything else as a string. A key without a value gets `null`.
    fn end_word(&mut self, out: &mut String) {
        if self.is_key && !self.word.trim().is_empty() {
            self.end_key(out);
        }
        let word = std::mem::take(&mut self.word);
        let word = word.trim();
        if word.is_empty() {
            if std::mem::take(&mut self.wants_value) {
                out.push_str("null");
            }
            return;
        }
        self.begin_value(out);
        match json_literal(word) {
            Some(literal) => out.push_str(literal),
            None if is_json(word) => out.push_str(word),
            None => out.push_str(&quoted(word)),
        }
    }
}
