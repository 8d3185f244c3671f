//! Calls as the model would write them: for conversations that a template cannot show, and for tests.

use serde_json::{Map, Value};

/// How a format writes calls.
#[derive(Debug)]
pub(crate) struct Wire {
    /// Before the first call.
    pub open: &'static str,
    /// Between two calls.
    pub between: &'static str,
    /// After the last call.
    pub close: &'static str,
    pub call: CallWire,
}

/// How a format writes one call.
#[derive(Debug)]
pub(crate) enum CallWire {
    /// An object with name and arguments under these keys.
    Object { before: &'static str, keys: [&'static str; 2], after: &'static str },
    /// The name, then the arguments as JSON.
    Named { before: &'static str, between: &'static str, after: &'static str },
    /// As `Named`, with `functions.` before the name and a number after it.
    Numbered { before: &'static str, between: &'static str, after: &'static str },
    /// The name, then each argument with its value as text.
    Pairs {
        before: &'static str,
        after_name: &'static str,
        before_key: &'static str,
        after_key: fn(&Value) -> &'static str,
        after_value: &'static str,
        after: &'static str,
    },
    /// A Python call.
    Python { before: &'static str },
    /// Gemma's own.
    Gemma,
    /// Nested elements, with this before each tag.
    Elements(&'static str),
}

/// Writes calls; arguments that are no object count as none.
pub(super) fn write<'a>(wire: &Wire, calls: impl Iterator<Item = (&'a str, &'a Value)>) -> String {
    let mut text = wire.open.to_owned();
    for (idx, (name, arguments)) in calls.enumerate() {
        if idx > 0 {
            text.push_str(wire.between);
        }
        let none = Map::new();
        write_call(&wire.call, (idx, name), arguments.as_object().unwrap_or(&none), &mut text);
    }
    text + wire.close
}

fn write_call(wire: &CallWire, (idx, name): (usize, &str), arguments: &Map<String, Value>, text: &mut String) {
    let json = || spaced(&Value::Object(arguments.clone()));
    match wire {
        CallWire::Object { before, keys: [name_key, arguments_key], after } => {
            let name = Value::from(name);
            *text += &format!("{before}{{\"{name_key}\": {name}, \"{arguments_key}\": {}}}{after}", json());
        }
        CallWire::Named { before, between, after } => *text += &format!("{before}{name}{between}{}{after}", json()),
        CallWire::Numbered { before, between, after } => {
            *text += &format!("{before}functions.{name}:{idx}{between}{}{after}", json());
        }
        CallWire::Pairs { before, after_name, before_key, after_key, after_value, after } => {
            *text += &format!("{before}{name}{after_name}");
            for (key, value) in arguments {
                *text += &format!("{before_key}{key}{}{}{after_value}", after_key(value), plain(value));
            }
            text.push_str(after);
        }
        CallWire::Python { before } => {
            let arguments: Vec<String> =
                arguments.iter().map(|(key, value)| format!("{key}={}", python(value))).collect();
            *text += &format!("{before}{name}({})", arguments.join(", "));
        }
        CallWire::Gemma => {
            *text += &format!("<|tool_call>call:{name}{}<tool_call|>", gemma(&Value::Object(arguments.clone())));
        }
        CallWire::Elements(mark) => {
            *text += &format!("{mark}<invoke name=\"{name}\">");
            arguments.iter().for_each(|(key, value)| element(mark, key, value, text));
            *text += &format!("{mark}</invoke>\n");
        }
    }
}

/// JSON with a space after commas and colons, as models are trained on it.
fn spaced(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(spaced).collect::<Vec<_>>().join(", ")),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| format!("{}: {}", Value::from(key.as_str()), spaced(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        scalar => scalar.to_string(),
    }
}

/// A string as it is, anything else as JSON.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| spaced(value), str::to_owned)
}

fn python(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Array(items) => format!("[{}]", items.iter().map(python).collect::<Vec<_>>().join(", ")),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| format!("{}: {}", Value::from(key.as_str()), python(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        scalar => scalar.to_string(),
    }
}

fn gemma(value: &Value) -> String {
    match value {
        Value::String(text) => format!("<|\"|>{text}<|\"|>"),
        Value::Array(items) => format!("[{}]", items.iter().map(gemma).collect::<Vec<_>>().join(",")),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| format!("{key}:{}", gemma(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
        }
        scalar => scalar.to_string(),
    }
}

fn element(mark: &str, key: &str, value: &Value, text: &mut String) {
    *text += &format!("{mark}<{key}>");
    match value {
        Value::Array(items) => items.iter().for_each(|item| element(mark, "item", item, text)),
        Value::Object(fields) => fields.iter().for_each(|(key, value)| element(mark, key, value, text)),
        scalar => *text += &plain(scalar),
    }
    *text += &format!("{mark}</{key}>");
}
