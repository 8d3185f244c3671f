//! A client's JSON schema made ready for the grammar engine: checked, bounded, in one draft, references gathered.
//!
//! What the engine cannot hold the output to is left out and reported. What is no schema is an error that says where.

mod fill;
mod keywords;
mod least;
mod looser;
mod pattern;
mod strings;

use std::collections::HashMap;

use fill::{Closes, any, fill};
use serde_json::{Map, Value, json};

pub(crate) use least::widest;
pub(crate) use looser::{LOOSER_MAX, looser};
pub(crate) use strings::{TextRule, text_rule};

/// Most schemas in a schema.
const N_SCHEMAS_MAX: usize = 20_000;
/// Deepest nesting of schemas.
const DEPTH_MAX: usize = 64;
/// Longest schema, as compact JSON.
const BYTES_MAX: usize = 1 << 20;
/// Most reports kept.
const REPORTS_MAX: usize = 32;

/// A schema that can be compiled.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ready {
    /// In draft 2020-12, with all that it refers to in its `$defs`.
    pub schema: Value,
    /// What is not enforced, and where.
    pub reports: Vec<String>,
}

/// What is wrong with a schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{detail}", place(path))]
pub struct SchemaError {
    /// JSON pointer to the schema at fault; empty for the whole.
    pub path: String,
    /// What it must be or what to do.
    pub detail: String,
}

fn place(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!("at {path}: ") }
}

impl SchemaError {
    pub(crate) fn new(path: &str, detail: impl Into<String>) -> Self {
        Self { path: path.to_owned(), detail: detail.into() }
    }
}

/// Makes a schema ready. Objects that say nothing of additional properties get none, unless the schema combines objects.
///
/// # Errors
/// When it is no JSON schema, refers to nothing, or is too large.
pub(crate) fn ready(schema: &Value) -> Result<Ready, SchemaError> {
    ready_part(schema, schema)
}

/// As [`ready`], for a part of the schema `root`.
///
/// # Errors
/// As there.
pub(crate) fn ready_part(part: &Value, root: &Value) -> Result<Ready, SchemaError> {
    let n_bytes = root.to_string().len();
    if n_bytes > BYTES_MAX {
        return Err(SchemaError::new(
            "",
            format!("has {n_bytes} bytes, but may have {BYTES_MAX}; send a smaller schema"),
        ));
    }
    let mut walk = Walk {
        root,
        n_left: N_SCHEMAS_MAX,
        closes: if combines_objects(root, 2 * DEPTH_MAX) { Closes::Said } else { Closes::Unsaid },
        uses_any: false,
        names: HashMap::new(),
        waiting: Vec::new(),
        reports: Vec::new(),
    };
    let mut schema = walk.schema(part, "", 0)?;
    let mut definitions = Map::new();
    while let Some((name, pointer)) = walk.waiting.pop() {
        let target = target(root, &pointer).unwrap_or(&Value::Bool(true));
        let target = walk.schema(target, &pointer, 0)?;
        definitions.insert(name, target);
    }
    if walk.uses_any {
        definitions.extend([fill::definition()]);
    }
    if !definitions.is_empty() {
        schema["$defs"] = Value::Object(definitions);
    }
    Ok(Ready { schema, reports: walk.reports })
}

/// Whether a schema puts objects together out of several, so that closing one would shut out the others' properties.
fn combines_objects(schema: &Value, depth: usize) -> bool {
    match schema {
        _ if depth == 0 => true,
        Value::Object(map) => {
            let has = |names: &[&str]| names.iter().any(|name| map.contains_key(*name));
            let is_object = has(&["properties", "required", "additionalProperties", "patternProperties"]);
            has(&["allOf"])
                || (is_object && has(&["anyOf", "oneOf", "$ref", "if", "dependentSchemas", "dependencies"]))
                || map.values().any(|value| combines_objects(value, depth - 1))
        }
        Value::Array(items) => items.iter().any(|item| combines_objects(item, depth - 1)),
        _ => false,
    }
}

