//! TOML: a document that keeps comments, order and spelling.

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, value};

use super::path::{Step, keys};

/// The values.
///
/// # Errors
/// When it is broken.
pub fn read(text: &str) -> Result<Value> {
    Ok(table_value(parse(text)?.as_table()))
}

/// Sets one value; tables above it are made.
///
/// # Errors
/// When something that is no table stands in the way.
pub fn set(text: &str, steps: &[Step], new: &Value) -> Result<String> {
    let mut document = parse(text)?;
    let (last, above) = keys(steps)?;
    let mut holder: &mut dyn TableLike = document.as_table_mut();
    for key in above {
        let mut made = Table::new();
        made.set_implicit(true);
        let item = holder.entry(key).or_insert(Item::Table(made));
        holder = item.as_table_like_mut().with_context(|| format!("`{key}` is no table"))?;
    }
    let new = item(new)?;
    match (holder.get_mut(last), new) {
        (Some(Item::Value(old)), Item::Value(mut new)) => {
            *new.decor_mut() = old.decor().clone();
            *old = new;
        }
        (_, new) => drop(holder.insert(last, new)),
    }
    Ok(document.to_string())
}

/// Takes one value away.
///
/// # Errors
/// When the text is broken.
pub fn unset(text: &str, steps: &[Step]) -> Result<String> {
    let mut document = parse(text)?;
    let (last, above) = keys(steps)?;
    let mut holder: Option<&mut dyn TableLike> = Some(document.as_table_mut());
    for key in above {
        holder = holder.and_then(|holder| holder.get_mut(key)).and_then(Item::as_table_like_mut);
    }
    if let Some(holder) = holder {
        holder.remove(last);
    }
    Ok(document.to_string())
}

fn parse(text: &str) -> Result<DocumentMut> {
    text.parse().context("it is no valid TOML")
}

fn item(new: &Value) -> Result<Item> {
    if let Value::Object(map) = new {
        let mut table = Table::new();
        for (key, new) in map {
            table.insert(key, item(new)?);
        }
        return Ok(Item::Table(table));
    }
    Ok(value(plain(new)?))
}

fn plain(new: &Value) -> Result<toml_edit::Value> {
    Ok(match new {
        Value::Bool(flag) => (*flag).into(),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => whole.into(),
            None => number.as_f64().context("a number is out of range")?.into(),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(items) => toml_edit::Value::Array(items.iter().map(plain).collect::<Result<Array>>()?),
        Value::Object(map) => {
            let pairs = map.iter().map(|(key, value)| Ok((key.as_str(), plain(value)?)));
            toml_edit::Value::InlineTable(pairs.collect::<Result<InlineTable>>()?)
        }
        Value::Null => bail!("TOML has no null"),
    })
}

fn table_value(table: &dyn TableLike) -> Value {
    Value::Object(table.iter().map(|(key, item)| (key.to_owned(), item_value(item))).collect::<Map<_, _>>())
}

fn item_value(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => plain_value(value),
        Item::Table(table) => table_value(table),
        Item::ArrayOfTables(tables) => tables.iter().map(|table| table_value(table)).collect(),
    }
}

fn plain_value(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => text.value().as_str().into(),
        toml_edit::Value::Integer(number) => (*number.value()).into(),
        toml_edit::Value::Float(number) => (*number.value()).into(),
        toml_edit::Value::Boolean(flag) => (*flag.value()).into(),
        toml_edit::Value::Datetime(date) => date.value().to_string().into(),
        toml_edit::Value::Array(items) => items.iter().map(plain_value).collect(),
        toml_edit::Value::InlineTable(table) => table_value(table),
    }
}
