//! Where a value stands in a file of settings: keys, and items of lists that one of their fields names.

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};

/// One step down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A field of an object.
    Key(String),
    /// The item of a list whose field has this value.
    Item {
        /// Name of the field.
        field: String,
        /// Its text.
        value: String,
    },
}

/// Reads `a.b`, `models[name=Tokbar]` or `[model_id=tokbar]`. Only paths of our own table are read: they are well formed.
pub fn steps(path: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for part in path.split('.') {
        let (key, item) = part.split_once('[').map_or((part, None), |(key, item)| (key, Some(item)));
        if !key.is_empty() {
            steps.push(Step::Key(key.to_owned()));
        }
        if let Some((field, value)) = item.and_then(|item| item.strip_suffix(']')?.split_once('=')) {
            steps.push(Step::Item { field: field.to_owned(), value: value.to_owned() });
        }
    }
    steps
}

/// The last key of a path and those above it, for formats in which items of lists are not edited.
///
/// # Errors
/// When the path has no key, or leads into a list.
pub fn keys(steps: &[Step]) -> Result<(&str, Vec<&str>)> {
    let mut keys = Vec::with_capacity(steps.len());
    for step in steps {
        match step {
            Step::Key(key) => keys.push(key.as_str()),
            Step::Item { .. } => bail!("items of lists are not edited in this format"),
        }
    }
    let last = keys.pop().context("a path has at least one key")?;
    Ok((last, keys))
}

/// The value at a path.
pub fn get<'a>(tree: &'a Value, steps: &[Step]) -> Option<&'a Value> {
    steps.iter().try_fold(tree, |value, step| match step {
        Step::Key(key) => value.as_object()?.get(key),
        Step::Item { field, value: wanted } => value.as_array()?.iter().find(|item| item[field] == wanted.as_str()),
    })
}

/// Puts a value at a path, with whatever is missing above it.
///
/// # Errors
/// When something else stands in the way.
pub fn put(tree: &mut Value, steps: &[Step], value: &Value) -> Result<()> {
    let Some((step, rest)) = steps.split_first() else {
        *tree = value.clone();
        return Ok(());
    };
    match step {
        Step::Key(key) => {
            if tree.is_null() {
                *tree = Value::Object(Map::new());
            }
            let Some(map) = tree.as_object_mut() else { bail!("what holds `{key}` is no object") };
            put(map.entry(key).or_insert(Value::Null), rest, value)
        }
        Step::Item { field, value: wanted } => {
            if tree.is_null() {
                *tree = Value::Array(Vec::new());
            }
            let Some(items) = tree.as_array_mut() else { bail!("what should hold {field} {wanted:?} is no list") };
            let found = items.iter().position(|item| item[field] == wanted.as_str());
            let idx = found.unwrap_or_else(|| {
                items.push(Value::Null);
                items.len() - 1
            });
            put(&mut items[idx], rest, value)
        }
    }
}

/// Takes the value at a path away; fine if there is none.
pub fn take(tree: &mut Value, steps: &[Step]) {
    let Some((last, above)) = steps.split_last() else { return };
    let mut holder = tree;
    for step in above {
        let next = match step {
            Step::Key(key) => holder.get_mut(key),
            Step::Item { field, value } => {
                holder.as_array_mut().and_then(|items| items.iter_mut().find(|item| item[field] == value.as_str()))
            }
        };
        let Some(next) = next else { return };
        holder = next;
    }
    match (last, holder) {
        (Step::Key(key), Value::Object(map)) => drop(map.shift_remove(key)),
        (Step::Item { field, value }, Value::Array(items)) => items.retain(|item| item[field] != value.as_str()),
        _ => {}
    }
}

/// Nothing, or what holds nothing.
pub fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}

/// The tree without the objects and lists in it that hold nothing: formats differ in whether these are written.
pub fn without_empty(tree: &Value) -> Value {
    match tree {
        Value::Object(map) => {
            let full = map.iter().map(|(key, value)| (key.clone(), without_empty(value)));
            let full: Map<_, _> = full.filter(|(_, value)| !is_empty(value)).collect();
            if full.is_empty() { Value::Null } else { Value::Object(full) }
        }
        Value::Array(items) if items.is_empty() => Value::Null,
        other => other.clone(),
    }
}
