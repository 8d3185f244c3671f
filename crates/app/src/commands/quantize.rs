//! `tokbar quantize`.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use anyhow::{Context, Result};
use futures::FutureExt;
use serde_json::json;
use tokbar_hub::fit::{Machine, gigabytes};
use tokbar_hub::gguf::Existing;
use tokbar_models::{Part, PartSize, Recipe, json_sizes, quantize, sizes_by_config};

use crate::cli::QuantizeArgs;
use crate::{progress, say, wiring};

/// Packs the model, or says what packing it would come to.
pub fn run(args: &QuantizeArgs) -> Result<()> {
    let mut recipe = Recipe::new(i32::from(args.bits_of_mode()), args.group_size.map(i32::from), args.mode.name())?;
    for (part, bits) in &args.parts {
        recipe = recipe.with(*part, *bits)?;
    }
    if args.dry_run {
        return report(args, &sizes_by_config(&args.model, &recipe)?);
    }
    let folder = args.folder.as_ref().context("say where the packed model goes")?;
    let existing = if args.force { Existing::Replace } else { Existing::ReplaceOurs };
    // The handler of Ctrl-C stays for the whole process, so only a command that ends with the packing takes it.
    let sizes = wiring::block_on(async {
        let mut stop = std::pin::pin!(wiring::stop_signal(1)?);
        let bar = progress::bytes("Quantizing");
        let sizes = quantize(&args.model, folder, &recipe, existing, &mut |n_done, n_total| {
            progress::show(&bar, n_done, n_total);
            match stop.as_mut().now_or_never() {
                None => ControlFlow::Continue(()),
                Some(()) => ControlFlow::Break(()),
            }
        });
        bar.finish_and_clear();
        anyhow::Ok(sizes?)
    })?;
    if !args.json {
        say::line(folder.display())?;
    }
    report(args, &sizes)
}

fn report(args: &QuantizeArgs, sizes: &BTreeMap<Part, PartSize>) -> Result<()> {
    let total = |count: fn(&PartSize) -> u64| sizes.values().map(count).sum::<u64>();
    let (n_params, n_bytes) = (total(|size| size.n_params), total(|size| size.n_bytes));
    let available = args.memory.map(|n_bytes| Machine::mac(n_bytes, 0).available(0));
    if args.json {
        let all =
            json!({"parts": json_sizes(sizes), "params": n_params, "bytes": n_bytes, "available_bytes": available});
        return Ok(say::line(all)?);
    }
    for (part, size) in sizes {
        say::line(row(part.name(), size.n_params, size.n_bytes))?;
    }
    say::line(row("all", n_params, n_bytes))?;
    let (Some(memory), Some(available)) = (args.memory, available) else { return Ok(()) };
    let experts = sizes.get(&Part::Experts).map_or(0, |size| size.n_bytes);
    let rest = n_bytes - experts;
    let (whole, left) = (gigabytes(n_bytes), gigabytes(available));
    say::line(format_args!("a Mac with {} leaves {left} for a model and its context", gigabytes(memory)))?;
    let verdict = if n_bytes <= available {
        format!("it fits: {whole}, and {} are left for context", gigabytes(available - n_bytes))
    } else if experts > 0 && rest < available {
        let room = available - rest;
        let part = room as f64 / experts as f64 * 100.0;
        format!(
            "it does not fit whole: {whole}; all but the experts take {}, which leaves {} or {part:.0} % of the experts' {} for \
             --expert-memory",
            gigabytes(rest),
            gigabytes(room),
            gigabytes(experts)
        )
    } else {
        format!("it does not fit: {whole}; choose fewer bits or a smaller model")
    };
    Ok(say::line(verdict)?)
}

fn row(name: &str, n_params: u64, n_bytes: u64) -> String {
    let bits = n_bytes as f64 * 8.0 / n_params.max(1) as f64;
    format!(
        "{name:<12} {:>10.2} million weights {:>12}  {bits:>5.2} bits a weight",
        n_params as f64 / 1e6,
        gigabytes(n_bytes)
    )
}
