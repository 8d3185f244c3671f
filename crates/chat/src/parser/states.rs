//! The states inside a call.

use super::{
    OutputParser, Place, Step,
    call::Arguments,
    element::ElementValue,
    gemma::{self, GemmaValue},
    header::{self, Message},
    json_call,
    json_value::{JsonValue, Progress},
    output::Region,
    scan::{self, Breaks, Found, More},
};
use crate::formats::{Body, Goto, NameStyle, Read, Rule, State, ValueStyle};

mod wrapped;

/// Longest name, key or id.
const WORD_MAX: usize = 256;
/// The tool whose actions are written like calls of their own.
const COMPUTER: &str = "computer";
/// What may stand around names and keys.
const QUOTES: [char; 2] = ['"', '\''];
/// Longest text held before a call's name is known.
const RAW_MAX: usize = 1 << 20;

/// Where arguments lead, how they open, and how they are read.
type Notation = (Goto, char, fn(&mut JsonValue, char, &mut String) -> Progress);

impl OutputParser {
    pub(super) fn state_step(&mut self, idx: usize, text: &str, more: More) -> Step {
        let Some(state) = self.machine.and_then(|format| format.states.get(idx)) else {
            self.place = Place::Region;
            return Step::Read(0);
        };
        if self.call.raw.len() > RAW_MAX {
            self.go(Goto::Reject);
            return Step::Read(0);
        }
        match state.body {
            Body::Layout => self.layout(state, text, more),
            Body::Name(_) | Body::Id | Body::Key | Body::Skip | Body::HarmonyHeader { .. } => {
                self.word(state, text, more)
            }
            Body::Value(style) => self.value(state, style, (text, more)),
            Body::JsonArguments { done } => self.arguments(state, (done, '{', JsonValue::push), (text, more)),
            Body::PythonArguments { done } => self.arguments(state, (done, '(', JsonValue::push_python), (text, more)),
            Body::JsonCall { done } => self.json_call(state, done, (text, more)),
            Body::Elements { before_tags } => self.elements(state, before_tags, (text, more)),
            Body::GemmaArguments { done } => self.gemma_arguments(state, done, (text, more)),
        }
    }

    fn layout(&mut self, state: &State, text: &str, more: More) -> Step {
        let n_space = text.len() - text.trim_start().len();
        if n_space > 0 {
            if !state.is_after_call() {
                self.call.note(&text[..n_space]);
            }
            return Step::Read(n_space);
        }
        self.rule_or(state, text, more)
    }

    /// Follows the rule whose terminal stands here, or leaves by the state's other way.
    fn rule_or(&mut self, state: &State, text: &str, more: More) -> Step {
        match scan::at_start(text, state.rules.iter(), more) {
            Found::Terminal(idx) => self.follow(state, &state.rules[idx], 0),
            Found::Partial => Step::Wait,
            Found::Nothing
                if more == More::Ended && state.is_after_call() && scan::is_beginning(text, state.rules.iter()) =>
            {
                Step::Read(text.len())
            }
            Found::Nothing => {
                self.go(state.otherwise);
                Step::Read(0)
            }
        }
    }

    /// Leaves a state by a rule; `n_before` bytes before the terminal are used up with it.
    fn follow(&mut self, state: &State, rule: &Rule, n_before: usize) -> Step {
        if rule.read == Read::Past {
            self.call.note(rule.on);
        }
        match self.leave(state.body) {
            Some(to) => self.go(to),
            None => {
                self.act(rule.act);
                self.go(rule.to);
            }
        }
        Step::Read(n_before + rule.n_read())
    }

    /// Uses what a body has read; tells where to go if it decides that itself.
    fn leave(&mut self, body: Body) -> Option<Goto> {
        let word = std::mem::take(&mut self.call.word);
        match body {
            Body::Name(style) => {
                let (name, id) = split_name(word.trim(), style);
                let is_declared = self.tools.is_declared(name);
                let is_action = !is_declared
                    && matches!(style, NameStyle::Action)
                    && self.tools.is_declared(COMPUTER)
                    && !name.is_empty();
                if !is_declared && !is_action {
                    return Some(Goto::Reject);
                }
                self.call.action = is_action.then(|| name.to_owned());
                self.call.name = if is_action { COMPUTER.to_owned() } else { name.to_owned() };
                if let Some(id) = id {
                    self.call.id = Some(id.to_owned());
                }
            }
            Body::Id => self.call.id = Some(word.trim().to_owned()).filter(|id| !id.is_empty()),
            Body::Key => self.call.key = word.trim().trim_matches(QUOTES).to_owned(),
            Body::Value(_) => {
                let mut text = String::new();
                self.call.plain().end(&mut text);
                self.call.emit(&mut self.output, &text);
            }
            Body::HarmonyHeader { call } => return Some(self.leave_header(&word, call)),
            _ => {}
        }
        None
    }

