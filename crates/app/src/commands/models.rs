//! `tokbar models`: the models that have short names, and which of them this machine holds.

use std::fmt::Write;

use anyhow::Result;
use serde::Serialize;
use tokbar_hub::catalog::{Catalog, Entry};
use tokbar_hub::fit::{Fit, Machine, Unloaded, Verdict, fit, gigabytes};
use tokbar_hub::recommend::recommend;
use tokbar_hub::scan::Condition;

use crate::cli::ModelsArgs;
use crate::{known, memory, say, shelf};

/// Lists them, with what to try first.
pub fn run(args: &ModelsArgs) -> Result<()> {
    let (catalog, machine) = (known::catalog()?, memory::machine());
    let shelves = shelf::shelves()?;
    let here = |repo: &str| shelf::find(&shelves, repo).iter().any(|model| model.condition == Condition::Ready);
    let listed = catalog.models.iter().filter(|entry| args.all || known::can_run(entry));
    let rows: Vec<Row> = listed.map(|entry| Row::new(entry, &machine, args.context, here(&entry.id()))).collect();
    let list = List { machine, recommended: Recommended::of(&catalog, &machine), models: rows };
    if args.json {
        say::line(serde_json::to_string_pretty(&list)?)?;
    } else {
        say::piece(&list.table()?)?;
    }
    Ok(())
}

/// What is shown.
#[derive(Serialize)]
struct List {
    machine: Machine,
    recommended: Recommended,
    models: Vec<Row>,
}

#[derive(Serialize)]
struct Recommended {
    smart: Option<String>,
    fast: Option<String>,
}

impl Recommended {
    fn of(catalog: &Catalog, machine: &Machine) -> Self {
        let found = recommend(catalog, machine, &known::can_run);
        let name = |entry: Option<&Entry>| entry.map(|entry| known::short(entry).to_owned());
        Self { smart: name(found.smart), fast: name(found.fast) }
    }
}

#[derive(Serialize)]
struct Row {
    name: String,
    id: String,
    capabilities: Vec<String>,
    n_weight_bytes: Option<u64>,
    n_context: Option<u64>,
    kv_bytes_per_token: Option<u64>,
    can_run: bool,
    is_here: bool,
    /// `None` where its size is not known.
    fit: Option<Fit>,
}

impl Row {
    fn new(entry: &Entry, machine: &Machine, n_context: u64, is_here: bool) -> Self {
        let n_context = entry.n_context.map_or(n_context, |most| most.min(n_context));
        let fit = entry.demand().map(|demand| fit(&demand, n_context, machine, &Unloaded::default()));
        Self {
            name: known::short(entry).to_owned(),
            id: entry.id().into_owned(),
            capabilities: entry.capabilities.clone(),
            n_weight_bytes: entry.weight_bytes(),
            n_context: entry.n_context,
            kv_bytes_per_token: entry.kv().map(|kv| kv.n_bytes_per_token + kv.n_window_bytes_per_token),
            can_run: known::can_run(entry),
            is_here,
            fit,
        }
    }

    fn verdict(&self) -> String {
        let Some(fit) = &self.fit else { return "size not known".to_owned() };
        let word = match fit.verdict {
            Verdict::Fits => "fits",
            Verdict::Tight => "tight",
            Verdict::TooBig => "too big",
        };
        match (fit.verdict, fit.n_context_max) {
            (Verdict::Fits | Verdict::Tight, Some(longest)) => format!("{word}, up to {}k of context", longest / 1024),
            _ => word.to_owned(),
        }
    }
}

impl List {
    fn table(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        let (all, free) = (gigabytes(self.machine.n_bytes), gigabytes(self.machine.n_free_bytes));
        writeln!(text, "This machine has {all} of memory, {free} free.")?;
        if let Some(smart) = &self.recommended.smart {
            let fast = self.recommended.fast.as_ref().map_or_else(String::new, |fast| format!("; faster: {fast}"));
            writeln!(text, "Try first: {smart}{fast}. Get a model with `tokbar pull NAME`.")?;
        }
        let n_name = self.models.iter().map(|row| row.name.len()).max().unwrap_or(4);
        for row in &self.models {
            let size = row.n_weight_bytes.map_or_else(|| "?".to_owned(), gigabytes);
            let notes = [(row.is_here, "here"), (!row.can_run, "not run by this build yet")];
            let notes: Vec<&str> = notes.iter().filter(|(is_so, _)| *is_so).map(|(_, note)| *note).collect();
            let (what, verdict) = (row.capabilities.join(" "), row.verdict());
            let line = format!("{:n_name$}  {size:>8}  {verdict:32}  {what}  {}", row.name, notes.join(", "));
            writeln!(text, "{}", line.trim_end())?;
        }
        Ok(text)
    }
}
