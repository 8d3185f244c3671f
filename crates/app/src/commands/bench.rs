//! `tokbar bench`: the engine alone, without HTTP.

mod measure;
mod report;

use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::cli::BenchArgs;
use crate::lifecycle::{self, Loaded};
use crate::say;

/// Loads the model, warms it up, measures and prints.
pub fn run(args: &BenchArgs) -> Result<()> {
    let started = Instant::now();
    let loaded = lifecycle::load(&args.model)?;
    let load = started.elapsed();
    let prompt = prompt(args, loaded.engine.info().n_vocab)?;
    let workload = measure::Workload { prompt, n_output: args.output_tokens, n_streams: usize::from(args.streams) };
    let measured = measure_all(&loaded, &workload, args.runs);
    loaded.engine.shutdown();
    let report = report::Report::new(&workload, &measured?, load, peak_rss_bytes()?);
    if args.json {
        say::line(serde_json::to_string_pretty(&report)?)?;
    } else {
        say::piece(&report.table())?;
    }
    Ok(())
}

fn measure_all(loaded: &Loaded, workload: &measure::Workload, n_runs: u16) -> Result<Vec<measure::Run>> {
    measure::once(&loaded.engine, workload).context("the warm-up run failed")?;
    (0..n_runs).map(|_| measure::once(&loaded.engine, workload)).collect()
}

fn prompt(args: &BenchArgs, n_vocab: usize) -> Result<Vec<u32>> {
    match &args.prompt_ids {
        Some(path) => read_prompt(path),
        None => {
            ensure!(args.prompt_tokens > 0, "--prompt-tokens must be at least 1");
            Ok(measure::made_up_prompt(args.prompt_tokens, n_vocab))
        }
    }
}

fn read_prompt(path: &Path) -> Result<Vec<u32>> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let ids: Vec<u32> = serde_json::from_str(&text)
        .with_context(|| format!("{} must hold a JSON array of token ids", path.display()))?;
    ensure!(!ids.is_empty(), "{} holds no token ids", path.display());
    Ok(ids)
}

/// Most memory this process ever held.
fn peak_rss_bytes() -> Result<u64> {
    let usage = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_SELF)
        .context("cannot read this process's resource usage")?;
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    Ok(u64::try_from(usage.max_rss()).unwrap_or(0) * unit)
}
