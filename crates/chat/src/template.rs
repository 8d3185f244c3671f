//! Chat templates: a conversation to the text that the model was trained on.
//!
//! Templates are Jinja programs from the checkpoint and not trusted: work, memory, recursion and output are bounded.

mod charges;
mod context;
mod functions;
mod generation;
mod guard;
mod held;
mod json;
mod late_system;
mod methods;
mod plain_roles;
mod plain_tools;
mod source;
mod switches;

use std::{borrow::Cow, collections::BTreeMap, path::Path};

use jiff::Zoned;
use minijinja::{
    AutoEscape, Environment, ErrorKind,
    machinery::{eval, get_compiled_template, make_string_output},
    syntax::SyntaxConfig,
};
use serde_json::Map;

use plain_tools::Knowledge;

use crate::{Detection, Message, Tool, ToolFormat, files::FileError, tokenizer_config::TokenizerConfig};

/// Work that one render may do beyond what its input's size asks for: instructions, or units of 64 bytes.
const FUEL: u64 = 2_000_000;
/// Work for each byte of input.
const FUEL_PER_BYTE: u64 = 2;
/// Work for each pair of messages, as some templates look at all messages for each, and the most for all pairs.
const FUEL_PER_PAIR: u64 = 12;
const FUEL_PAIRS_MAX: u64 = 48_000_000;
/// Heaviest value beyond twice the input.
const WEIGHT_MAX: u64 = 16 << 20;
/// Levels of nested loops, macros and blocks.
const RECURSION_MAX: usize = 300;
/// Longest rendered prompt.
const OUTPUT_BYTES_MAX: usize = 16 << 20;
/// Stack for reading or rendering a template, which recurse over its source. The pages are only reserved, not used.
const STACK_BYTES: usize = 512 << 20;

/// Variables that `template_kwargs` cannot replace: what they hold has been checked, and counts for the work limit.
pub const RESERVED_VARIABLES: [&str; 4] = ["messages", "tools", "strftime_now", "raise_exception"];

/// A checkpoint's chat templates.
#[derive(Debug)]
pub struct ChatTemplate {
    environment: Environment<'static>,
    special_tokens: Map<String, serde_json::Value>,
    default: TemplateEntry,
    /// The template for conversations with tools, where the checkpoint has one of its own.
    tool_use: Option<TemplateEntry>,
}

/// A conversation to render.
#[derive(Clone, Copy, Debug)]
pub struct ChatPrompt<'a> {
    /// In order.
    pub messages: &'a [Message],
    /// Functions that the model may call.
    pub tools: &'a [Tool],
    /// Extra variables; they replace those of the same name, `add_generation_prompt` (true) too, but not
    /// [`RESERVED_VARIABLES`].
    pub template_kwargs: &'a Map<String, serde_json::Value>,
}

/// One template and how it wants its input.
#[derive(Debug)]
struct TemplateEntry {
    name: &'static str,
    source: String,
    style: context::Style,
}

/// A chat template that cannot be used, or that failed.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// A file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file has no usable template.
    #[error("the chat template in {file} is not usable: {detail}")]
    Malformed {
        /// The file.
        file: &'static str,
        /// What is wrong.
        detail: String,
    },
    /// The template has a syntax error.
    #[error("the chat template cannot be parsed: {detail}; fix it, or put a working chat_template.jinja beside it")]
    Syntax {
        /// Where and what.
        detail: String,
    },
    /// The template refused the conversation (`raise_exception`).
    #[error("the chat template refuses this conversation: {message}")]
    Raised {
        /// The template's own words.
        message: String,
    },
    /// The template failed.
    #[error("the chat template failed: {detail}")]
    Render {
        /// Where and what.
        detail: String,
    },
    /// A switch that would replace what the request itself says.
    #[error("the chat template's variable {name} cannot be set as a switch; send it as a field of the request")]
    Reserved {
        /// The variable.
        name: &'static str,
    },
    /// The template does more work than any real one: an endless loop, or a value that grows and grows.
    #[error("the chat template exceeds the work limit of {fuel} steps; it may loop without end")]
    WorkLimit {
        /// The limit.
        fuel: u64,
    },
    /// The template nests too deeply.
    #[error("the chat template exceeds the recursion limit of {max} levels")]
    RecursionLimit {
        /// The limit.
        max: usize,
    },
    /// The rendered prompt is too long.
    #[error("the chat template exceeds the output limit of {max_bytes} bytes")]
    OutputLimit {
        /// The limit.
        max_bytes: usize,
    },
}

