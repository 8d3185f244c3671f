//! A call as one JSON object: `{"name": "zip", "arguments": {"a": 1}}`, in any order, or wrapped as OpenAI writes it.

use super::json_value::{JsonValue, Progress};

/// Longest arguments held while the name is not known.
const HELD_MAX: usize = 1 << 20;
/// What models call a call's name and arguments.
const NAMES: [&str; 4] = ["name", "function", "tool_name", "tool"];
const ARGUMENTS: [&str; 5] = ["arguments", "parameters", "args", "input", "params"];
/// Longest key or name.
const KEY_MAX: usize = 256;
/// Most objects around the call: `{"type": "function", "function": {...}}` has one.
const WRAPPERS_MAX: usize = 2;

/// Reads a call from its opening brace to its closing one.
#[derive(Clone, Debug, Default)]
pub(super) struct JsonCall {
    /// The name, once it is complete.
    pub name: Option<String>,
    /// The call's own id, if it has one.
    pub id: Option<String>,
    /// Arguments read and not taken away yet.
    pub arguments: String,
    /// Whether the arguments have begun.
    pub has_arguments: bool,
    /// Objects open around the place.
    n_open: usize,
    /// Objects of which the call itself is a value.
    n_wrappers: usize,
    phase: Phase,
    key: String,
    /// The quote that ends the key; `None` for a bare one.
    key_quote: Option<char>,
    value: JsonValue,
    text: String,
}

/// Where in the object the next character stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// Before the opening brace.
    #[default]
    Start,
    /// Before a key, a comma or the closing brace.
    Key,
    InKey,
    Colon,
    /// Before a value.
    Value,
    InName,
    InId,
    InArguments,
    /// Arguments as JSON text in a string.
    InArgumentsText,
    Skip,
    Done,
}

/// What a character did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    More,
    /// The call's object is complete.
    Done,
    /// The character has no place in the arguments' JSON; nothing has changed.
    Stray,
    /// It is no call.
    Reject,
}

impl JsonCall {
    pub fn push(&mut self, character: char) -> Step {
        // Once the name is known they are taken away after each piece, however long that is.
        if self.name.is_none() && self.arguments.len() > HELD_MAX || self.key.len() > KEY_MAX {
            return Step::Reject;
        }
        match self.phase {
            Phase::Start => self.expect('{', character),
            Phase::Key => self.push_between(character),
            Phase::InKey => self.push_key(character),
            Phase::Colon => self.push_colon(character),
            Phase::Value => self.begin_value(character),
            Phase::Done => Step::Done,
            _ => self.push_value(character),
        }
    }

    /// Completes arguments that stop too early.
    pub fn complete(&mut self) {
        if self.phase == Phase::InArguments {
            self.value.complete(&mut self.arguments);
        }
        self.phase = Phase::Done;
    }

    fn expect(&mut self, wanted: char, character: char) -> Step {
        if character != wanted {
            return if character.is_whitespace() { Step::More } else { Step::Reject };
        }
        self.n_open += 1;
        self.phase = Phase::Key;
        Step::More
    }

    fn push_between(&mut self, character: char) -> Step {
        match character {
            '"' | '\'' => {
                self.key.clear();
                self.key_quote = Some(character);
                self.phase = Phase::InKey;
            }
            'a'..='z' if !self.has_arguments => {
                self.key = character.to_string();
                self.key_quote = None;
                self.phase = Phase::InKey;
            }
            '}' => {
                self.n_open -= 1;
                if self.n_open == 0 {
                    self.phase = Phase::Done;
                    return if self.name.is_some() { Step::Done } else { Step::Reject };
                }
            }
            ',' => {}
            _ if character.is_whitespace() => {}
            _ => return if self.has_arguments && self.name.is_some() { Step::Stray } else { Step::Reject },
        }
        Step::More
    }

    fn push_key(&mut self, character: char) -> Step {
        match (character, self.key_quote) {
            (_, Some(quote)) if character == quote => self.phase = Phase::Colon,
            (':', None) => self.phase = Phase::Value,
            (_, None) if !character.is_ascii_alphabetic() && character != '_' => return Step::Reject,
            ('\\', _) => return Step::Reject,
            _ => self.key.push(character),
        }
        Step::More
    }

