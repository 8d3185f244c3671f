//! Model output to events: one push machine that runs the tables of [`formats`](crate::formats).
//!
//! Parsing never fails, takes linear time and gives the same events however the text is cut. Held back are only the
//! beginning of a terminal, and a call up to its tool's name, since it may turn out to be prose.

mod call;
mod gemma;
mod header;
mod json_call;
mod json_value;
mod output;
mod plain;
mod scan;
mod schema;
mod states;

use crate::{
    Event, FinishReason, OutputFormat, Tool,
    formats::{Act, Body, Goto, Read, ReasoningFormat, Rule, State, ToolFormat},
};
use call::Call;
use output::{Output, Region};
use scan::{Found, More};
use schema::Tools;

/// Most whitespace held between the start of the output and what it begins with.
const SPACE_MAX: usize = 64;
/// Most steps without reading; tables need at most three.
const IDLE_STEPS_MAX: usize = 8;

/// Turns a model's text into events.
#[derive(Debug)]
pub struct OutputParser {
    format: Option<&'static ToolFormat>,
    tools: Tools,
    entries: Entries,
    region: Region,
    place: Place,
    /// Whether only whitespace stands since the start, the last call or the last turn from or to reasoning.
    is_fresh: bool,
    /// Whether that whitespace belongs to the markup.
    drops_space: bool,
    space: String,
    call: Call,
    pending: String,
    output: Output,
}

/// What a conversation says about the output to come.
#[derive(Clone, Copy, Debug, Default)]
pub struct OutputOptions<'a> {
    /// Declared tools. Only they can be called; without any, calls stay text.
    pub tools: &'a [Tool],
    /// The prompt's last characters ([`TextModel::prompt_tail`](crate::TextModel::prompt_tail)): they tell whether
    /// reasoning is open already.
    pub prompt_tail: &'a str,
    /// Makes the calls' ids; another one for each output.
    pub id_seed: u64,
}

/// Where the next character belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Region,
    State(usize),
}

/// What a step did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Read so many bytes; 0 when only the place has changed.
    Read(usize),
    /// More text decides.
    Wait,
}

impl OutputParser {
    /// A parser at the start of an output.
    pub fn new(format: &OutputFormat, options: &OutputOptions<'_>) -> Self {
        let tools = Tools::new(options.tools);
        let is_thinking = format.reasoning.is_some_and(|reasoning| reasoning.is_open_after(options.prompt_tail));
        let active = format.tools.filter(|format| format.has_reasoning || !tools.is_empty());
        Self {
            format: active,
            tools,
            entries: Entries::new(active, format.reasoning),
            region: if is_thinking { Region::Reasoning } else { Region::Text },
            place: Place::Region,
            is_fresh: true,
            drops_space: is_thinking,
            space: String::new(),
            call: Call::new(options.id_seed),
            pending: String::new(),
            output: Output::default(),
        }
    }

    /// Takes the next piece of text.
    pub fn push(&mut self, text: &str) -> Vec<Event> {
        self.run(text, More::Coming);
        self.output.take()
    }

    /// Ends the output. A call that the model ended too early is completed; one that was cut off by the limit is not.
    pub fn finish(mut self, reason: FinishReason) -> Vec<Event> {
        self.run("", More::Ended);
        if self.call.is_open() {
            if reason != FinishReason::Length {
                self.call.end(&mut self.output);
            }
        } else if self.place != Place::Region {
            self.reject();
        }
        self.flush_space();
        let reason =
            if reason == FinishReason::Stop && self.call.n_calls > 0 { FinishReason::ToolCalls } else { reason };
        self.output.event(Event::Finish(reason));
        self.output.take()
    }

    /// Whether the output stands inside reasoning.
    pub fn is_reasoning(&self) -> bool {
        self.region == Region::Reasoning
    }

    /// Bytes read that no event has yet: they may turn out to be text, or markup.
    pub fn n_held(&self) -> usize {
        let n_raw = if self.call.is_open() { 0 } else { self.call.raw.len() };
        self.pending.len() + self.space.len() + n_raw
    }