/// What a reference inside the document points at.
fn target<'a>(root: &'a Value, pointer: &str) -> Option<&'a Value> {
    root.pointer(pointer).filter(|target| target.is_object() || target.is_boolean())
}

/// One pass over a schema.
struct Walk<'a> {
    root: &'a Value,
    n_left: usize,
    /// Whether objects are closed that do not say.
    closes: Closes,
    /// Whether something refers to the definition of any value.
    uses_any: bool,
    /// Definitions by their pointers.
    names: HashMap<String, String>,
    /// Definitions not yet walked.
    waiting: Vec<(String, String)>,
    reports: Vec<String>,
}

impl Walk<'_> {
    fn report(&mut self, path: &str, what: &str) {
        if self.reports.len() < REPORTS_MAX {
            let at = if path.is_empty() { "at the top" } else { path };
            self.reports.push(format!("{what} ({at})"));
        }
    }

    fn schema(&mut self, schema: &Value, path: &str, depth: usize) -> Result<Value, SchemaError> {
        if depth >= DEPTH_MAX {
            return Err(SchemaError::new(path, format!("is nested more than {DEPTH_MAX} deep")));
        }
        self.n_left = self.n_left.checked_sub(1).ok_or_else(|| {
            SchemaError::new(path, format!("is one of more than {N_SCHEMAS_MAX} schemas; send a smaller schema"))
        })?;
        match schema {
            Value::Bool(false) => Ok(schema.clone()),
            Value::Bool(true) => Ok(self.any()),
            Value::Object(map) => self.object(map, path, depth + 1),
            _ => Err(SchemaError::new(path, "must be a schema: an object, true or false")),
        }
    }

    fn object(&mut self, map: &Map<String, Value>, path: &str, depth: usize) -> Result<Value, SchemaError> {
        let mut out = Map::new();
        for (key, value) in map {
            self.keyword((key, value), (map, path, depth), &mut out)?;
        }
        self.property_names(map, (path, depth), &mut out)?;
        if out.is_empty() {
            return Ok(self.any());
        }
        fill(&mut out, self.closes);
        self.uses_any |= self.closes == Closes::Unsaid;
        if map.get("nullable") == Some(&Value::Bool(true)) {
            admit_null(&mut out);
        }
        Ok(Value::Object(out))
    }

    fn any(&mut self) -> Value {
        self.uses_any = true;
        any()
    }

    /// Names a definition for a reference.
    fn reference(&mut self, reference: &Value, path: &str) -> Result<Option<Value>, SchemaError> {
        let Some(text) = reference.as_str() else {
            return Err(SchemaError::new(path, "`$ref` must be a string"));
        };
        let Some(pointer) = text.strip_prefix('#').filter(|rest| rest.is_empty() || rest.starts_with('/')) else {
            self.report(path, &format!("the reference {text:?} is not followed, as it leads out of the schema"));
            return Ok(None);
        };
        let pointer = decoded(pointer);
        if target(self.root, &pointer).is_none() {
            return Err(SchemaError::new(path, format!("`$ref` {text:?} points at nothing")));
        }
        let name = match self.names.get(&pointer) {
            Some(name) => name.clone(),
            None => {
                let name = format!("d{}", self.names.len());
                self.names.insert(pointer.clone(), name.clone());
                self.waiting.push((name.clone(), pointer));
                name
            }
        };
        Ok(Some(Value::String(format!("#/$defs/{name}"))))
    }
}

/// OpenAPI's way to admit `null`.
fn admit_null(out: &mut Map<String, Value>) {
    match out.get_mut("type") {
        Some(Value::String(kind)) if kind != "null" => out["type"] = json!([kind, "null"]),
        Some(Value::Array(kinds)) if !kinds.contains(&json!("null")) => kinds.push(json!("null")),
        _ => {}
    }
    if let Some(Value::Array(values)) = out.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    if !out.contains_key("type") && !out.contains_key("enum") && !out.is_empty() {
        let inner = std::mem::take(out);
        out.insert("anyOf".to_owned(), json!([inner, { "type": "null" }]));
    }
}

/// A URI fragment as a JSON pointer.
fn decoded(fragment: &str) -> String {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.filter(|_| first == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match byte {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
