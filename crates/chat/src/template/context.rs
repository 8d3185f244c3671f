//! The variables that a template sees.

use jiff::Zoned;
use minijinja::Value as Variable;
use serde_json::{Map, Value, json};

use super::{ChatPrompt, functions, held};
use crate::{Message, Tool, ToolCall};

/// How a template wants its input, where templates differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Style {
    pub arguments: Arguments,
    /// Whether a message that only calls tools has the content `none` instead of an empty string.
    pub empty_content: EmptyContent,
}

/// The arguments of earlier tool calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arguments {
    /// An object, as Hugging Face recommends.
    Object,
    /// JSON text, as OpenAI sends it.
    Text,
}

/// The content of a message that only calls tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EmptyContent {
    /// An empty string.
    Text,
    /// `none`.
    None,
}

impl Style {
    /// Reads the style off the template's source: one that asks whether the content is none tells calls by it.
    pub fn of(source: &str) -> Self {
        let asks = source.match_indices("content").any(|(start, word)| {
            let rest = source[start + word.len()..].trim_start_matches(['\'', '"', ']', ' ']);
            rest.strip_prefix("is ").is_some_and(|test| test.trim_start_matches("not ").starts_with("none"))
        });
        let empty_content = if asks { EmptyContent::None } else { EmptyContent::Text };
        Self { arguments: Arguments::Object, empty_content }
    }

    /// This style, then those that differ from it for these messages.
    pub fn attempts(self, messages: &[Message]) -> Vec<Self> {
        let other_content = match self.empty_content {
            EmptyContent::Text => EmptyContent::None,
            EmptyContent::None => EmptyContent::Text,
        };
        let contents = if messages.iter().any(only_calls) {
            vec![self.empty_content, other_content]
        } else {
            vec![self.empty_content]
        };
        let has_objects =
            messages.iter().flat_map(|message| &message.tool_calls).any(|call| !call.arguments.is_string());
        let arguments = if has_objects { vec![Arguments::Object, Arguments::Text] } else { vec![Arguments::Object] };
        let styles = arguments.into_iter().map(|arguments| {
            contents.iter().map(move |empty_content| Self { arguments, empty_content: *empty_content })
        });
        styles.flatten().collect()
    }
}

/// Variables and what they weigh together.
pub(super) struct Context {
    pub variables: Variable,
    pub weight: u64,
}

pub(super) fn build(
    prompt: &ChatPrompt<'_>,
    special_tokens: &Map<String, Value>,
    style: Style,
    now: &Zoned,
) -> Context {
    let messages: Vec<_> = prompt.messages.iter().map(|message| message_json(message, style)).collect();
    let tools: Vec<_> = prompt.tools.iter().map(tool_json).collect();
    let mut variables = special_tokens.clone();
    variables.insert("messages".to_owned(), Value::Array(messages));
    variables.insert("tools".to_owned(), if tools.is_empty() { Value::Null } else { Value::Array(tools) });
    variables.insert("documents".to_owned(), Value::Null);
    variables.insert("add_generation_prompt".to_owned(), Value::Bool(true));
    variables.extend(prompt.template_kwargs.clone());
    let now = now.clone();
    let strftime_now = Variable::from_function(move |format: &str| functions::strftime(&now, format));
    let values: Vec<_> = variables.iter().map(|(name, value)| (name.as_str(), variable(value))).collect();
    let weights = values.iter().map(|(_, value)| held::weigh(value, u64::MAX).map_or(u64::MAX, |size| size.weight));
    let weight = weights.fold(0, u64::saturating_add);
    Context { variables: Variable::from_pairs(values.into_iter().chain([("strftime_now", strftime_now)])), weight }
}

/// Whether a message has tool calls and no text.
fn only_calls(message: &Message) -> bool {
    message.content.is_empty() && !message.tool_calls.is_empty()
}

fn message_json(message: &Message, style: Style) -> Value {
    let content = match style.empty_content {
        EmptyContent::None if only_calls(message) => Value::Null,
        _ => Value::from(message.content.as_str()),
    };
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    put("role", message.role.as_str().into());
    put("content", content);
    for (field, text) in
        [("name", &message.name), ("reasoning_content", &message.reasoning), ("tool_call_id", &message.tool_call_id)]
    {
        if let Some(text) = text {
            put(field, text.as_str().into());
        }
    }
    if !message.tool_calls.is_empty() {
        put("tool_calls", message.tool_calls.iter().map(|call| call_json(call, style)).collect());
    }
    Value::Object(fields)
}

fn call_json(call: &ToolCall, style: Style) -> Value {
    let arguments = match style.arguments {
        Arguments::Text if !call.arguments.is_string() => Value::from(call.arguments.to_string()),
        _ => call.arguments.clone(),
    };
    json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}})
}

fn tool_json(tool: &Tool) -> Value {
    let mut function = Map::new();
    function.insert("name".to_owned(), tool.name.as_str().into());
    if let Some(description) = &tool.description {
        function.insert("description".to_owned(), description.as_str().into());
    }
    function.insert("parameters".to_owned(), tool.parameters.clone());
    json!({"type": "function", "function": function})
}

pub(super) fn variable(value: &Value) -> Variable {
    match value {
        Value::Null => Variable::from(()),
        Value::Bool(value) => Variable::from(*value),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => Variable::from(number),
            (None, Some(number)) => Variable::from(number),
            (None, None) => Variable::from(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => Variable::from(text.as_str()),
        Value::Array(items) => held::weighed(Variable::from(items.iter().map(variable).collect::<Vec<_>>())),
        Value::Object(fields) => {
            let pairs = fields.iter().map(|(name, value)| (name.as_str(), variable(value)));
            held::weighed(Variable::from_pairs(pairs))
        }
    }
}
