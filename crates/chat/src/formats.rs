//! How families write tool calls and reasoning: one table of formats, each of which is data for the one
//! [`OutputParser`](crate::OutputParser).
//!
//! A tool format is a small machine: entries lead from text or reasoning into its states; in each state a body says what
//! the text means and rules say which terminal leads where.

mod apertus;
mod cohere;
mod deepseek_v3;
mod deepseek_v31;
mod deepseek_v32;
mod detection;
mod functionary;
mod gemma4;
mod glm47;
mod harmony;
mod hermes;
mod hy_v3;
mod k2_horizon;
mod kimi_k2;
mod kimi_k3;
mod lfm2;
mod llama3;
pub(crate) mod loose;
mod minicpm;
mod minimax;
mod minimax_m3;
mod mistral;
mod muse;
mod qwen3_coder;
mod reasoning;
mod solar;
mod ui_tars;
mod wire;

pub use detection::{Because, Detection};
pub use reasoning::ReasoningFormat;
pub(crate) use wire::{CallWire, Wire};

/// Every tool format. Detection takes the first whose markers fit, so the more specific stand first.
pub(crate) const TOOL_FORMATS: [&ToolFormat; 24] = [
    &harmony::FORMAT,
    &muse::FORMAT,
    &kimi_k3::FORMAT,
    &minimax_m3::FORMAT,
    &hy_v3::FORMAT,
    &k2_horizon::FORMAT,
    &functionary::FORMAT,
    &apertus::FORMAT,
    &cohere::FORMAT,
    &gemma4::FORMAT,
    &kimi_k2::FORMAT,
    &minimax::FORMAT,
    &solar::FORMAT,
    &lfm2::FORMAT,
    &deepseek_v32::FORMAT,
    &deepseek_v3::FORMAT,
    &deepseek_v31::FORMAT,
    &glm47::FORMAT,
    &qwen3_coder::FORMAT,
    &minicpm::FORMAT,
    &mistral::FORMAT,
    &hermes::FORMAT,
    &llama3::FORMAT,
    &ui_tars::FORMAT,
];

/// How one checkpoint writes tool calls and reasoning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutputFormat {
    /// `None`: the checkpoint calls no tools.
    pub tools: Option<&'static ToolFormat>,
    /// `None`: the checkpoint does not think, or its tool format has the reasoning in it.
    pub reasoning: Option<&'static ReasoningFormat>,
}

/// A name that no format has.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("there is no {kind} format named {name}; the formats are {known}")]
pub struct UnknownFormat {
    /// `tool call` or `reasoning`.
    pub kind: &'static str,
    /// As given.
    pub name: String,
    /// All names, separated by commas.
    pub known: String,
}

impl OutputFormat {
    /// A tool format by its name or alias.
    ///
    /// # Errors
    /// When there is none of that name; the error lists all.
    pub fn tool_format(name: &str) -> Result<&'static ToolFormat, UnknownFormat> {
        let found = TOOL_FORMATS.into_iter().find(|format| format.name == name || format.aliases.contains(&name));
        found.ok_or_else(|| unknown("tool call", name, TOOL_FORMATS.iter().map(|format| format.name)))
    }

    /// A reasoning format by its name or alias.
    ///
    /// # Errors
    /// When there is none of that name; the error lists all.
    pub fn reasoning_format(name: &str) -> Result<&'static ReasoningFormat, UnknownFormat> {
        let found = ReasoningFormat::by_name(name);
        found.ok_or_else(|| unknown("reasoning", name, ReasoningFormat::names()))
    }

    /// Whether the model may reason before it answers.
    pub fn thinks(&self) -> bool {
        self.reasoning.is_some() || self.tools.is_some_and(ToolFormat::has_reasoning)
    }

    /// Terminals of the format, for the tokens among them that decoding would skip as special.
    pub fn terminals(&self) -> impl Iterator<Item = &'static str> {
        let tools = self.tools.into_iter().flat_map(|format| {
            let inner = format.states.iter().flat_map(|state| state.rules);
            format
                .entries
                .iter()
                .chain(format.fresh_entries)
                .chain(inner)
                .map(|rule| rule.on)
                .chain(format.literals.iter().copied())
        });
        let reasoning = self.reasoning.into_iter().flat_map(ReasoningFormat::terminals);
        tools.chain(reasoning)
    }
}

fn unknown(kind: &'static str, name: &str, known: impl Iterator<Item = &'static str>) -> UnknownFormat {
    UnknownFormat { kind, name: name.to_owned(), known: known.collect::<Vec<_>>().join(", ") }
}

/// One family's way to call tools.
#[derive(Debug)]
pub struct ToolFormat {
    /// What `--tool-call-parser` takes.
    pub name: &'static str,
    /// Other names for it.
    pub(crate) aliases: &'static [&'static str],
    /// Any of these tells the format by the chat template.
    pub(crate) detect: &'static [Markers],
    /// Terminals that lead from text or reasoning into the format.
    pub(crate) entries: &'static [Rule],
    /// Entries that count only where nothing but whitespace stands before: at the start, after reasoning, after a call.
    pub(crate) fresh_entries: &'static [Rule],
    pub(crate) states: &'static [State],
    /// Literals of argument values that may be special tokens.
    pub(crate) literals: &'static [&'static str],
    /// How calls are named where the model does not name them.
    pub(crate) ids: IdStyle,
    /// What of the output the format is about.
    pub(crate) scope: Scope,
    /// Where a prompt that ends so leaves off: the output begins in that state.
    pub(crate) opened_by: &'static [(&'static str, usize)],
    /// How the model writes calls itself.
    pub(crate) wire: Wire,
}