    fn run(&mut self, text: &str, more: More) {
        let mut input = std::mem::take(&mut self.pending);
        input.push_str(text);
        let (mut at, mut n_idle) = (0, 0);
        while at < input.len() {
            let rest = &input[at..];
            let step = match self.place {
                Place::Region => self.region_step(rest, more),
                Place::State(idx) => self.state_step(idx, rest, more),
            };
            match step {
                Step::Read(0) if n_idle < IDLE_STEPS_MAX => n_idle += 1,
                Step::Wait if more == More::Coming => break,
                Step::Wait | Step::Read(0) => {
                    let n = rest.chars().next().map_or(1, char::len_utf8);
                    self.output.text(self.region, &rest[..n]);
                    (at, n_idle) = (at + n, 0);
                }
                Step::Read(n) => (at, n_idle) = (at + n, 0),
            }
        }
        self.pending = input.split_off(at);
    }

    /// Text or reasoning: passes it on up to the next terminal.
    fn region_step(&mut self, text: &str, more: More) -> Step {
        if self.is_fresh {
            return self.fresh_step(text, more);
        }
        let entries = self.entries.of(self.region, Freshness::Stale);
        // The newlines before a tag belong to it; harmony's messages are exact.
        let n_newlines = if self.format.is_some_and(|format| format.has_reasoning) { 0 } else { 2 };
        let Some(hit) = scan::first(text, entries.iter().map(|entry| &entry.rule), n_newlines, more) else {
            self.output.text(self.region, text);
            return Step::Read(text.len());
        };
        if hit.at > 0 {
            self.output.text(self.region, &text[..hit.at]);
            return Step::Read(hit.at);
        }
        match hit.found {
            Found::Terminal(idx) => {
                let entry = entries[idx];
                self.enter(entry, &text[..hit.n_newlines]);
                Step::Read(hit.n_newlines + entry.rule.n_read())
            }
            Found::Partial | Found::Nothing => Step::Wait,
        }
    }

    /// The first characters of a region: whitespace, then perhaps a terminal that counts only here.
    fn fresh_step(&mut self, text: &str, more: More) -> Step {
        if let Some(space) = text.chars().next().filter(|character| character.is_whitespace()) {
            if !self.drops_space {
                self.space.push(space);
            }
            if self.space.len() > SPACE_MAX {
                self.leave_fresh();
            }
            return Step::Read(space.len_utf8());
        }
        let entries = self.entries.of(self.region, Freshness::Fresh);
        match scan::at_start(text, entries.iter().map(|entry| &entry.rule), more) {
            Found::Terminal(idx) => {
                let entry = entries[idx];
                self.enter(entry, "");
                Step::Read(entry.rule.n_read())
            }
            Found::Partial => Step::Wait,
            Found::Nothing => {
                self.leave_fresh();
                Step::Read(0)
            }
        }
    }

    fn leave_fresh(&mut self) {
        self.flush_space();
        self.is_fresh = false;
        self.drops_space = false;
    }

    fn flush_space(&mut self) {
        let space = std::mem::take(&mut self.space);
        self.output.text(self.region, &space);
    }

    /// Acts on a terminal; `newlines` stand before it.
    fn enter(&mut self, entry: Entry, newlines: &str) {
        match entry.lead {
            Lead::Format => {
                self.call.raw = std::mem::take(&mut self.space) + newlines;
                if entry.rule.read == Read::Past {
                    self.call.raw.push_str(entry.rule.on);
                }
                self.go(entry.rule.to);
            }
            Lead::Reasoning => self.turn(Region::Reasoning),
            Lead::Answer => self.turn(Region::Text),
            Lead::Nowhere => self.turn(self.region),
        }
    }

    fn turn(&mut self, region: Region) {
        self.region = region;
        self.place = Place::Region;
        self.is_fresh = true;
        self.drops_space = true;
        self.space.clear();
    }

