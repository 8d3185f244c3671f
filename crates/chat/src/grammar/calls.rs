//! Grammars of tool calls, from a format's shape and the tools' schemas.

use serde_json::{Value, json};

use super::lark::{Lark, Spacing, any_of, escaped, literal};
use super::notation;
use super::plain;
use super::schema::{self, Ready};
use super::shape::{CallShape, Piece, Trigger};
use crate::{CallCount, Tool, ToolFormat};

/// Blanks after what opens a call.
const BLANKS: &str = "/[ \\t\\n]{0,2}/";
/// Most calls of one answer.
const CALLS_MAX: usize = 128;

/// A tool whose arguments' schema can be compiled.
#[derive(Clone, Debug)]
pub(super) struct ReadyTool {
    pub name: String,
    pub schema: Value,
}

impl ReadyTool {
    /// Arguments are an object, whatever the schema says of its own type.
    pub fn new(tool: &Tool) -> Result<(Self, Vec<String>), schema::SchemaError> {
        let Ready { mut schema, reports } = schema::ready(&tool.parameters)?;
        if !schema.is_object() {
            schema = json!({});
        }
        schema["type"] = json!("object");
        Ok((Self { name: tool.name.clone(), schema }, reports))
    }

    /// A tool that takes any object.
    pub fn open(name: &str) -> Self {
        Self { name: name.to_owned(), schema: json!({ "type": "object" }) }
    }
}

/// Writes calls into a grammar.
pub(super) struct Calls<'a> {
    pub lark: Lark,
    pub format: &'a ToolFormat,
    pub shape: &'a CallShape,
    pub tools: &'a [ReadyTool],
    pub count: CallCount,
    /// Whether blanks before a call are as the model likes.
    is_loose: bool,
}

impl<'a> Calls<'a> {
    pub fn new((format, shape): (&'a ToolFormat, &'a CallShape), tools: &'a [ReadyTool], count: CallCount) -> Self {
        Self { lark: Lark::default(), format, shape, tools, count, is_loose: false }
    }

    /// All calls of an answer.
    pub fn answer(&mut self) -> String {
        let block = self.block(self.shape.begin);
        match self.shape.again.filter(|_| self.count == CallCount::Many) {
            Some(again) => {
                let block = self.lark.rule(&block);
                format!("{block} ({} {block}){{0,{}}}", literal(again), CALLS_MAX - 1)
            }
            None => block,
        }
    }

    /// One block of calls, of whose beginning `begin` is still to come.
    pub fn block(&mut self, begin: &str) -> String {
        let call = self.call(self.shape.call);
        let end = literal(self.shape.end);
        match self.shape.between.filter(|_| self.count == CallCount::Many) {
            Some(between) => {
                let call = self.lark.rule(&call);
                format!("{} {call} ({} {call}){{0,{}}} {end}", literal(begin), literal(between), CALLS_MAX - 1)
            }
            None => format!("{} {call} {end}", literal(begin)),
        }
    }

    /// What follows a text that has opened a call. The token that completes it may hold some of what comes next, and what
    /// stands before it may share its first token.
    pub fn after(mut self, on: &str, trigger: Option<&Trigger>) -> String {
        // An opener that stands in place of the usual one has calls right behind it.
        let begin = if trigger.is_some() { "" } else { self.shape.begin.strip_prefix(on).unwrap_or_default() };
        let begin = begin.trim_start();
        self.is_loose = begin.is_empty();
        let rest = match trigger {
            Some(trigger) => self.call(trigger.call),
            None => self.block(begin),
        };
        let blanks = if self.is_loose { "" } else { BLANKS };
        let head = self.lark.name("h");
        self.lark.define(&format!("{head}[lazy]"), &format!("/(?s:.{{0,64}})/ {}", literal(on)));
        self.lark.finish(&format!("{head} {blanks} {rest}"))
    }

    /// One call of any tool.
    fn call(&mut self, pieces: &[Piece]) -> String {
        let Self { lark, format, tools, is_loose, .. } = self;
        let (blanks, pieces) = match pieces {
            [Piece::Text(text), rest @ ..] if *is_loose => (format!("{BLANKS} {}", loose(text.trim_start())), rest),
            _ => (String::new(), pieces),
        };
        let write: fn(&str) -> String = if *is_loose { loose } else { literal };
        let calls = any_of(&tools.iter().map(|tool| call_of(lark, (format, pieces, write), tool)).collect::<Vec<_>>());
        format!("{blanks} {calls}")
    }
}

/// A call of one tool. Texts that stand side by side become one literal, so that as much as can be is forced.
fn call_of(
    lark: &mut Lark,
    (format, pieces, write): (&ToolFormat, &[Piece], fn(&str) -> String),
    tool: &ReadyTool,
) -> String {
    let mut parts = Vec::new();
    let mut text = String::new();
    for piece in pieces {
        let part = match piece {
            Piece::Text(more) => {
                text.push_str(more);
                continue;
            }
            Piece::Name => {
                let quoted = Value::from(tool.name.as_str()).to_string();
                text.push_str(&quoted[1..quoted.len() - 1]);
                continue;
            }
            Piece::Index => "/[0-9]{1,3}/".to_owned(),
            Piece::Id => "/[A-Za-z0-9_-]{1,32}/".to_owned(),
            Piece::Json => lark.json(&tool.schema, Spacing::Line),
            Piece::Plain(shape) => plain::arguments(lark, (format, shape), &tool.schema),
            Piece::Object(notation) => notation::arguments(lark, notation, &tool.schema),
        };
        parts.push(write(&std::mem::take(&mut text)));
        parts.push(part);
    }
    parts.push(write(&text));
    parts.retain(|part| !part.is_empty());
    parts.join(" ")
}

/// A literal whose blanks may be missing, as models leave them out at times.
fn loose(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let text = escaped(text).replace("\\n", "\\n?").replace(": ", ": ?").replace(", ", ", ?");
    format!("/{text}/")
}
