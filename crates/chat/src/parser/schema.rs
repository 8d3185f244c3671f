//! What the declared tools say about their arguments.

use std::collections::HashMap;

use serde_json::Value;

use super::repair::Want;
use crate::Tool;

/// Deepest `$ref` and `anyOf` followed.
const DEPTH_MAX: usize = 16;

/// The declared tools.
#[derive(Clone, Debug, Default)]
pub(super) struct Tools(HashMap<String, Declared>);

#[derive(Clone, Debug, Default)]
struct Declared {
    schema: Value,
    kinds: HashMap<String, ValueKind>,
    wants: HashMap<String, Want>,
}

/// What a plain-text value may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ValueKind {
    /// A string only: taken as it is.
    Text,
    /// Anything but a string.
    Json,
    /// Not said, or both: JSON where the text is JSON.
    #[default]
    Any,
}

impl Tools {
    pub fn new(tools: &[Tool]) -> Self {
        let declared = |tool: &Tool| Declared {
            schema: tool.parameters.clone(),
            kinds: argument_kinds(&tool.parameters),
            wants: wants(&tool.parameters),
        };
        Self(tools.iter().map(|tool| (tool.name.clone(), declared(tool))).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn is_declared(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Whether a name that begins so is declared; whitespace may follow a complete one.
    pub fn could_be(&self, start: &str) -> bool {
        self.0.keys().any(|name| name.starts_with(start) || name == start.trim_end())
    }

    /// What a tool's schema wants of each argument.
    pub fn wants(&self, tool: &str) -> HashMap<String, Want> {
        self.0.get(tool).map(|declared| declared.wants.clone()).unwrap_or_default()
    }

    /// Names of a tool's arguments, in the order of its schema.
    pub fn names(&self, tool: &str) -> Vec<String> {
        let properties = self.schema(tool).and_then(|schema| schema.get("properties")?.as_object());
        properties.into_iter().flat_map(|properties| properties.keys().cloned()).collect()
    }

    /// The schema of a tool's arguments.
    pub fn schema(&self, tool: &str) -> Option<&Value> {
        self.0.get(tool).map(|declared| &declared.schema)
    }

    pub fn kind(&self, tool: &str, argument: &str) -> ValueKind {
        self.0.get(tool).and_then(|declared| declared.kinds.get(argument)).copied().unwrap_or_default()
    }
}

fn argument_kinds(schema: &Value) -> HashMap<String, ValueKind> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let kinds = properties.into_iter().flatten().map(|(name, property)| (name.clone(), kind_of(property, schema)));
    kinds.collect()
}

fn wants(schema: &Value) -> HashMap<String, Want> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let wants = properties.into_iter().flatten().map(|(name, property)| {
        let want = match kind_of(property, schema) {
            ValueKind::Text => Want::Text,
            ValueKind::Json if is_array(property, schema) => {
                let items = member(property, schema, None).map(|items| kind_of(items, schema));
                Want::List { of_text: items != Some(ValueKind::Json) }
            }
            ValueKind::Json => Want::Json,
            ValueKind::Any => Want::Any,
        };
        (name.clone(), want)
    });
    wants.collect()
}

/// What a value of this schema may be; `root` is where its `$ref`s lead.
pub(super) fn kind_of(schema: &Value, root: &Value) -> ValueKind {
    match admits(schema, root, DEPTH_MAX) {
        (true, false) => ValueKind::Text,
        (false, true) => ValueKind::Json,
        _ => ValueKind::Any,
    }
}

/// Whether a schema asks for an array.
pub(super) fn is_array(schema: &Value, root: &Value) -> bool {
    find(schema, root, DEPTH_MAX, &|schema| {
        (schema.get("type")? == "array" || schema.get("items").is_some()).then_some(&Value::Null)
    })
    .is_some()
}

/// The schema of a member of an object, or of an array's items (`None`).
pub(super) fn member<'a>(schema: &'a Value, root: &'a Value, key: Option<&str>) -> Option<&'a Value> {
    find(schema, root, DEPTH_MAX, &|schema| match key {
        Some(key) => schema.get("properties")?.get(key),
        None => schema.get("items"),
    })
}

/// Looks in a schema, where its `$ref` leads, and in its branches.
fn find<'a>(
    schema: &'a Value,
    root: &'a Value,
    depth: usize,
    get: &impl Fn(&'a Value) -> Option<&'a Value>,
) -> Option<&'a Value> {
    if depth == 0 {
        return None;
    }
    if let Some(found) = get(schema) {
        return Some(found);
    }
    if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
        return find(root.pointer(target.strip_prefix('#')?)?, root, depth - 1, get);
    }
    let branches = ["anyOf", "oneOf", "allOf"].iter().filter_map(|name| schema.get(*name)?.as_array()).flatten();
    branches.into_iter().find_map(|branch| find(branch, root, depth - 1, get))
}

/// Whether a schema admits strings, and whether it admits anything else.
fn admits(schema: &Value, root: &Value, depth: usize) -> (bool, bool) {
    if depth == 0 {
        return (true, true);
    }
    let either = |found: (bool, bool), one: (bool, bool)| (found.0 || one.0, found.1 || one.1);
    let of_type = |name: &Value| if name == "string" { (true, false) } else { (false, true) };
    let of_value = |value: &Value| if value.is_string() { (true, false) } else { (false, true) };
    if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
        let target = target.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return target.map_or((true, true), |target| admits(target, root, depth - 1));
    }
    match schema.get("type") {
        Some(Value::Array(names)) => return names.iter().map(of_type).fold((false, false), either),
        Some(name) => return of_type(name),
        None => {}
    }
    if let Some(constant) = schema.get("const") {
        return of_value(constant);
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return values.iter().map(of_value).fold((false, false), either);
    }
    let branches = ["anyOf", "oneOf", "allOf"].iter().filter_map(|name| schema.get(*name)?.as_array()).flatten();
    let found = branches.map(|branch| admits(branch, root, depth - 1)).fold((false, false), either);
    if found == (false, false) { (true, true) } else { found }
}