    /// Moves on; a call that is still open where it leaves the format ends there.
    fn go(&mut self, to: Goto) {
        if !matches!(to, Goto::State(_)) && self.call.is_open() {
            self.call.end(&mut self.output);
        }
        match to {
            Goto::State(idx) => {
                self.place = Place::State(idx);
                self.call.begin_body();
                match self.format.map(|format| &format.states[idx]) {
                    Some(State { body: Body::Value(style), .. }) => self.begin_value(*style),
                    Some(state) if state.is_after_call() => self.call.raw.clear(),
                    _ => {}
                }
            }
            Goto::Back => {
                self.call.raw.clear();
                self.turn(self.region);
            }
            Goto::Text => {
                self.call.raw.clear();
                self.speak(Region::Text);
            }
            Goto::Reject => self.reject(),
        }
    }

    /// Goes on in a region whose text counts from its first character.
    fn speak(&mut self, region: Region) {
        self.turn(region);
        self.leave_fresh();
    }

    /// It was no call: its text goes out, but for harmony's markers, which are never text.
    fn reject(&mut self) {
        let mut raw = std::mem::take(&mut self.call.raw);
        self.call.id = None;
        if let Some(format) = self.format.filter(|format| format.has_reasoning) {
            for rule in format.entries {
                raw = raw.replace(rule.on, "");
            }
        }
        self.output.text(self.region, &raw);
        self.speak(self.region);
    }

    fn act(&mut self, act: Act) {
        if matches!(act, Act::Start | Act::Whole) || (act == Act::End && !self.call.is_open()) {
            self.call.start(self.format, &mut self.output);
        }
        if matches!(act, Act::End | Act::Whole) {
            self.call.end(&mut self.output);
        }
    }
}

/// Terminals that count in text and reasoning.
#[derive(Debug)]
struct Entries {
    text: Vec<Entry>,
    fresh_text: Vec<Entry>,
    reasoning: Vec<Entry>,
    fresh_reasoning: Vec<Entry>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    rule: Rule,
    lead: Lead,
}

/// Where an entry leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lead {
    /// Into the tool format, by its rule.
    Format,
    /// From text to reasoning.
    Reasoning,
    /// From reasoning to text.
    Answer,
    /// Nowhere: a tag that the prompt has written already.
    Nowhere,
}

/// Whether only whitespace stands before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Freshness {
    Fresh,
    Stale,
}

impl Entries {
    fn new(format: Option<&ToolFormat>, reasoning: Option<&ReasoningFormat>) -> Self {
        let of =
            |rules: &[Rule]| rules.iter().map(|rule| Entry { rule: *rule, lead: Lead::Format }).collect::<Vec<_>>();
        let tag = |on, lead| Entry { rule: Rule::new(on, Goto::Back), lead };
        let (text, fresh) =
            format.map_or((Vec::new(), Vec::new()), |format| (of(format.entries), of(format.fresh_entries)));
        let pair = |open, close| reasoning.map(|tags| [tag(tags.open, open), tag(tags.close, close)]);
        let opening = pair(Lead::Reasoning, Lead::Nowhere).into_iter().flatten();
        let reopening = pair(Lead::Nowhere, Lead::Answer).into_iter().flatten();
        let closing = reasoning.map(|tags| tag(tags.close, Lead::Answer));
        Self {
            fresh_text: text.iter().copied().chain(fresh).chain(opening).collect(),
            fresh_reasoning: text.iter().copied().chain(reopening).collect(),
            reasoning: text.iter().copied().chain(closing).collect(),
            text,
        }
    }

    fn of(&self, region: Region, freshness: Freshness) -> &[Entry] {
        match (region, freshness) {
            (Region::Text, Freshness::Fresh) => &self.fresh_text,
            (Region::Text, Freshness::Stale) => &self.text,
            (Region::Reasoning, Freshness::Fresh) => &self.fresh_reasoning,
            (Region::Reasoning, Freshness::Stale) => &self.reasoning,
        }
    }
}

impl Rule {
    /// Bytes that the rule uses up.
    fn n_read(&self) -> usize {
        if self.read == Read::Past { self.on.len() } else { 0 }
    }
}

#[cfg(test)]
#[path = "parser_tests.rs"]
mod tests;
