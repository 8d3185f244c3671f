//! What a schema says of a value that is written as plain text.

use serde_json::Value;

/// Deepest `$ref` and `anyOf` followed.
const DEPTH_MAX: usize = 16;

/// What a value that is written without quotes may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TextRule {
    /// Any text.
    Any,
    /// Text that contains a match of this pattern.
    Pattern(String),
    /// One of these texts.
    OneOf(Vec<String>),
    /// No text: JSON.
    Json,
}

/// The rule of a schema made ready, whose definitions are in `root`.
pub(crate) fn text_rule(schema: &Value, root: &Value) -> TextRule {
    match admits(schema, root, DEPTH_MAX) {
        (false, true) => TextRule::Json,
        (true, false) => of_string(followed(schema, root)),
        _ => TextRule::Any,
    }
}

fn of_string(schema: &Value) -> TextRule {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    if let Some(constant) = schema.get("const").and_then(text) {
        return TextRule::OneOf(vec![constant]);
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let texts: Vec<String> = values.iter().filter_map(text).collect();
        return TextRule::OneOf(texts);
    }
    match schema.get("pattern").and_then(Value::as_str) {
        Some(pattern) => TextRule::Pattern(pattern.to_owned()),
        None => TextRule::Any,
    }
}

/// The schema that a chain of bare references ends in.
fn followed<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    let mut schema = schema;
    for _ in 0..DEPTH_MAX {
        let target = schema.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix('#'));
        match target.and_then(|pointer| root.pointer(pointer)) {
            Some(target) => schema = target,
            None => break,
        }
    }
    schema
}

/// Whether a schema admits strings, and whether it admits anything else.
fn admits(schema: &Value, root: &Value, depth: usize) -> (bool, bool) {
    if depth == 0 {
        return (true, true);
    }
    let either = |found: (bool, bool), one: (bool, bool)| (found.0 || one.0, found.1 || one.1);
    let of_type = |name: &Value| if name == "string" { (true, false) } else { (false, true) };
    let of_value = |value: &Value| if value.is_string() { (true, false) } else { (false, true) };
    if let Some(constant) = schema.get("const") {
        return of_value(constant);
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return values.iter().map(of_value).fold((false, false), either);
    }
    match schema.get("type") {
        Some(Value::Array(names)) => return names.iter().map(of_type).fold((false, false), either),
        Some(name) => return of_type(name),
        None => {}
    }
    let target = followed(schema, root);
    if !std::ptr::eq(target, schema) {
        return admits(target, root, depth - 1);
    }
    let branches = ["anyOf", "oneOf", "allOf"].iter().filter_map(|name| schema.get(*name)?.as_array()).flatten();
    let found = branches.map(|branch| admits(branch, root, depth - 1)).fold((false, false), either);
    if found == (false, false) { (true, true) } else { found }
}