impl ChatTemplate {
    /// Loads a checkpoint's templates; `None` when it has none (a base model).
    ///
    /// # Errors
    /// When a file is damaged or a template cannot be parsed.
    pub fn load(dir: &Path) -> Result<Option<Self>, TemplateError> {
        let config = TokenizerConfig::load(dir)?;
        let Some(sources) = source::find(dir, &config)? else { return Ok(None) };
        Self::new(sources.default, sources.tool_use, config.special_tokens).map(Some)
    }

    /// A template from its source. `special_tokens` are variables such as `bos_token`.
    ///
    /// # Errors
    /// When the source cannot be parsed.
    pub fn from_source(source: &str, special_tokens: Map<String, serde_json::Value>) -> Result<Self, TemplateError> {
        Self::new(source.to_owned(), None, special_tokens)
    }

    fn new(
        default: String,
        tool_use: Option<String>,
        special_tokens: Map<String, serde_json::Value>,
    ) -> Result<Self, TemplateError> {
        let mut environment = environment()?;
        let default = TemplateEntry::add(&mut environment, "default", default)?;
        let tool_use = tool_use.map(|source| TemplateEntry::add(&mut environment, "tool_use", source)).transpose()?;
        Ok(Self { environment, special_tokens, default, tool_use })
    }

    /// Source text of the template that is used with or without tools.
    pub fn source(&self, tools: &[Tool]) -> &str {
        &self.entry(tools).source
    }

    /// How the model writes tool calls and reasoning, read off its templates.
    pub fn detection(&self) -> Detection {
        let default = Detection::by_template(&self.default.source);
        let Some(entry) = &self.tool_use else { return default };
        let tool_use = Detection::by_template(&entry.source);
        let mut both = default.clone();
        if tool_use.format.tools.is_some() {
            (both.format.tools, both.tools_because) = (tool_use.format.tools, tool_use.tools_because);
        }
        if default.format.reasoning.is_none() {
            (both.format.reasoning, both.reasoning_because) = (tool_use.format.reasoning, tool_use.reasoning_because);
        }
        both
    }

    /// The prompt's text. `now` is what `strftime_now` tells. Earlier tool calls are written in the way that the template
    /// understands: where it fails on the usual one, the others are tried.
    ///
    /// # Errors
    /// When the template refuses the conversation, fails, or exceeds a limit.
    pub fn render(&self, prompt: &ChatPrompt<'_>, now: &Zoned) -> Result<String, TemplateError> {
        let is_set = |name: &&&str| prompt.template_kwargs.contains_key(**name);
        if let Some(name) = RESERVED_VARIABLES.iter().find(is_set) {
            return Err(TemplateError::Reserved { name });
        }
        let entry = self.entry(prompt.tools);
        let template_kwargs = &switches::translate(prompt.template_kwargs, &entry.source);
        let prompt = &ChatPrompt { template_kwargs, ..*prompt };
        let mut first_error = None;
        for style in entry.style.attempts(prompt.messages) {
            let context = context::build(prompt, &self.special_tokens, style, now);
            let fuel = fuel(prompt.messages.len() as u64, context.weight);
            match stacker::grow(STACK_BYTES, || self.render_context(entry, context, fuel)) {
                Err(error @ TemplateError::Render { .. }) => first_error = first_error.or(Some(error)),
                result => return result,
            }
        }
        Err(first_error.unwrap_or_else(|| TemplateError::Render { detail: "no way to write the messages".to_owned() }))
    }