    fn leave_header(&mut self, word: &str, call: usize) -> Goto {
        self.call.raw.clear();
        match header::parse(word) {
            Message::Call(name) if self.tools.is_declared(&name) => {
                self.call.name = name;
                Goto::State(call)
            }
            Message::Reasoning => {
                self.region = Region::Reasoning;
                Goto::Reject
            }
            Message::Text | Message::Call(_) => Goto::Text,
        }
    }

    /// Starts a member whose key has been read.
    pub(super) fn begin_value(&mut self, style: ValueStyle) {
        let key = std::mem::take(&mut self.call.key);
        let kind = self.tools.kind(&self.call.name, &key);
        let mut text = String::new();
        self.call.plain().begin(&key, (kind, style), &mut text);
        self.call.emit(&mut self.output, &text);
    }

    /// A name, key, id or header, up to a terminal.
    fn word(&mut self, state: &State, text: &str, more: More) -> Step {
        let hit = scan::first(text, state.rules.iter(), Breaks::None, more);
        if let Some(hit) = hit.filter(|hit| hit.at == 0) {
            return match hit.found {
                Found::Terminal(idx) => self.follow(state, &state.rules[idx], 0),
                _ => Step::Wait,
            };
        }
        let n = hit.map_or(text.len(), |hit| hit.at);
        for (at, character) in text[..n].char_indices() {
            self.call.word.push(character);
            if !self.is_possible_word(state.body) {
                self.go(state.otherwise);
                return Step::Read(at);
            }
            self.call.note(character.encode_utf8(&mut [0; 4]));
        }
        Step::Read(n)
    }

    /// Whether the word so far may become what the body asks for.
    fn is_possible_word(&self, body: Body) -> bool {
        let word = &self.call.word;
        match body {
            _ if word.len() > WORD_MAX => false,
            Body::Name(NameStyle::Action) if self.tools.is_declared(COMPUTER) => {
                word.chars().all(|character| character.is_alphanumeric() || character == '_' || character == ' ')
            }
            Body::Name(style) => self.tools.could_be(partial_name(word.trim_start(), style)),
            _ => true,
        }
    }

    fn value(&mut self, state: &State, style: ValueStyle, (text, more): (&str, More)) -> Step {
        let breaks = match style {
            ValueStyle::OwnLines => match self.call.plain().open_lines(text, more) {
                Some(0) => return Step::Wait,
                Some(n) => return Step::Read(n),
                None => self.call.plain().breaks(),
            },
            _ => Breaks::None,
        };
        let hit = scan::first(text, state.rules.iter(), breaks, more);
        if let Some(hit) = hit.filter(|hit| hit.at == 0) {
            return match hit.found {
                Found::Terminal(idx) => self.follow(state, &state.rules[idx], hit.n_breaks),
                _ => Step::Wait,
            };
        }
        let n = hit.map_or(text.len(), |hit| hit.at);
        let mut out = String::new();
        self.call.plain().push(&text[..n], &mut out);
        self.call.emit(&mut self.output, &out);
        Step::Read(n)
    }

    /// Arguments in one piece, from their opening bracket to the closing one.
    fn arguments(&mut self, state: &State, (done, open, push): Notation, (text, more): (&str, More)) -> Step {
        if matches!(self.call.arguments, Arguments::Plain(_)) {
            // Members have begun: an object after them has no place.
            return self.stray(state, (text, more), 0);
        }
        if !matches!(self.call.arguments, Arguments::Json(_)) {
            if let Some(step) = self.wrapped_arguments((done, open), text, more) {
                return step;
            }
            if !text.starts_with(open) {
                return self.layout(state, text, more);
            }
            self.open_call();
            let mut value = JsonValue::of_arguments(self.tools.names(&self.call.name));
            if let Some(action) = self.call.action.take() {
                let mut out = String::new();
                for character in format!("(action='{action}',").chars() {
                    value.push_python(character, &mut out);
                }
                self.call.emit(&mut self.output, &out);
                self.call.arguments = Arguments::Json(value);
                return Step::Read(open.len_utf8());
            }
            self.call.arguments = Arguments::Json(value);
        }
        let mut out = String::new();
        let (n, progress) = match &mut self.call.arguments {
            Arguments::Json(value) => push_while(text, |character| push(value, character, &mut out)),
            _ => (0, Progress::More),
        };
        self.call.emit(&mut self.output, &out);
        match progress {
            Progress::More => Step::Read(n),
            Progress::Done => self.complete(done, n),
            Progress::Stray => self.stray(state, (&text[n..], more), n),
        }
    }

    /// The arguments are complete, and with them the call.
    fn complete(&mut self, done: Goto, n: usize) -> Step {
        self.call.arguments = Arguments::Done;
        self.call.end(&mut self.output);
        self.go(done);
        Step::Read(n)
    }

    /// A character that the arguments cannot hold, `n` bytes on: a terminal of the state, or garbage to skip.
    fn stray(&mut self, state: &State, (text, more): (&str, More), n: usize) -> Step {
        match scan::at_start(text, state.rules.iter(), more) {
            Found::Terminal(idx) => self.follow(state, &state.rules[idx], n),
            Found::Partial if n > 0 => Step::Read(n),
            Found::Partial => Step::Wait,
            Found::Nothing => Step::Read(n + text.chars().next().map_or(0, char::len_utf8)),
        }
    }

