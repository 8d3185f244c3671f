//! `tokbar ps`: what running servers have in memory.

use std::fmt::Write;

use anyhow::Result;
use serde_json::{Value, json};

use crate::cli::PsArgs;
use crate::{control, say, size};

/// Asks every server and shows its models, memory, and what it did of late to save some.
pub fn run(args: &PsArgs) -> Result<()> {
    let ask = |address: String| {
        let census = control::get(&address, "/control/models", &args.key)?;
        Ok(json!({"server": address, "census": census}))
    };
    let servers: Vec<Value> = control::addresses(&args.key)?.into_iter().map(ask).collect::<Result<_>>()?;
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
        let census = &server["census"];
        let bytes = |name: &str| size::show(census[name].as_u64().unwrap_or(0));
        let pressure = census["pressure"].as_str().unwrap_or("unknown");
        let memory =
            format!("{} held, {} free of {}", bytes("footprint_bytes"), bytes("free_bytes"), bytes("total_bytes"));
        writeln!(text, "{}  {memory}, pressure {pressure}", server["server"].as_str().unwrap_or(""))?;
        for model in census["models"].as_array().into_iter().flatten() {
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
        for act in census["acts"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            writeln!(text, "    {act}")?;
        }
    }
    Ok(text)
}