    /// As [`render`](Self::render), and for conversations that the template has no place for. Where it does not tell of tools,
    /// or fails on calls, the system message tells of the tools, and calls and results are text, as models of `format` write
    /// them. Where it does not write instructions after the first message, they are in the user's messages. Where it does not
    /// take who speaks when, neighbours of one role are one message, and the system message opens the
    /// first message of the user.
    ///
    /// # Errors
    /// As [`render`](Self::render), with what the template says of the conversation as it came.
    pub fn render_with_tools(
        &self,
        prompt: &ChatPrompt<'_>,
        format: &ToolFormat,
        now: &Zoned,
    ) -> Result<String, TemplateError> {
        let source = &self.entry(prompt.tools).source;
        let prompt = &ChatPrompt { template_kwargs: &own_names(prompt, source, now), ..*prompt };
        let messages = &*self.settle_late_system(prompt, now);
        let prompt = &ChatPrompt { messages, ..*prompt };
        let has_tools =
            !prompt.tools.is_empty() || prompt.messages.iter().any(|message| !message.tool_calls.is_empty());
        if !has_tools {
            return self.render_any_roles(prompt, now);
        }
        let without_tools =
            |messages: &[Message]| self.render_any_roles(&ChatPrompt { messages, tools: &[], ..*prompt }, now);
        let rewritten = || without_tools(&plain_tools::rewrite(prompt.messages, prompt.tools, format));
        let result = match Knowledge::of(source) {
            Knowledge::Tools => self.render_any_roles(prompt, now),
            Knowledge::Calls => {
                let mut messages = prompt.messages.to_vec();
                plain_tools::announce(&mut messages, prompt.tools, format);
                without_tools(&messages)
            }
            Knowledge::Nothing => return rewritten(),
        };
        match result {
            Err(error @ TemplateError::Render { .. }) => rewritten().map_err(|_| error),
            result => result,
        }
    }

    /// The messages, with later instructions as the template writes them: as they came, or within the user's messages.
    fn settle_late_system<'a>(&self, prompt: &ChatPrompt<'a>, now: &Zoned) -> Cow<'a, [Message]> {
        let is_written = || {
            let text = self.render(&ChatPrompt { messages: &late_system::probe(), ..*prompt }, now);
            text.is_ok_and(|text| late_system::is_written(&text))
        };
        if late_system::is_late(prompt.messages) && !is_written() {
            return late_system::fold(prompt.messages).into();
        }
        prompt.messages.into()
    }

    /// As [`render`](Self::render), with simpler turns where the template refuses those that came, or fails on them.
    fn render_any_roles(&self, prompt: &ChatPrompt<'_>, now: &Zoned) -> Result<String, TemplateError> {
        let refusal = match self.render(prompt, now) {
            Err(error @ (TemplateError::Raised { .. } | TemplateError::Render { .. })) => error,
            result => return result,
        };
        let merged = plain_roles::merge_neighbours(prompt.messages);
        let folded = plain_roles::fold_system(&merged);
        let mut simpler = [merged, folded].into_iter().filter(|messages| messages != prompt.messages);
        let text = simpler.find_map(|messages| self.render(&ChatPrompt { messages: &messages, ..*prompt }, now).ok());
        text.ok_or(refusal)
    }

    fn entry(&self, tools: &[Tool]) -> &TemplateEntry {
        self.tool_use.as_ref().filter(|_| !tools.is_empty()).unwrap_or(&self.default)
    }

    fn render_context(
        &self,
        entry: &TemplateEntry,
        context: context::Context,
        fuel: u64,
    ) -> Result<String, TemplateError> {
        let mut environment = self.environment.clone();
        environment.set_fuel(Some(fuel));
        guard::add_filters(&mut environment, context.weight.saturating_mul(2).saturating_add(WEIGHT_MAX));
        let template = environment.get_template(entry.name).map_err(|error| render_error(&error, fuel))?;
        let instructions = guard::guard(&get_compiled_template(&template).instructions);
        let mut text = String::new();
        let mut output = make_string_output(&mut text);
        let result =
            eval(&environment, &instructions, context.variables, &BTreeMap::new(), &mut output, AutoEscape::None)
                .map(drop);
        result.map_err(|error| render_error(&error, fuel))?;
        drop(output);
        if text.len() > OUTPUT_BYTES_MAX {
            return Err(TemplateError::OutputLimit { max_bytes: OUTPUT_BYTES_MAX });
        }
        Ok(text)
    }
}

