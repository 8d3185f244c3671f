//! `tokbar pull`: brings a model from the Hub into the Hugging Face cache.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::json;
use tokbar_hub::download::Present;
use tokbar_hub::fit::{Unloaded, Verdict, fit};
use tokbar_hub::recommend::N_CONTEXT;

use crate::cli::PullArgs;
use crate::hub::{self, Shown};
use crate::{known, memory, say};

/// How often progress is printed as JSON.
const TELL_EVERY: Duration = Duration::from_millis(500);

/// Says whether the model will fit, then downloads it, or what is missing of it.
pub fn run(args: &PullArgs) -> Result<()> {
    let id = known::id_of(&args.model)?.unwrap_or_else(|| args.model.clone());
    if !id.contains('/') {
        bail!("there is no model named {id}; `tokbar models --all` lists the names, `tokbar search {id}` asks the Hub");
    }
    hub::check_online(&format!("download `{id}`"))?;
    let mut options = hub::options()?;
    options.revision = args.revision.clone().or_else(|| known::catalog().ok()?.of_id(&id)?.revision.clone());
    if args.verify {
        options.present = Present::Verified;
    }
    advise(&id)?;
    if !args.json {
        let dir = hub::pull_with_bar(&id, &options)?;
        say::line(format_args!("{id} is here: {}\nTry it: tokbar run {}", dir.display(), args.model))?;
        return Ok(());
    }
    let mut told: Option<Instant> = None;
    let mut broken = Ok(());
    let pulled = hub::pull(&id, &options, &mut |shown| {
        if broken.is_ok() && told.is_none_or(|told| told.elapsed() >= TELL_EVERY) {
            told = Some(Instant::now());
            broken = say::line(progress_line(&shown));
        }
        ControlFlow::Continue(())
    });
    broken?;
    match &pulled {
        Ok(dir) => say::line(json!({"event": "done", "id": id, "path": dir}))?,
        Err(error) => say::line(json!({"event": "error", "id": id, "message": error.to_string()}))?,
    }
    Ok(pulled.map(drop)?)
}

fn progress_line(shown: &Shown) -> serde_json::Value {
    json!({
        "event": "progress",
        "n_bytes_done": shown.progress.n_bytes_done,
        "n_bytes": shown.progress.n_bytes,
        "bytes_per_s": shown.bytes_per_s.map(f64::round),
        "left_s": shown.left.map(|left| left.as_secs()),
    })
}

/// Says so before the download when a model will not fit; a person may know better.
fn advise(id: &str) -> Result<()> {
    let catalog = known::catalog()?;
    let Some(demand) = catalog.of_id(id).and_then(tokbar_hub::catalog::Entry::demand) else { return Ok(()) };
    let fit = fit(&demand, N_CONTEXT, &memory::machine(), &Unloaded::default());
    if fit.verdict != Verdict::Fits {
        tracing::warn!("{id} {}", fit.words);
    }
    Ok(())
}
