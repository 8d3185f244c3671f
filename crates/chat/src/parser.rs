//! Model output to events: one push machine that runs the tables of [`formats`](crate::formats).
//!
//! Parsing never fails, takes linear time and gives the same events however the text is cut. Held back are only the
//! beginning of a terminal, and a call up to its tool's name, since it may turn out to be prose.

mod call;
mod element;
mod entries;
mod fence;
mod gemma;
mod header;
mod json_call;
mod json_value;
mod output;
mod plain;
mod repair;
mod scan;
mod schema;
mod states;

use crate::{
    Event, FinishReason, OutputFormat, Tool,
    formats::{Act, Body, Goto, Read, Rule, Scope, State, ToolFormat, loose},
};
use call::{Arguments, Call};
use entries::{Entries, Entry, Freshness, Lead, Recovery};
use fence::Fence;
use output::{Output, Region};
use scan::{Breaks, Found, More};
use schema::Tools;

/// Most whitespace held between the start of the output and what it begins with.
const SPACE_MAX: usize = 64;
/// Most steps without reading; tables need at most three.
const IDLE_STEPS_MAX: usize = 8;

/// Turns a model's text into events.
#[derive(Debug)]
pub struct OutputParser {
    format: Option<&'static ToolFormat>,
    /// Whose states are run: the family's, or those of loose calls.
    machine: Option<&'static ToolFormat>,
    tools: Tools,
    fence: Fence,
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
        let active = format.tools.filter(|format| format.scope != Scope::Calls || !tools.is_empty());
        // Messages with headers of their own leave no room for calls outside of them.
        let is_loose = !tools.is_empty() && active.is_none_or(|format| format.scope == Scope::Calls);
        let recovery = if is_loose { Recovery::On } else { Recovery::Off };
        let opened = active.into_iter().flat_map(|format| format.opened_by);
        let tail = options.prompt_tail.trim_end();
        let place =
            opened.copied().find(|(end, _)| tail.ends_with(end)).map_or(Place::Region, |(_, idx)| Place::State(idx));
        Self {
            format: active,
            tools,
            entries: Entries::new(active, format.reasoning, recovery),
            machine: active,
            fence: Fence::default(),
            region: if is_thinking { Region::Reasoning } else { Region::Text },
            place,
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
        } else if reason == FinishReason::Stop && self.wants_arguments() {
            self.start_call();
            self.call.end(&mut self.output);
        } else if self.place != Place::Region {
            self.reject_at_end();
        }
        self.flush_space();
        let reason =
            if reason == FinishReason::Stop && self.call.n_calls > 0 { FinishReason::ToolCalls } else { reason };
        self.output.event(Event::Finish(reason));
        self.output.take()
    }

    /// Whether a call's name has been read and no arguments have come.
    fn wants_arguments(&self) -> bool {
        let Place::State(idx) = self.place else { return false };
        let state = self.machine.and_then(|format| format.states.get(idx));
        state.is_some_and(|state| matches!(state.body, Body::JsonArguments { .. }))
            && matches!(self.call.arguments, Arguments::None)
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
                    self.say(&rest[..n]);
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
        if self.format.is_some_and(ToolFormat::has_reasoning) && self.is_cut_mark(text, entries, more) {
            return Step::Read(text.len());
        }
        // The newlines before a tag belong to it; messages between markers are exact.
        let breaks = match self.format.map_or(Scope::Calls, |format| format.scope) {
            Scope::Channels => Breaks::None,
            Scope::Text if self.region == Region::Text => Breaks::None,
            Scope::Text | Scope::Calls => Breaks::Any(2),
        };
        let Some(hit) = scan::first(text, entries.iter().map(|entry| &entry.rule), breaks, more) else {
            self.say(text);
            return Step::Read(text.len());
        };
        if hit.at > 0 {
            self.say(&text[..hit.at]);
            return Step::Read(hit.at);
        }
        match hit.found {
            Found::Terminal(idx) => {
                let entry = entries[idx];
                let n = hit.n_breaks + entry.rule.on.len();
                self.fence.read(&text[..hit.n_breaks]);
                if self.is_quoted(entry) {
                    let is_open = self.fence;
                    self.output.text(self.region, &text[..hit.n_breaks]);
                    self.fence = is_open;
                    self.say(&text[hit.n_breaks..n]);
                    return Step::Read(n);
                }
                self.enter(entry, &text[..hit.n_breaks]);
                Step::Read(hit.n_breaks + entry.rule.n_read())
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
        if self.is_cut_mark(text, entries, more) {
            return Step::Read(text.len());
        }
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

    /// Whether nothing but the beginning of a mark stands at the end, after a call: the output was cut off inside it.
    fn is_cut_mark(&self, text: &str, entries: &[Entry], more: More) -> bool {
        more == More::Ended
            && self.call.n_calls > 0
            && scan::is_beginning(text, entries.iter().map(|entry| &entry.rule))
    }

    fn leave_fresh(&mut self) {
        self.flush_space();
        self.is_fresh = false;
        self.drops_space = false;
    }

    fn flush_space(&mut self) {
        let space = std::mem::take(&mut self.space);
        self.say(&space);
    }

    /// Acts on a terminal; `newlines` stand before it.
    fn enter(&mut self, entry: Entry, newlines: &str) {
        match entry.lead {
            Lead::Format | Lead::Loose => {
                self.machine = if entry.lead == Lead::Loose { Some(&loose::FORMAT) } else { self.format };
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

    /// Whether a terminal stands in a code block of the answer: an example.
    fn is_quoted(&self, entry: Entry) -> bool {
        let is_markup = self.format.is_none_or(|format| format.scope == Scope::Calls);
        self.fence.is_open
            && self.region == Region::Text
            && is_markup
            && matches!(entry.lead, Lead::Format | Lead::Loose)
    }

    fn turn(&mut self, region: Region) {
        self.fence = Fence::default();
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
                match self.machine.map(|format| &format.states[idx]) {
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
            Goto::Reasoning => {
                self.call.raw.clear();
                self.speak(Region::Reasoning);
            }
            Goto::Reject => self.reject(),
        }
    }

    /// Goes on in a region whose text counts from its first character.
    fn speak(&mut self, region: Region) {
        self.turn(region);
        self.leave_fresh();
    }

    /// It was no call: its text goes out, but for markers of messages, which are never text.
    fn reject(&mut self) {
        let mut raw = std::mem::take(&mut self.call.raw);
        self.call.id = None;
        if let Some(format) = self.format.filter(|format| format.has_reasoning()) {
            for rule in format.entries {
                raw = raw.replace(rule.on, "");
            }
        }
        self.say(&raw);
        self.speak(self.region);
    }

    /// Starts the call unless it has been started.
    fn open_call(&mut self) {
        if !self.call.is_open() {
            self.start_call();
        }
    }

    fn start_call(&mut self) {
        let wants = self.tools.wants(&self.call.name);
        self.call.start(self.format, wants, &mut self.output);
    }

    /// Passes text on, and follows the code blocks in it.
    fn say(&mut self, text: &str) {
        if self.region == Region::Text {
            self.fence.read(text);
        }
        self.output.text(self.region, text);
    }

    fn act(&mut self, act: Act) {
        if matches!(act, Act::Start | Act::Whole) || (act == Act::End && !self.call.is_open()) {
            self.start_call();
        }
        if matches!(act, Act::End | Act::Whole) {
            self.call.end(&mut self.output);
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