/// What of an output a tool format is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Calls only: without declared tools it does nothing.
    Calls,
    /// The text has markers too, so that it acts without declared tools as well. Text is exact.
    Text,
    /// Reasoning has markers of the format as well. Markers are never text.
    Channels,
}

impl ToolFormat {
    /// Whether reasoning is marked by the format.
    pub fn has_reasoning(&self) -> bool {
        self.scope == Scope::Channels
    }

    /// Calls as the model writes them, by name and arguments (an object).
    pub fn write_calls<'a>(&self, calls: impl IntoIterator<Item = (&'a str, &'a serde_json::Value)>) -> String {
        wire::write(&self.wire, calls.into_iter())
    }

    /// What most models were trained on, for those of which nothing is known.
    pub fn plainest() -> &'static Self {
        &hermes::FORMAT
    }

    /// Every format, in the order of detection.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        TOOL_FORMATS.into_iter()
    }
}

impl PartialEq for ToolFormat {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for ToolFormat {}

/// What a chat template must and must not contain.
#[derive(Debug)]
pub(crate) struct Markers {
    pub all: &'static [&'static str],
    pub none: &'static [&'static str],
}

impl Markers {
    fn fit(&self, template: &str) -> bool {
        self.all.iter().all(|marker| template.contains(marker))
            && !self.none.iter().any(|marker| template.contains(marker))
    }
}

/// One state inside a call.
#[derive(Debug)]
pub(crate) struct State {
    pub body: Body,
    pub rules: &'static [Rule],
    /// Where text leads that is neither the body's nor a terminal.
    pub otherwise: Goto,
}

impl State {
    /// Whether a call has just ended here, so that what was read is no text.
    pub fn is_after_call(&self) -> bool {
        matches!(self.body, Body::Layout) && matches!(self.otherwise, Goto::Back | Goto::Text)
    }
}

/// What the text of a state means.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Body {
    /// Whitespace between terminals.
    Layout,
    /// The tool's name.
    Name(NameStyle),
    /// The call's id.
    Id,
    /// An argument's name.
    Key,
    /// An argument's value as plain text, typed by the tool's schema.
    Value(ValueStyle),
    /// The arguments as one JSON object.
    JsonArguments { done: Goto },
    /// The arguments as Python writes them between parentheses.
    PythonArguments { done: Goto },
    /// A JSON object with name and arguments.
    JsonCall { done: Goto },
    /// Gemma's arguments: bare keys, strings between `<|"|>`.
    GemmaArguments { done: Goto },
    /// Nested elements, whose tags all have this before them: each a member, typed by the tool's schema.
    Elements { before_tags: &'static str },
    /// A word that says nothing.
    Skip,
    /// A header of harmony's kind: channel and recipient.
    HarmonyHeader { call: usize },
}

/// What stands around a tool's name.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NameStyle {
    /// The name alone.
    Plain,
    /// Kimi's `functions.name:0`, which is also the call's id.
    Kimi,
    /// An action of the tool `computer`, where no tool has its name.
    Action,
}

/// What stands around a plain value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ValueStyle {
    /// Nothing; the value is a string whatever the schema says.
    Text,
    /// Nothing; the value is JSON whatever the schema says.
    Json,
    /// Nothing.
    Exact,
    /// One newline before and one after.
    OwnLines,
}

/// How calls are named.
#[derive(Clone, Copy, Debug)]
pub(crate) enum IdStyle {
    /// `call_` and 16 hexadecimal digits.
    Call,
    /// Nine letters or digits, as Mistral's templates demand.
    Alphanumeric9,
}

/// A terminal and where it leads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    pub on: &'static str,
    pub to: Goto,
    pub act: Act,
    /// Whether the terminal is read, or left for the next state.
    pub read: Read,
    /// Where not empty: the terminal counts only if one of these follows it, whitespace aside, or nothing.
    pub before: &'static [&'static str],
}

impl Rule {
    /// A rule that only moves on.
    pub const fn new(on: &'static str, to: Goto) -> Self {
        Self { on, to, act: Act::None, read: Read::Past, before: &[] }
    }

    /// The call starts here: name and id are known.
    pub const fn starts(self) -> Self {
        Self { act: Act::Start, ..self }
    }

    /// The call ends here.
    pub const fn ends(self) -> Self {
        Self { act: Act::End, ..self }
    }

    /// The call starts and ends here: it has no arguments.
    pub const fn whole(self) -> Self {
        Self { act: Act::Whole, ..self }
    }

    /// The terminal belongs to the next state.
    pub const fn peeks(self) -> Self {
        Self { read: Read::Peek, ..self }
    }

    /// Counts only before one of these.
    pub const fn before(self, before: &'static [&'static str]) -> Self {
        Self { before, ..self }
    }
}

/// What a rule does besides moving on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    None,
    Start,
    End,
    Whole,
}

/// Whether a rule's terminal is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    Past,
    Peek,
}

/// Where to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goto {
    /// A state of the format.
    State(usize),
    /// The text or reasoning that the call stands in.
    Back,
    /// The visible text.
    Text,
    /// Thinking.
    Reasoning,
    /// It was no call: what has been read since the last call comes out as text.
    Reject,
}

#[cfg(test)]
#[path = "formats_tests.rs"]
mod tests;