impl TemplateEntry {
    fn add(environment: &mut Environment<'_>, name: &'static str, source: String) -> Result<Self, TemplateError> {
        let neutral = generation::neutralise(&source);
        guard::check_source(&neutral, environment.syntax()).map_err(|detail| TemplateError::Syntax { detail })?;
        stacker::grow(STACK_BYTES, || environment.add_template_owned(name, neutral))
            .map_err(|error| TemplateError::Syntax { detail: describe(&error) })?;
        let style = context::Style::of(&source);
        Ok(Self { name, source, style })
    }
}

/// Work that a render may do for so many messages, and input of this weight.
fn fuel(n_messages: u64, weight: u64) -> u64 {
    let for_pairs = n_messages.saturating_mul(n_messages).saturating_mul(FUEL_PER_PAIR).min(FUEL_PAIRS_MAX);
    FUEL.saturating_add(weight.saturating_mul(FUEL_PER_BYTE)).saturating_add(for_pairs)
}

/// Switches with the variables that some templates expect under names of their own, where the caller does not set them.
fn own_names(prompt: &ChatPrompt<'_>, source: &str, now: &Zoned) -> Map<String, serde_json::Value> {
    let mut kwargs = prompt.template_kwargs.clone();
    let described = || prompt.tools.iter().map(plain_tools::described).collect::<serde_json::Value>();
    if source.contains("xml_tools") && !prompt.tools.is_empty() {
        kwargs.entry("xml_tools").or_insert_with(described);
    }
    // Those of Firefunction are put together as texts, with tools and without.
    if source.contains("+ functions") {
        kwargs.entry("functions").or_insert_with(|| described().to_string().into());
    }
    if source.contains("+ datetime") {
        kwargs.entry("datetime").or_insert_with(|| now.strftime("%Y-%m-%d %H:%M").to_string().into());
    }
    kwargs
}

/// As transformers sets up Jinja2.
fn environment() -> Result<Environment<'static>, TemplateError> {
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    let mut environment = Environment::new();
    environment.set_syntax(syntax.map_err(|error| TemplateError::Syntax { detail: error.to_string() })?);
    environment.set_recursion_limit(RECURSION_MAX);
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    environment.set_unknown_method_callback(methods::call);
    environment.add_function("raise_exception", functions::raise_exception);
    environment.add_filter("tojson", json::tojson);
    environment.add_filter("indent", functions::indent);
    environment.add_test("iterable", functions::is_iterable);
    environment.add_test("sequence", functions::is_sequence);
    Ok(environment)
}

fn render_error(error: &minijinja::Error, fuel: u64) -> TemplateError {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(current) = cause {
        if let Some(functions::Raised(message)) = current.downcast_ref() {
            return TemplateError::Raised { message: message.clone() };
        }
        if let Some(inner) = current.downcast_ref::<minijinja::Error>() {
            if inner.kind() == ErrorKind::OutOfFuel {
                return TemplateError::WorkLimit { fuel };
            }
            if inner.detail() == Some("recursion limit exceeded") {
                return TemplateError::RecursionLimit { max: RECURSION_MAX };
            }
        }
        cause = current.source();
    }
    TemplateError::Render { detail: describe(error) }
}

/// The innermost cause, with the template's line.
fn describe(error: &minijinja::Error) -> String {
    let mut innermost = error;
    while let Some(cause) = std::error::Error::source(innermost).and_then(|cause| cause.downcast_ref()) {
        innermost = cause;
    }
    innermost.to_string()
}

#[cfg(test)]
#[path = "template_tests.rs"]
mod tests;
