//! `tokbar search`: looks for MLX models on the Hub, with whether they will fit.

use std::fmt::Write;

use anyhow::Result;
use serde::Serialize;
use tokbar_hub::download::{Hit, search};
use tokbar_hub::fit::{Demand, Machine, Unloaded, Verdict, fit, gigabytes};
use tokbar_hub::recommend::N_CONTEXT;

use crate::cli::SearchArgs;
use crate::{hub, known, memory, say};

/// Asks the Hub and lists what it finds.
pub fn run(args: &SearchArgs) -> Result<()> {
    hub::check_online("search the Hub")?;
    let hits = search(&args.words.join(" "), args.limit, &hub::options()?)?;
    let (machine, catalog) = (memory::machine(), known::catalog()?);
    let rows: Vec<Row> = hits
        .into_iter()
        .map(|hit| {
            let known = catalog.of_id(&hit.id).and_then(tokbar_hub::catalog::Entry::demand);
            Row::new(hit, known, &machine)
        })
        .collect();
    if args.json {
        say::line(serde_json::to_string_pretty(&rows)?)?;
    } else {
        say::piece(&table(&rows)?)?;
    }
    Ok(())
}

#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    hit: Hit,
    /// By the weights alone where nothing else is known; `None` without a size.
    verdict: Option<Verdict>,
}

impl Row {
    fn new(hit: Hit, known: Option<Demand>, machine: &Machine) -> Self {
        let by_size = || Some(Demand { n_weight_bytes: hit.n_weight_bytes?, ..Demand::default() });
        let demand = known.or_else(by_size);
        let verdict = demand.map(|demand| fit(&demand, N_CONTEXT, machine, &Unloaded::default()).verdict);
        Self { hit, verdict }
    }
}

fn table(rows: &[Row]) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    if rows.is_empty() {
        writeln!(text, "the Hub has no MLX model of that name; try fewer words")?;
    }
    let n_name = rows.iter().map(|row| row.hit.id.len()).max().unwrap_or(0);
    for Row { hit, verdict } in rows {
        let size = hit.n_weight_bytes.map_or_else(|| "?".to_owned(), gigabytes);
        let verdict = match verdict {
            Some(Verdict::Fits) => "fits",
            Some(Verdict::Tight) => "tight",
            Some(Verdict::TooBig) => "too big",
            None => "",
        };
        let gated = if hit.is_gated { "gated: accept its terms first" } else { "" };
        let line = format!("{:n_name$}  {size:>8}  {verdict:7}  {:>9} downloads  {gated}", hit.id, hit.n_downloads);
        writeln!(text, "{}", line.trim_end())?;
    }
    Ok(text)
}
