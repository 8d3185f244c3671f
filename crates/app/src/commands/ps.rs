//! `tokbar ps`: what running servers have in memory.

use std::fmt::Write;

use anyhow::Result;
use serde_json::{Value, json};

use crate::cli::PsArgs;
use crate::control::Door;
use crate::{control, say, size};

/// Asks every server and shows its models, memory, and what it did of late to save some.
pub fn run(args: &PsArgs) -> Result<()> {
    let ask = |door: Door| {
        let (live, status) = (control::get(&door, "/live/now")?, control::get(&door, "/status")?);
        Ok(json!({"server": door.address, "safe_mode": status["safe_mode_note"], "live": live}))
    };
    let servers: Vec<Value> = control::doors(&args.key)?.into_iter().map(ask).collect::<Result<_>>()?;
    if args.json {
        say::line(serde_json::to_string_pretty(&servers)?)?;
    } else {
        say::piece(&table(&servers)?)?;
    }
    Ok(())
}

fn table(servers: &[Value]) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    for server in servers {
        let live = &server["live"];
        let bytes = |name: &str| size::show(live["memory"][name].as_u64().unwrap_or(0));
        let pressure = live["memory"]["pressure"].as_str().unwrap_or("unknown");
        let memory =
            format!("{} held, {} free of {}", bytes("tokbar_bytes"), bytes("free_bytes"), bytes("total_bytes"));
        writeln!(text, "{}  {memory}, pressure {pressure}", server["server"].as_str().unwrap_or(""))?;
        if let Some(note) = server["safe_mode"].as_str() {
            writeln!(text, "  note: {note}")?;
        }
        for model in live["models"].as_array().into_iter().flatten() {
            let count = |name: &str| model[name].as_u64().unwrap_or(0);
            let pinned = if model["is_pinned"] == true { ", pinned" } else { "" };
            let use_ = match (count("n_running"), count("n_waiting")) {
                (0, 0) => format!("unused for {} s", count("unused_s")),
                (running, waiting) => format!("{running} running, {waiting} waiting"),
            };
            let (id, state) = (model["id"].as_str().unwrap_or(""), model["state"].as_str().unwrap_or(""));
            if state != "ready" {
                let loaded = model["loaded"].as_f64().unwrap_or(0.0) * 100.0;
                writeln!(
                    text,
                    "  {id}  {state}{}",
                    if state == "loading" { format!(", {loaded:.0} %") } else { String::new() }
                )?;
                continue;
            }
            writeln!(text, "  {id}  {}  {state}, {use_}{pinned}", size::show(count("n_bytes")))?;
        }
        for act in live["acts"].as_array().into_iter().flatten() {
            let word = |name: &str| act[name].as_str().unwrap_or("");
            writeln!(text, "    {} {}", word("at"), word("words"))?;
        }
    }
    Ok(text)
}
