//! YAML: lines of block style are put in, replaced and taken out; all other lines stay as they stand.
//!
//! What is ours there is small: fields of the topmost object, and items of lists right below it.

mod tree;

use std::ops::Range;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::path::Step;
use tree::{Node, Shape};

/// The values; an empty file says nothing.
///
/// # Errors
/// When it is broken, has several documents, or repeats parts of itself by name.
pub fn read(text: &str) -> Result<Value> {
    Ok(tree::read(text)?.map_or(Value::Null, |node| node.value()))
}

/// Sets one value.
///
/// # Errors
/// When the file is written in another style than lines allow.
pub fn set(text: &str, steps: &[Step], value: &Value) -> Result<String> {
    let root = tree::read(text)?;
    match steps {
        [Step::Key(key)] => set_field(text, root.as_ref(), key, value),
        [item @ Step::Item { .. }] => {
            let text = match &root {
                Some(root) => without_item(text, root, None, item)?,
                None => text.to_owned(),
            };
            let root = tree::read(&text)?;
            let column = root.as_ref().and_then(|root| first_dash(&text, root)).unwrap_or(0);
            Ok(append(&text, text.len(), &item_lines(value, column)))
        }
        [Step::Key(key), item @ Step::Item { .. }] => set_item(text, root.as_ref(), (key, item), value),
        _ => bail!("only fields at the top and items of lists below them are edited in YAML"),
    }
}

/// Takes one value away.
///
/// # Errors
/// When the text is broken.
pub fn unset(text: &str, steps: &[Step]) -> Result<String> {
    let Some(root) = tree::read(text)? else { return Ok(text.to_owned()) };
    match steps {
        [Step::Key(key)] => Ok(match root.field(key) {
            Some((name, node)) => cut(text, &lines(text, name.start..node.end(text).max(name.end))),
            None => text.to_owned(),
        }),
        [item @ Step::Item { .. }] => without_item(text, &root, None, item),
        [Step::Key(key), item @ Step::Item { .. }] => match root.field(key) {
            Some((name, list)) => without_item(text, list, Some(name), item),
            None => Ok(text.to_owned()),
        },
        _ => bail!("only fields at the top and items of lists below them are edited in YAML"),
    }
}

fn set_field(text: &str, root: Option<&Node>, key: &str, value: &Value) -> Result<String> {
    let line = format!("{key}: {}\n", scalar(value).context("only plain values are set at the top of YAML")?);
    let Some((name, node)) = root.and_then(|root| root.field(key)) else {
        return Ok(append(text, text.len(), &line));
    };
    if let (Shape::Scalar(_), false) = (&node.shape, node.is_empty()) {
        let is_one_line = !text[node.start..node.end(text)].contains('\n');
        if is_one_line && let Some(new) = scalar(value) {
            return Ok(splice(text, node.start..node.end(text), &new));
        }
    }
    Ok(splice(text, lines(text, name.start..node.end(text).max(name.end)), &line))
}

fn set_item(text: &str, root: Option<&Node>, path: (&str, &Step), value: &Value) -> Result<String> {
    let (key, item) = path;
    let Some((name, list)) = root.and_then(|root| root.field(key)) else {
        return Ok(append(text, text.len(), &format!("{key}:\n{}", item_lines(value, 2))));
    };
    if list.has_item(item) {
        let text = without_item(text, list, Some(name), item)?;
        return set_item(&text, tree::read(&text)?.as_ref(), path, value);
    }
    match &list.shape {
        Shape::List(items) if items.is_empty() => {
            let rest = lines(text, name.start..list.end(text).max(name.end));
            Ok(splice(text, rest, &format!("{key}:\n{}", item_lines(value, 2))))
        }
        Shape::List(_) => {
            let column = first_dash(text, list).with_context(|| format!("the list `{key}` is written in brackets"))?;
            Ok(append(text, lines(text, list.start..list.end(text)).end, &item_lines(value, column)))
        }
        Shape::Scalar(Value::Null) => {
            let rest = lines(text, name.start..list.end(text).max(name.end));
            Ok(splice(text, rest, &format!("{key}:\n{}", item_lines(value, 2))))
        }
        _ => bail!("`{key}` is no list"),
    }
}

/// Takes an item out of a list; a list that `name` names and that is then empty is written so.
fn without_item(text: &str, list: &Node, name: Option<&Node>, item: &Step) -> Result<String> {
    let Shape::List(items) = &list.shape else { return Ok(text.to_owned()) };
    let Some(found) = items.iter().find(|node| node.is(item)) else { return Ok(text.to_owned()) };
    dash(text, found).context("the list is written in brackets")?;
    let own = lines(text, found.start..found.end(text));
    match name {
        Some(name) if items.len() == 1 => Ok(splice(text, lines(text, name.start..name.end).start..own.end, &{
            let head = &text[lines(text, name.start..name.end).start..name.end];
            format!("{head}: []\n")
        })),
        _ => Ok(cut(text, &own)),
    }
}

/// Column of the dash before an item that starts a line.
fn dash(text: &str, item: &Node) -> Option<usize> {
    let line = &text[lines(text, item.start..item.start).start..item.start];
    let column = line.len() - line.trim_start().len();
    (line.trim() == "-").then_some(column)
}

fn first_dash(text: &str, list: &Node) -> Option<usize> {
    let Shape::List(items) = &list.shape else { return None };
    dash(text, items.first()?)
}

/// The whole lines that a range touches.
fn lines(text: &str, range: Range<usize>) -> Range<usize> {
    let start = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[range.end..].find('\n').map_or(text.len(), |at| range.end + at + 1);
    start..end
}

fn cut(text: &str, range: &Range<usize>) -> String {
    splice(text, range.clone(), "")
}

fn splice(text: &str, range: Range<usize>, new: &str) -> String {
    [&text[..range.start], new, &text[range.end..]].concat()
}

/// Puts lines in at `at`, where a line ends or the text does.
fn append(text: &str, at: usize, new: &str) -> String {
    let (head, tail) = text.split_at(at);
    let gap = if head.is_empty() || head.ends_with('\n') { "" } else { "\n" };
    [head, gap, new, tail].concat()
}

/// An item of a list in block style.
fn item_lines(value: &Value, column: usize) -> String {
    let mut text = String::new();
    write_block(value, column + 2, &mut text);
    let indent = " ".repeat(column);
    format!("{indent}- {}", text.trim_start_matches(' '))
}

fn write_block(value: &Value, column: usize, text: &mut String) {
    let indent = " ".repeat(column);
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (key, value) in map {
                match scalar(value) {
                    Some(value) => *text += &format!("{indent}{key}: {value}\n"),
                    None => {
                        *text += &format!("{indent}{key}:\n");
                        write_block(value, column + 2, text);
                    }
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| *text += &item_lines(item, column)),
        other => *text += &format!("{indent}{}\n", scalar(other).unwrap_or_default()),
    }
}

/// A value in one line; `None` where that takes several.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if is_plain(text) => Some(text.clone()),
        Value::Array(items) if !items.is_empty() => None,
        Value::Object(map) if !map.is_empty() => None,
        // JSON's way of writing is one of YAML's.
        other => Some(other.to_string()),
    }
}

/// Whether text needs no quotes: it starts with a letter, has no sign that means something, and is no word for another value.
fn is_plain(text: &str) -> bool {
    const WORDS: [&str; 7] = ["true", "false", "null", "yes", "no", "on", "off"];
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "-_./:".contains(c);
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(is_safe)
        && !text.ends_with(':')
        && !WORDS.contains(&text.to_ascii_lowercase().as_str())
}
