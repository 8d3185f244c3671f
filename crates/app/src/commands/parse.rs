//! `tokbar parse`: what the parser makes of a model's output, event by event.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use tokbar_chat::{ChatTemplate, Detection, Event, FinishReason, OutputFormat, OutputOptions, OutputParser, Tool};

use crate::cli::ParseArgs;
use crate::{lifecycle, say, sources};

/// Longest input read.
const INPUT_BYTES_MAX: u64 = 64 << 20;

/// Reads wire text from standard input and prints one event a line, then the message that they make.
pub fn run(args: &ParseArgs) -> Result<()> {
    let tools = match &args.tools {
        Some(path) => {
            tokbar_server::read_openai_tools(read_json(path)?).with_context(|| format!("{}", path.display()))?
        }
        None => Vec::new(),
    };
    let mut wire = String::new();
    let input = std::io::stdin().lock().take(INPUT_BYTES_MAX + 1);
    { input }.read_to_string(&mut wire).context("standard input cannot be read as UTF-8 text")?;
    ensure!(wire.len() as u64 <= INPUT_BYTES_MAX, "standard input is longer than {INPUT_BYTES_MAX} bytes");
    let format = format(args, &wire)?;
    let mut message = Message::default();
    for event in events(args, &tools, (&format, &wire)) {
        say::line(told(&event))?;
        message.add(event);
    }
    say::line(message.told())?;
    Ok(())
}

/// As the option says; `auto` reads it off the model's template, or else off the text itself.
fn format(args: &ParseArgs, wire: &str) -> Result<OutputFormat> {
    let found = match &args.model {
        Some(model) => {
            let source = sources::folder(model)?;
            let template = ChatTemplate::load(&source.dir)?;
            let detection = template.as_ref().map(ChatTemplate::detection).unwrap_or_default();
            lifecycle::detection(detection, &source.name, &crate::cli::FormatArgs::default())?
        }
        None => Detection::by_template(&format!("{}{wire}", args.prompt_tail)),
    };
    let named = (args.format != "auto").then_some(args.format.as_str());
    let detection = found.with_options(named, args.reasoning.as_deref())?;
    let mut format = detection.format;
    if args.reasoning.is_none() && format.reasoning.is_none() {
        // Output without a thought reads alike; one with the most common tags is told apart.
        format.reasoning = OutputFormat::reasoning_format("qwen3").ok().filter(|_| !format.thinks());
    }
    Ok(format)
}

fn events(args: &ParseArgs, tools: &[Tool], (format, wire): (&OutputFormat, &str)) -> Vec<Event> {
    let prompt_tail = if args.no_thinking { "" } else { &args.prompt_tail };
    let mut parser = OutputParser::new(format, &OutputOptions { tools, prompt_tail, id_seed: 0 });
    let n_chunk = if args.chunk == 0 { usize::MAX } else { args.chunk };
    let mut events = Vec::new();
    let mut rest = wire;
    while !rest.is_empty() {
        let end = rest.char_indices().nth(n_chunk).map_or(rest.len(), |(at, _)| at);
        events.extend(parser.push(&rest[..end]));
        rest = &rest[end..];
    }
    events.extend(parser.finish(FinishReason::Stop));
    events
}

fn told(event: &Event) -> Value {
    match event {
        Event::Text(text) => json!({ "type": "text", "text": text }),
        Event::Reasoning(text) => json!({ "type": "reasoning", "text": text }),
        Event::ToolStart { index, id, name } => json!({ "type": "tool_start", "index": index, "id": id, "name": name }),
        Event::ToolArgs { index, json } => json!({ "type": "tool_args", "index": index, "json": json }),
        Event::ToolEnd { index } => json!({ "type": "tool_end", "index": index }),
        Event::Finish(reason) => json!({ "type": "finish", "reason": reason_word(*reason) }),
    }
}

fn reason_word(reason: FinishReason) -> &'static str {
    match reason {
        FinishReason::Stop => "stop",
        FinishReason::Length => "length",
        FinishReason::ToolCalls => "tool_calls",
    }
}

/// What all events make together.
#[derive(Default)]
struct Message {
    content: String,
    reasoning: String,
    calls: Vec<(String, String, String)>,
    reason: &'static str,
}

impl Message {
    fn add(&mut self, event: Event) {
        match event {
            Event::Text(text) => self.content.push_str(&text),
            Event::Reasoning(text) => self.reasoning.push_str(&text),
            Event::ToolStart { id, name, .. } => self.calls.push((id, name, String::new())),
            Event::ToolArgs { json, .. } => {
                if let Some((_, _, arguments)) = self.calls.last_mut() {
                    arguments.push_str(&json);
                }
            }
            Event::ToolEnd { .. } => {}
            Event::Finish(reason) => self.reason = reason_word(reason),
        }
    }

    fn told(&self) -> Value {
        let call = |(id, name, arguments): &(String, String, String)| json!({ "id": id, "name": name, "arguments": arguments });
        json!({
            "type": "message", "content": self.content, "reasoning_content": self.reasoning,
            "tool_calls": self.calls.iter().map(call).collect::<Vec<_>>(), "finish_reason": self.reason,
        })
    }
}

/// A JSON file of bounded size.
///
/// # Errors
/// When it cannot be read, is too long, or is no JSON.
pub fn read_json(path: &Path) -> Result<Value> {
    let read = || -> Result<Value> {
        let file = File::open(path)?;
        if !file.metadata()?.is_file() {
            bail!("it is no file");
        }
        let mut text = String::new();
        file.take(INPUT_BYTES_MAX + 1).read_to_string(&mut text)?;
        ensure!(text.len() as u64 <= INPUT_BYTES_MAX, "it is longer than {INPUT_BYTES_MAX} bytes");
        Ok(serde_json::from_str(&text)?)
    };
    read().with_context(|| format!("cannot read JSON from {}", path.display()))
}
