//! Quotes inside strings that are not escaped: `{"size": "the "big" one"}`. What follows a quote tells whether it ends the string.

use super::{JsonValue, Progress, push_escaped_char};

/// Longest whitespace after a quote inside a text.
const SPACES_MAX: usize = 8;

impl JsonValue {
    /// A quote inside a value may be its end.
    pub(super) fn may_close(&mut self, quote: char) {
        self.quote = None;
        self.closing = Some(quote);
    }

    /// After such a quote: text goes on, or the string has ended.
    pub(super) fn push_after_quote(&mut self, character: char, out: &mut String) -> Progress {
        if matches!(character, ' ' | '\t') && self.spaces.len() < SPACES_MAX {
            self.spaces.push(character);
            return Progress::More;
        }
        let is_doubled = self.spaces.is_empty() && self.closing == Some(character);
        if let Some(quote) = self.closing.filter(|_| is_doubled || goes_on(&self.spaces, character)) {
            self.closing = None;
            self.reopen(quote, out);
            return self.push_any(character, out);
        }
        let spaces = std::mem::take(&mut self.spaces);
        match self.end_string(out) {
            Progress::More => {
                out.push_str(&spaces);
                self.push_any(character, out)
            }
            ended => ended,
        }
    }

    /// The quote was part of the text, and so is the whitespace after it.
    pub(super) fn reopen(&mut self, quote: char, out: &mut String) {
        self.quote = Some(quote);
        push_escaped_char(out, quote);
        std::mem::take(&mut self.spaces).chars().for_each(|space| push_escaped_char(out, space));
    }
}

/// Whether a text goes on with `next` after a quote and whitespace: nothing of JSON begins so there.
pub(super) fn goes_on(spaces: &str, next: char) -> bool {
    match spaces {
        "" => next.is_alphanumeric() || ".!?;'(&%-".contains(next),
        spaces => next.is_alphabetic() && !spaces.contains(['\n', '\r']),
    }
}
