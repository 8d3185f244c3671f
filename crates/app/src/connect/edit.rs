//! Changes of a text of settings: only the fields that are ours, everything else stays as it stands. Whatever the editor of a
//! format does is checked against what the change means, so that a file is changed rightly or not at all.

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::path::{self, Step};
use super::{json, toml, yaml};

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// JSON with comments.
    Json,
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
}

/// The fields that are ours: path and value.
pub type Fields = Vec<(String, Value)>;

/// Deepest nesting of a file that is read: parsers go down step by step.
const N_LEVELS_MAX: usize = 64;

impl Format {
    fn read(self, text: &str) -> Result<Value> {
        check_depth(text)?;
        match self {
            Self::Json => json::read(text),
            Self::Toml => toml::read(text),
            Self::Yaml => yaml::read(text),
        }
    }

    fn set(self, text: &str, steps: &[Step], value: &Value) -> Result<String> {
        match self {
            Self::Json => json::set(text, steps, value),
            Self::Toml => toml::set(text, steps, value),
            Self::Yaml => yaml::set(text, steps, value),
        }
    }

    fn unset(self, text: &str, steps: &[Step]) -> Result<String> {
        match self {
            Self::Json => json::unset(text, steps),
            Self::Toml => toml::unset(text, steps),
            Self::Yaml => yaml::unset(text, steps),
        }
    }
}

/// Brackets that are open at once, whether in text or not.
fn check_depth(text: &str) -> Result<()> {
    let mut depth = 0_usize;
    for c in text.chars() {
        match c {
            '[' | '{' => depth += 1,
            ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > N_LEVELS_MAX {
            bail!("it is nested deeper than {N_LEVELS_MAX} levels");
        }
    }
    Ok(())
}

/// The text with our fields set.
///
/// # Errors
/// When the text is broken, or something stands in the way of a field.
pub fn set(format: Format, text: &str, fields: &[(String, Value)]) -> Result<String> {
    in_plain_text(text, |text| {
        let mut tree = format.read(&text)?;
        fields.iter().try_fold(text, |text, (path, value)| {
            let steps = path::steps(path);
            if path::get(&tree, &steps) == Some(value) {
                return Ok(text);
            }
            path::put(&mut tree, &steps, value)?;
            let text = format.set(&text, &steps, value).with_context(|| format!("`{path}` cannot be set"))?;
            checked(format, text, &tree, path)
        })
    })
}

/// Those fields of which the text says nothing.
///
/// # Errors
/// When the text is broken.
pub fn missing(format: Format, text: &str, fields: Fields) -> Result<Fields> {
    let tree = format.read(&plain(text))?;
    Ok(fields.into_iter().filter(|(path, _)| path::get(&tree, &path::steps(path)).is_none()).collect())
}

/// The text with our fields taken back: as they were in `before`, where they were, or away. Fields that somebody changed since
/// are that person's now and stay.
///
/// # Errors
/// When one of the texts is broken.
pub fn undo(format: Format, text: &str, before: &str, fields: &[(String, Value)]) -> Result<String> {
    let before = format.read(&plain(before))?;
    in_plain_text(text, |text| {
        let mut tree = format.read(&text)?;
        fields.iter().rev().try_fold(text, |text, (path, value)| {
            let steps = path::steps(path);
            if path::get(&tree, &steps) != Some(value) {
                return Ok(text);
            }
            let text = match path::get(&before, &steps) {
                Some(old) => {
                    path::put(&mut tree, &steps, old)?;
                    format.set(&text, &steps, old)?
                }
                None => {
                    path::take(&mut tree, &steps);
                    format.unset(&text, &steps)?
                }
            };
            let text = checked(format, text, &tree, path)?;
            prune(format, text, (&mut tree, &before), &steps)
        })
    })
}

/// Takes away what holds nothing now and was not there before.
fn prune(format: Format, text: String, trees: (&mut Value, &Value), steps: &[Step]) -> Result<String> {
    let (tree, before) = trees;
    let mut text = text;
    for n in (1..steps.len()).rev() {
        let above = &steps[..n];
        let is_left_over = path::get(tree, above).is_some_and(path::is_empty) && path::get(before, above).is_none();
        if !is_left_over {
            break;
        }
        path::take(tree, above);
        text = checked(format, format.unset(&text, above)?, tree, "what holds it")?;
    }
    Ok(text)
}

/// Whether the text says nothing.
pub fn is_empty(format: Format, text: &str) -> bool {
    format.read(&plain(text)).is_ok_and(|tree| path::is_empty(&tree))
}

fn checked(format: Format, text: String, expected: &Value, path: &str) -> Result<String> {
    let found = format.read(&text).with_context(|| format!("`{path}` cannot be set in a file written like this"))?;
    if path::without_empty(&found) != path::without_empty(expected) {
        bail!("`{path}` cannot be changed safely in a file written like this");
    }
    Ok(text)
}

const MARK: char = '\u{feff}';

fn plain(text: &str) -> String {
    text.trim_start_matches(MARK).replace("\r\n", "\n")
}

/// Editors see plain line ends; the file keeps its own, and its byte order mark.
fn in_plain_text(text: &str, work: impl FnOnce(String) -> Result<String>) -> Result<String> {
    let changed = work(plain(text))?;
    let changed = if text.contains("\r\n") { changed.replace('\n', "\r\n") } else { changed };
    Ok(if text.starts_with(MARK) { format!("{MARK}{changed}") } else { changed })
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
