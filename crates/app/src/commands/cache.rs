//! `tokbar cache`: what the KV cache on disk holds, and moving it.

use std::fmt::Write;
use std::path::Path;

use anyhow::Result;
use jiff::Timestamp;
use serde::Serialize;
use tokbar_engine::tier::{self, Flaws, ModelSummary, Transfer};

use crate::cli::{CacheAction, CacheArgs};
use crate::{kv_cache, say, size};

/// Does what was asked for.
pub fn run(args: &CacheArgs) -> Result<()> {
    let options = kv_cache::options(&args.dir, "")?;
    match &args.action {
        CacheAction::Info { json } => info(&options.dir, if *json { Form::Json } else { Form::Table }),
        CacheAction::Clear { yes } => clear(&options.dir, *yes),
        CacheAction::Export { file } => told("exported", file, tier::export(&options.dir, file)?),
        CacheAction::Import { file } => told("imported", file, tier::import(&options, file)?),
    }
}

enum Form {
    Json,
    Table,
}

/// What is shown of a model.
#[derive(Serialize)]
struct Shown {
    model: String,
    fingerprint: String,
    n_blocks: usize,
    n_snapshots: usize,
    n_tokens: u64,
    n_bytes: u64,
    n_corrupt: u64,
    n_truncated: u64,
    n_foreign: u64,
    last_used: Option<String>,
    is_in_use: bool,
}

impl From<ModelSummary> for Shown {
    fn from(summary: ModelSummary) -> Self {
        let Flaws { n_corrupt, n_truncated, n_foreign } = summary.flaws;
        let last_used = summary.used.and_then(|used| Timestamp::try_from(used).ok());
        Self {
            model: summary.label,
            fingerprint: summary.fingerprint,
            n_blocks: summary.n_blocks,
            n_snapshots: summary.n_snapshots,
            n_tokens: summary.n_tokens,
            n_bytes: summary.n_bytes,
            n_corrupt,
            n_truncated,
            n_foreign,
            last_used: last_used.map(|used| format!("{used:.0}")),
            is_in_use: summary.is_in_use,
        }
    }
}

fn info(dir: &Path, form: Form) -> Result<()> {
    let shown: Vec<Shown> = tier::summaries(dir)?.into_iter().map(Shown::from).collect();
    match form {
        Form::Json => say::line(serde_json::to_string_pretty(&shown)?)?,
        Form::Table => say::piece(&table(dir, &shown)?)?,
    }
    Ok(())
}

fn table(dir: &Path, shown: &[Shown]) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    let n_bytes = shown.iter().map(|model| model.n_bytes).sum();
    writeln!(text, "{}: {}", dir.display(), size::show(n_bytes))?;
    for model in shown {
        let name = if model.model.is_empty() { &model.fingerprint } else { &model.model };
        let in_use = if model.is_in_use { ", in use" } else { "" };
        writeln!(text, "\n{name}{in_use}")?;
        writeln!(
            text,
            "  {} blocks of {} tokens in all, {} snapshots",
            model.n_blocks, model.n_tokens, model.n_snapshots
        )?;
        let used = model.last_used.as_deref().unwrap_or("never");
        writeln!(text, "  {}, last used {used}", size::show(model.n_bytes))?;
        let n_skipped = model.n_corrupt + model.n_truncated + model.n_foreign;
        if n_skipped > 0 {
            let counts = [(model.n_corrupt, "damaged"), (model.n_truncated, "cut short"), (model.n_foreign, "foreign")];
            writeln!(text, "  skipped: {}", counts.map(|(n, what)| format!("{n} {what}")).join(", "))?;
        }
    }
    Ok(text)
}

fn clear(dir: &Path, is_confirmed: bool) -> Result<()> {
    let n_bytes: u64 = tier::summaries(dir)?.iter().map(|summary| summary.n_bytes).sum();
    if n_bytes == 0 {
        say::line(format_args!("{} is empty", dir.display()))?;
        return Ok(());
    }
    let question = format!("Remove {} in {}?", size::show(n_bytes), dir.display());
    if !is_confirmed && !say::is_agreed(&question)? {
        say::line("nothing was removed")?;
        return Ok(());
    }
    let (n_freed, in_use) = tier::clear(dir)?;
    say::line(format_args!("{} freed", size::show(n_freed)))?;
    for model in in_use {
        say::line(format_args!("the cache of {model} stays, as a running Tokbar uses it"))?;
    }
    Ok(())
}

fn told(what: &str, file: &Path, transfer: Transfer) -> Result<()> {
    let Transfer { n_moved, n_known, n_without_room, n_bytes, flaws } = transfer;
    say::line(format_args!("{}: {n_moved} records {what}, {}", file.display(), size::show(n_bytes)))?;
    let notes = [
        (n_known, "were there already"),
        (n_without_room, "found no room; raise --cache-size, lower --cache-reserve or free disk space"),
        (flaws.n_corrupt, "damaged stretches or records were skipped"),
        (flaws.n_truncated, "records that are cut short were skipped"),
        (flaws.n_foreign, "records of another version or model were skipped"),
    ];
    for (n, note) in notes.into_iter().filter(|(n, _)| *n > 0) {
        say::line(format_args!("{n} {note}"))?;
    }
    Ok(())
}
