//! JSON with comments: a syntax tree keeps all that is not ours as it stands.

use anyhow::{Context, Result, bail};
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::{Map, Value};

use super::path::{Step, keys};

/// The values; an empty file says nothing.
///
/// # Errors
/// When it is broken, or a name stands twice in one object.
pub fn read(text: &str) -> Result<Value> {
    let root = parse(text)?;
    if let Some(object) = root.object_value() {
        check_names(&object)?;
    }
    Ok(root.to_serde_value().unwrap_or(Value::Null))
}

/// Sets one value.
///
/// # Errors
/// When something that is no object stands in the way.
pub fn set(text: &str, steps: &[Step], value: &Value) -> Result<String> {
    let root = parse(text)?;
    let (last, above) = keys(steps)?;
    if root.value().is_none() {
        root.set_value(CstInputValue::Object(Vec::new()));
    }
    let top = root.object_value().context("the file holds no object")?;
    top.ensure_multiline();
    let mut holder = top;
    for key in above {
        holder = holder.object_value_or_create(key).with_context(|| format!("`{key}` is no object"))?;
        holder.ensure_multiline();
    }
    match holder.get(last) {
        Some(prop) => prop.set_value(input(value)),
        None => drop(holder.append(last, input(value))),
    }
    let text = root.to_string();
    Ok(if text.ends_with('\n') { text } else { text + "\n" })
}

/// Takes one value away.
///
/// # Errors
/// When the text is broken.
pub fn unset(text: &str, steps: &[Step]) -> Result<String> {
    let root = parse(text)?;
    let (last, above) = keys(steps)?;
    let top = root.object_value().context("the file holds no object")?;
    let holder = above.iter().try_fold(top, |holder, key| holder.object_value(key));
    if let Some(prop) = holder.and_then(|holder| holder.get(last)) {
        prop.remove();
    }
    Ok(root.to_string())
}

fn parse(text: &str) -> Result<CstRootNode> {
    CstRootNode::parse(text, &ParseOptions::default()).context("it is no valid JSON")
}

/// Of two fields of one name each reader takes another.
fn check_names(object: &CstObject) -> Result<()> {
    let mut seen = Map::new();
    for prop in object.properties() {
        let name = prop.decoded_name().context("a name in it is no text")?;
        if seen.insert(name.clone(), Value::Null).is_some() {
            bail!("{name:?} stands in it twice");
        }
        if let Some(inner) = prop.object_value() {
            check_names(&inner)?;
        }
    }
    Ok(())
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(flag) => CstInputValue::Bool(*flag),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(map) => {
            CstInputValue::Object(map.iter().map(|(key, value)| (key.clone(), input(value))).collect())
        }
    }
}