    fn push_colon(&mut self, character: char) -> Step {
        match character {
            ':' => self.phase = Phase::Value,
            _ if character.is_whitespace() => {}
            _ => return Step::Reject,
        }
        Step::More
    }

    fn begin_value(&mut self, character: char) -> Step {
        if character.is_whitespace() {
            return Step::More;
        }
        self.value = JsonValue::default();
        self.text.clear();
        let is_name = NAMES.contains(&self.key.as_str());
        let is_arguments = ARGUMENTS.contains(&self.key.as_str());
        self.phase = match (self.key.as_str(), character) {
            (_, '}' | ',') if is_arguments => {
                self.phase = Phase::Key;
                return self.push_between(character);
            }
            (_, '"' | '\'') if is_name && self.name.is_none() => Phase::InName,
            ("id" | "tool_call_id", '"' | '\'') => Phase::InId,
            ("function", '{') if self.n_wrappers < WRAPPERS_MAX => {
                self.n_wrappers += 1;
                self.n_open += 1;
                self.phase = Phase::Key;
                return Step::More;
            }
            (_, '{') if is_arguments && !self.has_arguments => Phase::InArguments,
            (_, '"' | '\'') if is_arguments && !self.has_arguments => Phase::InArgumentsText,
            (_, '[' | '0'..='9' | '-') if is_arguments => return Step::Reject,
            ("type" | "call_id" | "description" | "required", _) => Phase::Skip,
            _ if is_arguments => Phase::Skip,
            // A call's object has no other members before its name.
            _ if self.name.is_none() => return Step::Reject,
            _ => Phase::Skip,
        };
        self.has_arguments |= self.phase == Phase::InArguments;
        match (self.phase, character) {
            (Phase::Skip, 'a'..='z' | 'A'..='Z' | '0'..='9' | '-') => self.skip_word(character),
            _ => self.push_value(character),
        }
    }

    /// A number or literal outside the arguments ends at the next comma or brace.
    fn skip_word(&mut self, character: char) -> Step {
        match character {
            ',' | '}' => {
                self.phase = Phase::Key;
                self.push_between(character)
            }
            '"' | '{' | '[' | ':' => Step::Reject,
            _ => {
                self.text.push('w');
                if self.text.len() > KEY_MAX { Step::Reject } else { Step::More }
            }
        }
    }

    fn push_value(&mut self, character: char) -> Step {
        if self.phase == Phase::Skip && self.text.starts_with('w') {
            return self.skip_word(character);
        }
        let out = if self.phase == Phase::InArguments { &mut self.arguments } else { &mut self.text };
        match self.value.push(character, out) {
            Progress::More if self.text.len() > HELD_MAX => Step::Reject,
            Progress::More => Step::More,
            Progress::Stray if self.phase == Phase::InArguments => Step::Stray,
            Progress::Stray => Step::Reject,
            Progress::Done => self.end_value(),
        }
    }

    fn end_value(&mut self) -> Step {
        let text = || serde_json::from_str::<String>(&self.text).ok();
        match self.phase {
            Phase::InName => self.name = text(),
            Phase::InId => self.id = text().filter(|id| !id.is_empty() && id.len() <= KEY_MAX),
            Phase::InArgumentsText => match unwrapped(&self.text) {
                Some(text) => {
                    self.arguments = text;
                    self.has_arguments = true;
                }
                None => return Step::Reject,
            },
            _ => {}
        }
        let is_nameless = self.phase == Phase::InName && self.name.is_none();
        self.phase = Phase::Key;
        if is_nameless { Step::Reject } else { Step::More }
    }
}

/// The object that a JSON string has as its text; a blank one means none.
pub(super) fn unwrapped(string: &str) -> Option<String> {
    let text = serde_json::from_str::<String>(string).ok()?;
    let is_object = || serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&text).is_ok();
    if text.trim().is_empty() { Some("{}".to_owned()) } else { is_object().then_some(text) }
}