    fn json_call(&mut self, state: &State, done: Goto, (text, more): (&str, More)) -> Step {
        for (at, character) in text.char_indices() {
            let step = self.call.json_call.push(character);
            let end = at + character.len_utf8();
            match step {
                json_call::Step::More | json_call::Step::Done => {
                    self.call.note(&text[at..end]);
                    if !self.advance_json_call(step) {
                        self.go(Goto::Reject);
                        return Step::Read(end);
                    }
                }
                json_call::Step::Stray => {
                    self.drain_json_call();
                    return self.stray(state, (&text[at..], more), at);
                }
                json_call::Step::Reject => {
                    self.go(if self.call.is_open() { Goto::Back } else { Goto::Reject });
                    return Step::Read(at);
                }
            }
            if step == json_call::Step::Done {
                self.drain_json_call();
                self.call.end(&mut self.output);
                self.go(done);
                return Step::Read(end);
            }
        }
        self.drain_json_call();
        Step::Read(text.len())
    }

    /// Starts the call as soon as its name and the beginning of its arguments are there; false if it is none.
    fn advance_json_call(&mut self, step: json_call::Step) -> bool {
        if self.call.is_open() {
            return true;
        }
        let Some(name) = self.call.json_call.name.as_deref() else { return true };
        let bare = name.strip_prefix("functions.").filter(|bare| self.tools.is_declared(bare));
        let name = bare.unwrap_or(name);
        if !self.tools.is_declared(name) {
            return false;
        }
        if self.call.json_call.has_arguments || step == json_call::Step::Done {
            self.call.name = name.to_owned();
            self.call.id = self.call.json_call.id.take();
            self.start_call();
        }
        true
    }

    fn drain_json_call(&mut self) {
        if self.call.is_open() {
            let text = std::mem::take(&mut self.call.json_call.arguments);
            self.call.emit(&mut self.output, &text);
        }
    }

    /// Arguments as nested elements; a terminal of the state ends them.
    fn elements(&mut self, state: &State, before_tags: &'static str, (text, more): (&str, More)) -> Step {
        if !matches!(self.call.arguments, Arguments::Elements(_)) {
            let schema = self.tools.schema(&self.call.name).cloned().unwrap_or_default();
            self.call.arguments = Arguments::Elements(ElementValue::new(before_tags, schema));
        }
        match scan::at_start(text, state.rules.iter(), more) {
            Found::Terminal(idx) => return self.follow(state, &state.rules[idx], 0),
            Found::Partial => return Step::Wait,
            Found::Nothing => {}
        }
        let Arguments::Elements(value) = &mut self.call.arguments else { return Step::Wait };
        let mut out = String::new();
        let n = value.read(text, more, &mut out);
        self.call.emit(&mut self.output, &out);
        n.map_or(Step::Wait, Step::Read)
    }

    fn gemma_arguments(&mut self, state: &State, done: Goto, (text, more): (&str, More)) -> Step {
        if !matches!(self.call.arguments, Arguments::Gemma(_)) {
            self.call.arguments = Arguments::Gemma(GemmaValue::default());
        }
        let Arguments::Gemma(value) = &mut self.call.arguments else { return Step::Wait };
        let mut out = String::new();
        let read = value.read(text, more, &mut out);
        self.call.emit(&mut self.output, &out);
        match read {
            gemma::Read::Bytes(n) => Step::Read(n),
            gemma::Read::Done(n) => self.complete(done, n),
            gemma::Read::Wait => Step::Wait,
            gemma::Read::Stray => self.stray(state, (text, more), 0),
        }
    }
}

/// Feeds characters until one does more than go on; tells how many bytes were taken.
fn push_while(text: &str, mut push: impl FnMut(char) -> Progress) -> (usize, Progress) {
    for (at, character) in text.char_indices() {
        match push(character) {
            Progress::More => {}
            Progress::Done => return (at + character.len_utf8(), Progress::Done),
            Progress::Stray => return (at, Progress::Stray),
        }
    }
    (text.len(), Progress::More)
}

/// A complete name, and the id in it.
fn split_name(word: &str, style: NameStyle) -> (&str, Option<&str>) {
    match style {
        NameStyle::Plain => (word.trim_matches(QUOTES), None),
        NameStyle::Action => (word, None),
        NameStyle::Kimi => {
            let name = word.strip_prefix("functions.").unwrap_or(word);
            (name.rsplit_once(':').map_or(name, |(name, _)| name), Some(word))
        }
    }
}

/// What is there of a name that is still arriving.
fn partial_name(word: &str, style: NameStyle) -> &str {
    match style {
        NameStyle::Plain => word.trim_start_matches(QUOTES).trim_end().trim_end_matches(QUOTES),
        NameStyle::Action => word,
        NameStyle::Kimi if "functions.".starts_with(word) => "",
        NameStyle::Kimi => {
            let name = word.strip_prefix("functions.").unwrap_or(word);
            name.rsplit_once(':').map_or(name, |(name, _)| name)
        }
    }
}
