//! `tokbar tools`: tools that models may call on running servers, and a person's word on calls that wait.

use std::fmt::Write;

use anyhow::{Result, bail};
use serde_json::{Value, json};

use crate::cli::{AskArgs, ToolsAction, ToolsArgs};
use crate::control::Door;
use crate::{control, say};

/// Longest arguments of a call that a list shows.
const N_SHOWN_MAX: usize = 2000;

/// A server and what it says of its tools.
struct Place {
    door: Door,
    census: Value,
}

/// Shows what there is and what waits, or gives a word.
pub fn run(args: &ToolsArgs) -> Result<()> {
    let key = match &args.action {
        Some(ToolsAction::Allow { key, .. } | ToolsAction::Deny { key, .. }) => key,
        None => &args.key,
    };
    let places = places(key)?;
    match &args.action {
        None if args.json => {
            let all: Vec<Value> =
                places.iter().map(|place| json!({"server": place.door.address, "tools": place.census})).collect();
            Ok(say::line(serde_json::to_string_pretty(&all)?)?)
        }
        None => Ok(say::piece(&places.iter().map(table).collect::<Result<String, _>>()?)?),
        Some(ToolsAction::Allow { id, always, .. }) => decide(&places, *id, if *always { "always" } else { "once" }),
        Some(ToolsAction::Deny { id, .. }) => decide(&places, *id, "never"),
    }
}

/// Servers that have tools at all.
fn places(key: &AskArgs) -> Result<Vec<Place>> {
    let (mut places, mut refused) = (Vec::new(), None);
    for door in control::doors(key)? {
        match control::get(&door, "/tools") {
            Ok(census) => places.push(Place { door, census }),
            Err(error) => refused = Some(error),
        }
    }
    match refused {
        Some(error) if places.is_empty() => {
            Err(error.context("no tools; name their servers in a file: `tokbar serve MODEL --mcp-config FILE`"))
        }
        _ => Ok(places),
    }
}

fn decide(places: &[Place], id: u64, word: &str) -> Result<()> {
    let waits = |place: &&Place| calls(&place.census).any(|call| call["id"] == id);
    let found: Vec<&Place> = places.iter().filter(waits).collect();
    let [place] = found[..] else {
        let servers: Vec<&str> = found.iter().map(|place| place.door.address.as_str()).collect();
        if servers.is_empty() {
            bail!("no call {id} waits for a word; `tokbar tools` lists those that do");
        }
        bail!("a call {id} waits at {}: name one with --server", servers.join(" and at "));
    };
    let tool = calls(&place.census).find(|call| call["id"] == id).map(|call| plain(&call["tool"])).unwrap_or_default();
    control::post(&place.door, "/tools/decide", &json!({"id": id, "word": word}))?;
    Ok(say::line(match word {
        "never" => format!("{tool} does not run"),
        "always" => format!("{tool} runs, and may until the server ends"),
        _ => format!("{tool} runs"),
    })?)
}

fn calls(census: &Value) -> impl Iterator<Item = &Value> {
    census["waiting"].as_array().into_iter().flatten()
}

fn table(place: &Place) -> Result<String, std::fmt::Error> {
    let mut text = format!("{}\n", place.door.address);
    for source in place.census["sources"].as_array().into_iter().flatten() {
        let tools = match source["tools"].as_array() {
            Some(tools) => tools.iter().map(plain).collect::<Vec<_>>().join(", "),
            None => "not asked yet".to_owned(),
        };
        writeln!(text, "  {}: {tools}", plain(&source["name"]))?;
        if source["trouble"].is_string() {
            writeln!(text, "    {}", plain(&source["trouble"]))?;
        }
    }
    let mut n_waiting = 0;
    for call in calls(&place.census) {
        n_waiting += 1;
        writeln!(text, "  waits: {}  {} {}", call["id"], plain(&call["tool"]), shown(&call["arguments"]))?;
    }
    if n_waiting > 0 {
        text.push_str("  `tokbar tools allow NUMBER` or `tokbar tools deny NUMBER`\n");
    }
    Ok(text)
}

/// What a model wrote, so that a person sees all of it that a terminal or an eye could miss.
fn shown(arguments: &Value) -> String {
    let text = visible(&arguments.to_string());
    match text.char_indices().nth(N_SHOWN_MAX) {
        Some((end, _)) => format!("{}... ({} bytes; see --json)", &text[..end], text.len()),
        None => text,
    }
}

fn plain(word: &Value) -> String {
    visible(word.as_str().unwrap_or_default())
}

/// Control characters, and those that turn or hide others, by their numbers.
fn visible(text: &str) -> String {
    let hides = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    text.chars().map(|c| if hides(c) { c.escape_unicode().to_string() } else { c.to_string() }).collect()
}

#[cfg(test)]
#[path = "tools_tests.rs"]
mod tests;
