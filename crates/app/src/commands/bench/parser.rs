//! `tokbar bench parser`: how long each format's parser takes for much output, in pieces as models write them.

use std::time::Instant;

use anyhow::Result;
use serde_json::{Value, json};
use tokbar_chat::{FinishReason, OutputFormat, OutputOptions, OutputParser, Tool, ToolFormat};

use crate::cli::ParserArgs;
use crate::say;

/// Characters of a piece: about a token.
const N_PIECE: usize = 4;

/// Parses one long call and many short ones in every format, and prints the worst first.
pub fn run(args: &ParserArgs) -> Result<()> {
    let n_bytes = args.bytes as usize;
    let mut rows = Vec::new();
    for format in ToolFormat::all() {
        for (what, wire) in [("one long call", one_call(format, n_bytes)), ("many calls", many_calls(format, n_bytes))]
        {
            rows.push((parse(format, &wire), format.name, what, wire.len()));
        }
    }
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (seconds, format, what, n_bytes) in rows {
        let rate = n_bytes as f64 / 1e6 / seconds.max(1e-9);
        say::line(format!("{:>8.1} ms  {rate:>7.1} MB/s  {n_bytes:>8} bytes  {format}, {what}", seconds * 1e3))?;
    }
    Ok(())
}

fn tools() -> Vec<Tool> {
    let parameters =
        json!({ "type": "object", "properties": { "text": { "type": "string" }, "n": { "type": "integer" } } });
    vec![Tool { name: "write".to_owned(), description: None, parameters }]
}

/// Text that is full of what markup and JSON are made of.
const TEXT: &str = "fn main() { let a = [1, 2]; if a < b && c > \"d\" { say(\"hi\\n\"); } } // <b>x</b>: 5, 'y' | z\n";

fn one_call(format: &ToolFormat, n_bytes: usize) -> String {
    let text = TEXT.repeat(n_bytes.div_ceil(TEXT.len()));
    let arguments: Value = json!({ "text": text, "n": 1 });
    format.write_calls([("write", &arguments)])
}

fn many_calls(format: &ToolFormat, n_bytes: usize) -> String {
    let arguments: Value = json!({ "text": TEXT, "n": 1 });
    let n_calls = n_bytes.div_ceil(TEXT.len());
    format.write_calls((0..n_calls).map(|_| ("write", &arguments)))
}

/// Seconds.
fn parse(format: &'static ToolFormat, wire: &str) -> f64 {
    let tools = tools();
    let format = OutputFormat { tools: Some(format), reasoning: None };
    let started = Instant::now();
    let mut parser = OutputParser::new(&format, &OutputOptions { tools: &tools, prompt_tail: "", id_seed: 1 });
    let mut rest = wire;
    let mut n_events = 0;
    while !rest.is_empty() {
        let end = rest.char_indices().nth(N_PIECE).map_or(rest.len(), |(at, _)| at);
        n_events += parser.push(&rest[..end]).len();
        rest = &rest[end..];
    }
    n_events += parser.finish(FinishReason::Stop).len();
    std::hint::black_box(n_events);
    started.elapsed().as_secs_f64()
}
