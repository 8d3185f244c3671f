//! `tokbar bench engine`: the engine alone, in this process, without HTTP.

mod measure;
mod report;

use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use tokbar_chat::{AnswerForm, AnswerRules, TokenScope, Wish};
use tokbar_engine::{MaskSource, ModelInfo};

use crate::cli::EngineArgs;
use crate::lifecycle::{self, Loaded};
use crate::say;
use measure::Pair;

/// Loads the model, warms it up, measures and prints.
pub fn run(args: &EngineArgs) -> Result<()> {
    let started = Instant::now();
    let loaded = lifecycle::load(&args.model)?;
    let load = started.elapsed();
    let workload = workload(args, loaded.engine.info())?;
    let mask = mask(args, &loaded)?;
    let measured = measure_all(&loaded, &workload, mask, args.runs);
    loaded.engine.shutdown();
    let report = report::Report::new(&workload, &measured?, load, peak_rss_bytes()?);
    if args.json {
        say::line(serde_json::to_string_pretty(&report)?)?;
    } else {
        say::piece(&report.table())?;
    }
    Ok(())
}

/// Runs the workload and, in turn with it, the one whose output is held to a form.
fn measure_all(loaded: &Loaded, free: &measure::Workload, mask: Option<MaskSource>, n_runs: u16) -> Result<Vec<Pair>> {
    let held = mask.map(|mask| measure::Workload { mask: Some(mask), ..free.clone() });
    let pair = |run_idx: usize| {
        let once = |workload, nth| measure::once(&loaded.engine, workload, nth);
        let held = held.as_ref().map(|held| once(held, 2 * run_idx + 1)).transpose()?;
        Ok(Pair { free: once(free, 2 * run_idx)?, held })
    };
    let warm_up: Result<Pair> = pair(0);
    warm_up.context("the warm-up run failed")?;
    (1..=usize::from(n_runs)).map(pair).collect()
}

/// What the output of every other run is held to. It may be as long as the run is: nothing ends it but its form.
fn mask(args: &EngineArgs, loaded: &Loaded) -> Result<Option<MaskSource>> {
    let form = match (&args.regex, &args.schema) {
        (Some(pattern), _) => AnswerForm::Regex(pattern.clone()),
        (None, Some(path)) => {
            let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
            let schema = serde_json::from_str(&text).with_context(|| format!("{} is no JSON", path.display()))?;
            AnswerForm::JsonSchema(schema)
        }
        (None, None) => return Ok(None),
    };
    let rules = AnswerRules { form: Some(form), ..AnswerRules::default() };
    let scope = TokenScope { n_vocab: loaded.engine.info().n_vocab, ends: Vec::new() };
    let guidance = loaded.text.guidance(&Wish { rules: &rules, tools: &[], prompt_tail: None }, &scope)?;
    guidance.notices.iter().for_each(|notice| tracing::warn!("{notice}"));
    Ok(tokbar_server::mask(&guidance, args.output_tokens).0)
}

/// Checks the sizes before anything of that size is made.
fn workload(args: &EngineArgs, info: &ModelInfo) -> Result<measure::Workload> {
    let given = args.prompt_ids.as_deref().map(read_prompt).transpose()?;
    let (n_prompt, n_output) = (given.as_ref().map_or(args.prompt_tokens, Vec::len), args.output_tokens);
    ensure!(n_prompt > 0 && n_output > 0, "--prompt-tokens and --output-tokens must be at least 1");
    ensure!(
        n_prompt.saturating_add(n_output) <= info.n_context,
        "{n_prompt} prompt tokens and {n_output} output tokens do not fit the model's context of {} tokens; ask for fewer",
        info.n_context
    );
    let prompt = given.unwrap_or_else(|| measure::made_up_prompt(n_prompt, info.n_vocab));
    Ok(measure::Workload { prompt, n_output, n_streams: usize::from(args.streams), mask: None })
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
