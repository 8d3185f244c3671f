//! The arguments of a Python call. A string may stand between three quotes, strings side by side are one, and members may be
//! those of a dictionary: `(a=1, **{"b": 2})`.

use super::{JsonValue, Progress, comments::Comment, inner_quotes::goes_on, push_escaped_char, quoted};

/// Most whitespace kept after a string.
const SPACES_MAX: usize = 64;

/// How a string of Python is read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PythonString {
    state: State,
    /// Whether the latest quotes have nothing between them.
    is_empty: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// None is open, or one between single quotes.
    #[default]
    Plain,
    /// Between three quotes, so many of which have come that may be the closing ones.
    Triple(usize),
    /// Perhaps closed by this quote; whitespace and another may follow.
    Closed(char),
    /// Closed by three quotes.
    ClosedTriple,
}

impl PythonString {
    pub(super) fn end(&mut self) {
        *self = Self::default();
    }
}

impl JsonValue {
    /// Takes one character of a Python call's arguments, parentheses included: `(a="x", b=1)` is `{"a": "x", "b": 1}`.
    pub fn push_python(&mut self, character: char, out: &mut String) -> Progress {
        self.python.get_or_insert_default();
        if self.quote.is_none() && self.comment == Comment::None && self.spreads(character, out) {
            self.last = character;
            return Progress::More;
        }
        let innermost = self.stack.last().copied();
        let character = match (character, innermost) {
            _ if self.quote.is_some() => character,
            ('(', None) => '{',
            // A call inside, such as `dict(a=1)`, is an object of its arguments.
            ('(', Some(_)) if !self.word.is_empty() && self.wants == super::Wants::Value => {
                self.word.clear();
                '{'
            }
            ('(', Some(_)) => '[',
            (')', Some('{')) => '}',
            (')', _) => ']',
            ('=', Some('{')) => ':',
            _ => character,
        };
        self.push(character, out)
    }

    /// Whether a character outside of strings only says that a dictionary's members are arguments.
    fn spreads(&mut self, character: char, out: &mut String) -> bool {
        let is_outermost = self.stack.len() == 1;
        match character {
            '*' => is_outermost && self.word.is_empty() && self.wants == super::Wants::Key,
            '{' if is_outermost && self.last == '*' => {
                self.n_spread += 1;
                true
            }
            '}' if is_outermost && self.n_spread > 0 => {
                self.n_spread -= 1;
                if self.has_string() {
                    self.end_string(out);
                }
                self.flush_word(out);
                self.fill(out);
                true
            }
            _ => false,
        }
    }

    /// Before a value of a call that has no name: the name of its place, if there is one.
    pub(super) fn name_by_place(&mut self, out: &mut String) {
        if self.python.is_none()
            || self.stack.len() != 1
            || self.n_spread > 0
            || !self.wants_key()
            || !self.word.is_empty()
        {
            return;
        }
        if let Some(name) = self.names.next() {
            self.begin(out);
            out.push_str(&quoted(&name));
            out.push(':');
            self.wants = super::Wants::Value;
        }
    }

    /// A word that ends here without a value of its own is one.
    pub(super) fn name_word_by_place(&mut self, out: &mut String) {
        if self.wants != super::Wants::Key || self.word.is_empty() {
            return;
        }
        let word = std::mem::take(&mut self.word);
        self.name_by_place(out);
        self.word = word;
    }

    /// Whether a string is closed that may go on.
    pub(super) fn has_string(&self) -> bool {
        self.python.is_some_and(|string| matches!(string.state, State::Closed(_) | State::ClosedTriple))
    }

    /// Inside a string: whether a character is a quote that may close it; quotes that turned out to be text are written.
    pub(super) fn holds_quote(&mut self, character: char, quote: char, out: &mut String) -> bool {
        let Some(string) = &mut self.python else { return false };
        match string.state {
            State::Triple(2) if character == quote => {
                string.state = State::ClosedTriple;
                self.quote = None;
                true
            }
            State::Triple(n) if character == quote => {
                string.state = State::Triple(n + 1);
                true
            }
            State::Triple(n) => {
                (0..n).for_each(|_| push_escaped_char(out, quote));
                string.state = State::Triple(0);
                false
            }
            _ if character == quote => {
                // An opening quote stands just before.
                string.is_empty = self.last == quote && string.is_empty;
                string.state = State::Closed(quote);
                self.quote = None;
                true
            }
            _ => {
                string.is_empty = false;
                false
            }
        }
    }

    /// After a string: a third quote opens a longer one, another string is part of it, and all else ends it.
    pub(super) fn push_after_string(&mut self, character: char, out: &mut String) -> Progress {
        let Some(string) = &mut self.python else { return Progress::More };
        match (string.state, character) {
            (State::Closed(quote), _) if character == quote && string.is_empty && self.spaces.is_empty() => {
                string.state = State::Triple(0);
                self.quote = Some(quote);
                Progress::More
            }
            (_, '"' | '\'') => {
                *string = PythonString { state: State::Plain, is_empty: true };
                self.spaces.clear();
                self.quote = Some(character);
                Progress::More
            }
            (_, ' ' | '\t' | '\n' | '\r') => {
                // Only whether there is any matters, and whether it breaks the line.
                if self.spaces.len() < SPACES_MAX || character == '\n' && !self.spaces.contains('\n') {
                    self.spaces.push(character);
                }
                Progress::More
            }
            (State::Closed(quote), _) if goes_on(&self.spaces, character) => {
                string.state = State::Plain;
                self.reopen(quote, out);
                self.push_in_string(character, quote, out)
            }
            _ => match self.end_string(out) {
                Progress::More => self.push_any(character, out),
                ended => ended,
            },
        }
    }

    /// Notes that a string begins.
    pub(super) fn begin_python_string(&mut self) {
        self.python.iter_mut().for_each(|string| *string = PythonString { state: State::Plain, is_empty: true });
    }
}
