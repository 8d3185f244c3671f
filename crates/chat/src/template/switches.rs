//! Thinking switches: clients know `enable_thinking` and `reasoning_effort`; templates have names and levels of their own.

use serde_json::{Map, Value};

/// Levels by how much they think.
const LEVELS: [(&str, u8); 9] = [
    ("none", 0),
    ("no_think", 0),
    ("minimal", 1),
    ("low", 2),
    ("medium", 3),
    ("high", 4),
    ("max", 5),
    ("xhigh", 5),
    ("ultra", 6),
];
/// Names of the level.
const EFFORTS: [&str; 4] = ["reasoning_effort", "thinking_effort", "reasoning_strength", "think_effort"];
/// How templates ask whether to think, where they do not ask `enable_thinking`.
const FLAGS: [&str; 3] = ["thinking", "reasoning", "think"];

/// The switches in the template's own words. What the client sets under the template's own name stays.
pub(super) fn translate(kwargs: &Map<String, Value>, source: &str) -> Map<String, Value> {
    let mut own = kwargs.clone();
    let effort = kwargs.get("reasoning_effort").and_then(Value::as_str);
    let thinks = match (kwargs.get("enable_thinking").and_then(Value::as_bool), effort) {
        (Some(thinks), _) => Some(thinks),
        (None, Some(effort)) => Some(rank(effort) != Some(0)),
        (None, None) => None,
    };
    let Some(thinks) = thinks else { return own };
    let mut put = |name: &str, value: Value| {
        if name == "reasoning_effort" || !kwargs.contains_key(name) {
            own.insert(name.to_owned(), value);
        }
    };
    for name in EFFORTS.into_iter().filter(|name| source.contains(name)) {
        let wanted = if thinks { effort } else { Some("none") };
        if let Some(level) = wanted.and_then(|wanted| nearest(wanted, source)) {
            put(name, level.into());
        }
    }
    if source.contains("thinking_mode") {
        put("thinking_mode", if thinks { "enabled" } else { "disabled" }.into());
    }
    if source.contains("enable_thinking") {
        put("enable_thinking", thinks.into());
        return own;
    }
    for name in FLAGS.into_iter().filter(|name| asks(source, name)) {
        put(name, thinks.into());
    }
    own
}

fn rank(level: &str) -> Option<u8> {
    LEVELS.iter().find(|(name, _)| *name == level).map(|(_, rank)| *rank)
}

/// The level that the template names and that is nearest to `wanted`; of two the lower. Without any, `wanted` itself, but
/// not what means no thinking: a template without such a level would write it down.
fn nearest(wanted: &str, source: &str) -> Option<String> {
    let Some(goal) = rank(wanted) else { return Some(wanted.to_owned()) };
    let is_named = |level: &str| source.contains(&format!("'{level}'")) || source.contains(&format!("\"{level}\""));
    let named = LEVELS.iter().filter(|(level, _)| is_named(level));
    let found = named.min_by_key(|(level, rank)| (rank.abs_diff(goal), *rank, *level != wanted));
    match found {
        Some((_, rank)) if goal == 0 && *rank > 2 => None,
        Some((level, _)) => Some((*level).to_owned()),
        None if goal == 0 => None,
        None => Some(if goal > 4 { "high" } else { wanted }.to_owned()),
    }
}

/// Whether the template asks a variable of this name.
fn asks(source: &str, name: &str) -> bool {
    let ways = [
        format!("if {name} "),
        format!("if not {name} "),
        format!("not {name} is defined"),
        format!("{name} is defined"),
        format!("{name} is undefined"),
        format!("not {name} %}}"),
    ];
    let is_word_start = |at: usize| {
        !source[..at].ends_with(|before: char| before.is_alphanumeric() || matches!(before, '_' | '.' | '\'' | '"'))
    };
    ways.iter().any(|way| source.match_indices(way.as_str()).any(|(at, _)| is_word_start(at)))
}

#[cfg(test)]
#[path = "switches_tests.rs"]
mod tests;
