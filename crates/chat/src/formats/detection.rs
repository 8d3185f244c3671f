//! Which format a checkpoint has, and how that is known.

use std::fmt;

use super::{OutputFormat, ReasoningFormat, TOOL_FORMATS, ToolFormat, UnknownFormat};

/// A format and how it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Detection {
    /// What was found.
    pub format: OutputFormat,
    /// Why these tool calls.
    pub tools_because: Because,
    /// Why this reasoning.
    pub reasoning_because: Because,
}

/// How a format is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Because {
    /// Nothing tells.
    #[default]
    Nothing,
    /// The chat template has these texts.
    Markers(Vec<&'static str>),
    /// The tool format has the reasoning in it.
    ToolFormat,
    /// An option says so.
    Option,
    /// The checkpoint's name has this in it, and its template tells nothing.
    Name(&'static str),
}

impl fmt::Display for Because {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("the chat template has no markers of any format"),
            Self::Markers(markers) => {
                let quoted: Vec<String> = markers.iter().map(|marker| format!("{marker:?}")).collect();
                write!(f, "the chat template has {}", quoted.join(" and "))
            }
            Self::ToolFormat => f.write_str("the tool call format marks reasoning too"),
            Self::Option => f.write_str("an option says so"),
            Self::Name(part) => write!(f, "the name has {part:?} in it, and the chat template has no markers"),
        }
    }
}

/// Parts of names whose checkpoints have templates without markers, most specific first: what the models were trained
/// on, for conversations with tools that the template does not know.
const NAMES: [(&str, &str); 22] = [
    ("functionary", "functionary"),
    ("deepseek-v3.1", "deepseek_v31"),
    ("deepseek-v3.2", "deepseek_v32"),
    ("deepseek-v4", "deepseek_v32"),
    ("deepseek-r1-distill-llama", "llama3"),
    ("deepseek-r1-distill-qwen", "hermes"),
    ("deepseek", "deepseek_v3"),
    ("qwen3-coder", "qwen3_coder"),
    ("qwen", "hermes"),
    ("hermes", "hermes"),
    ("llama-3", "llama3"),
    ("llama-4", "llama3"),
    ("magistral", "mistral"),
    ("devstral", "mistral"),
    ("ministral", "mistral"),
    ("mistral", "mistral"),
    ("gemma-4", "gemma4"),
    ("gpt-oss", "harmony"),
    ("kimi", "kimi_k2"),
    ("minimax", "minimax"),
    ("glm-4", "glm47"),
    ("lfm2", "lfm2"),
];

impl Detection {
    /// Reads the format off a chat template's source.
    pub fn by_template(template: &str) -> Self {
        let hit = TOOL_FORMATS.into_iter().find_map(|format| {
            let markers = format.detect.iter().find(|markers| markers.fit(template))?;
            Some((format, Because::Markers(markers.all.to_vec())))
        });
        let (tools, tools_because) = hit.map_or((None, Because::Nothing), |(format, because)| (Some(format), because));
        let (reasoning, reasoning_because) = match (tools, ReasoningFormat::detect(template)) {
            (Some(format), _) if format.has_reasoning() => (None, Because::ToolFormat),
            (_, Some((format, marker))) => (Some(format), Because::Markers(vec![marker])),
            (_, None) => (None, Because::Nothing),
        };
        Self { format: OutputFormat { tools, reasoning }, tools_because, reasoning_because }
    }

    /// Fills in tool calls by the checkpoint's name where nothing else tells.
    pub fn or_by_name(mut self, name: &str) -> Self {
        if self.format.tools.is_some() || self.tools_because == Because::Option {
            return self;
        }
        let name = name.to_lowercase().replace(['_', ' '], "-");
        if let Some((part, format)) = NAMES.iter().find(|(part, _)| name.contains(part)) {
            self.format.tools = OutputFormat::tool_format(format).ok();
            self.tools_because = Because::Name(part);
        }
        self
    }

    /// Replaces what options name; `none` means none.
    ///
    /// # Errors
    /// When there is no format of that name.
    pub fn with_options(mut self, tools: Option<&str>, reasoning: Option<&str>) -> Result<Self, UnknownFormat> {
        if let Some(name) = tools {
            self.format.tools = named(name, OutputFormat::tool_format)?;
            self.tools_because = Because::Option;
        }
        if let Some(name) = reasoning {
            self.format.reasoning = named(name, OutputFormat::reasoning_format)?;
            self.reasoning_because = Because::Option;
        }
        if self.format.tools.is_some_and(ToolFormat::has_reasoning) {
            self.format.reasoning = None;
            self.reasoning_because = Because::ToolFormat;
        }
        Ok(self)
    }
}

fn named<T>(name: &str, find: fn(&str) -> Result<T, UnknownFormat>) -> Result<Option<T>, UnknownFormat> {
    if name == "none" { Ok(None) } else { find(name).map(Some) }
}
