//! `tokbar info`: what a checkpoint is and what it needs, without loading or downloading it.

use std::fmt::Write;

use anyhow::{Result, bail};
use serde::Serialize;
use serde_json::json;
use tokbar_chat::{ChatTemplate, Detection};
use tokbar_hub::catalog::Entry;
use tokbar_hub::checkpoint::Checkpoint;
use tokbar_hub::fit::{Demand, Fit, Unloaded, fit};
use tokbar_hub::recommend::N_CONTEXT;

use crate::cli::InfoArgs;
use crate::{known, lifecycle, memory, say, sources};

/// Opens the checkpoint and prints what its files say.
pub fn run(args: &InfoArgs) -> Result<()> {
    let Some(source) = sources::here(&args.model)? else { return known_only(args) };
    let checkpoint = Checkpoint::open(&source.dir)?;
    let template = ChatTemplate::load(&source.dir)?;
    let detection = template.as_ref().map(ChatTemplate::detection).unwrap_or_default();
    let detection = lifecycle::detection(detection, &source.name, &args.format)?;
    let info = Info::new(source.name, &checkpoint, &detection);
    if args.json {
        say::line(serde_json::to_string_pretty(&info)?)?;
    } else {
        say::piece(&info.table()?)?;
    }
    Ok(())
}

/// What the list of known models says of one that is not here; nothing is downloaded for a question.
fn known_only(args: &InfoArgs) -> Result<()> {
    let (catalog, name) = (known::catalog()?, &args.model);
    let Some(entry) = catalog.find(name).or_else(|| catalog.of_id(name)) else {
        match name.contains('/') {
            true => bail!(
                "{name} is not on this machine; `tokbar pull {name}` gets it, `tokbar search` tells its size first"
            ),
            false => bail!(
                "there is no model named {name}: `tokbar ls` lists those on this machine, `tokbar models` those with short names"
            ),
        }
    };
    let fit = entry.demand().map(|demand| fit_of(&demand));
    if args.json {
        let kv = entry.kv().map(|kv| kv.n_bytes_per_token + kv.n_window_bytes_per_token);
        let told = json!({"is_here": false, "known": entry, "id": entry.id(), "n_weight_bytes": entry.weight_bytes(),
            "kv_bytes_per_token": kv, "fit": fit});
        return Ok(say::line(serde_json::to_string_pretty(&told)?)?);
    }
    Ok(say::piece(&known_table(entry, fit.as_ref())?)?)
}

fn known_table(entry: &Entry, fit: Option<&Fit>) -> Result<String, std::fmt::Error> {
    let unknown = || "not known".to_owned();
    let mut rows = vec![
        ("name", known::short(entry).to_owned()),
        ("on the Hub", entry.id().into_owned()),
        ("here", format!("no: `tokbar pull {}` gets it", known::short(entry))),
        ("model_type", entry.family.clone().unwrap_or_else(unknown)),
        ("quantization", format!("{} bits", entry.quantization.bits)),
        ("size", entry.weight_bytes().map_or_else(unknown, |n| format!("about {}", megabytes(n)))),
        ("context", entry.n_context.map_or_else(unknown, |n| format!("{n} tokens"))),
        ("can", entry.capabilities.join(", ")),
        ("memory", fit.map_or_else(unknown, |fit| fit.words.clone())),
    ];
    rows.extend(entry.notes.iter().map(|note| ("note", format!("{} ({})", note.text, note.source))));
    let mut table = String::new();
    for (what, value) in rows {
        writeln!(table, "{what:<16}{value}")?;
    }
    Ok(table)
}

/// What is shown.
#[derive(Serialize)]
struct Info {
    name: String,
    folder: String,
    model_type: String,
    quantization: Option<String>,
    n_params: u64,
    n_weight_bytes: u64,
    n_weight_files: usize,
    n_context: Option<u64>,
    kv_bytes_per_token: Option<u64>,
    kv_bytes_full_context: Option<u64>,
    has_tokenizer: bool,
    has_chat_template: bool,
    /// Whether it fits this machine now, with a context of 8k.
    fit: Fit,
    tool_calls: Found,
    reasoning: Found,
}

/// A format and why it is taken.
#[derive(Serialize)]
struct Found {
    format: Option<&'static str>,
    because: String,
}

impl Found {
    fn text(&self) -> String {
        format!("{}: {}", self.format.unwrap_or("none"), self.because)
    }
}

impl Info {
    fn new(name: String, checkpoint: &Checkpoint, detection: &Detection) -> Self {
        let format = detection.format;
        Self {
            name,
            folder: checkpoint.dir.display().to_string(),
            model_type: checkpoint.model_type.clone(),
            quantization: checkpoint
                .quantization
                .as_ref()
                .map(|q| format!("{} bits, groups of {}, {}", q.bits, q.group_size, q.mode)),
            n_params: checkpoint.n_params,
            n_weight_bytes: checkpoint.n_bytes(),
            n_weight_files: checkpoint.files.len(),
            n_context: checkpoint.n_context,
            kv_bytes_per_token: checkpoint.kv.map(|kv| kv.n_bytes_per_token + kv.n_window_bytes_per_token),
            kv_bytes_full_context: checkpoint.kv.zip(checkpoint.n_context).map(|(kv, n_tokens)| kv.n_bytes(n_tokens)),
            has_tokenizer: checkpoint.has_tokenizer,
            has_chat_template: checkpoint.has_chat_template,
            fit: fit_of(&lifecycle::demand(checkpoint)),
            tool_calls: Found {
                format: format.tools.map(|format| format.name),
                because: detection.tools_because.to_string(),
            },
            reasoning: Found {
                format: format.reasoning.map(|format| format.name),
                because: detection.reasoning_because.to_string(),
            },
        }
    }

    fn table(&self) -> Result<String, std::fmt::Error> {
        let unknown = || "not said".to_owned();
        let yes_no = |is_there: bool| if is_there { "yes" } else { "no" }.to_owned();
        let rows = [
            ("name", self.name.clone()),
            ("folder", self.folder.clone()),
            ("model_type", self.model_type.clone()),
            ("quantization", self.quantization.clone().unwrap_or_else(|| "none".to_owned())),
            ("weights", format!("{:.1} million", self.n_params as f64 / 1e6)),
            ("size", format!("{} in {} file(s)", megabytes(self.n_weight_bytes), self.n_weight_files)),
            ("context", self.n_context.map_or_else(unknown, |n| format!("{n} tokens"))),
            ("KV cache", self.kv_bytes_per_token.map_or_else(unknown, |n| format!("{n} bytes a token"))),
            ("at full context", self.kv_bytes_full_context.map_or_else(unknown, megabytes)),
            ("tokenizer", yes_no(self.has_tokenizer)),
            ("chat template", yes_no(self.has_chat_template)),
            ("memory", self.fit.words.clone()),
            ("tool calls", self.tool_calls.text()),
            ("reasoning", self.reasoning.text()),
        ];
        let mut table = String::new();
        for (what, value) in rows {
            writeln!(table, "{what:<16}{value}")?;
        }
        Ok(table)
    }
}

fn fit_of(demand: &Demand) -> Fit {
    let n_context = demand.n_context.map_or(N_CONTEXT, |most| most.min(N_CONTEXT));
    fit(demand, n_context, &memory::machine(), &Unloaded::default())
}

fn megabytes(n_bytes: u64) -> String {
    format!("{:.1} MB", n_bytes as f64 / 1e6)
}
