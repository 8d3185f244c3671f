//! `tokbar ls`: the models on this machine.

use std::fmt::Write;

use anyhow::Result;
use tokbar_hub::scan::{Access, Condition, Form, Model, Shelf};

use crate::cli::LsArgs;
use crate::{say, shelf, size};

/// Adds and forgets folders, then lists what there is.
pub fn run(args: &LsArgs) -> Result<()> {
    args.add.iter().try_for_each(|dir| shelf::add(dir))?;
    args.forget.iter().try_for_each(|dir| shelf::forget(dir))?;
    let shelves = shelf::shelves()?;
    if args.json {
        say::line(serde_json::to_string_pretty(&shelves)?)?;
    } else {
        say::piece(&table(&shelves)?)?;
    }
    Ok(())
}

/// One table of all places that hold something or should.
fn table(shelves: &[Shelf]) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    let models = || shelves.iter().flat_map(|shelf| &shelf.models);
    let n_name = models().map(|model| model.name.chars().count()).max().unwrap_or(0).max(4);
    for shelf in shelves {
        let (owner, path) = (shelf.place.owner, shelf.place.path.display());
        let note = match &shelf.access {
            Access::Present if shelf.models.is_empty() => continue,
            // The usual places are absent wherever their programs are.
            Access::Absent if owner != tokbar_hub::scan::Owner::Person => continue,
            Access::Present => String::new(),
            Access::Absent => ": not there; is its drive connected?".to_owned(),
            Access::Refused { reason } => format!(": cannot be read ({reason})"),
        };
        writeln!(text, "{} {path}{note}", owner.describe())?;
        shelf.models.iter().try_for_each(|model| row(&mut text, model, n_name))?;
    }
    if text.is_empty() {
        writeln!(text, "no models yet: `tokbar models` lists some, `tokbar pull NAME` gets one")?;
    }
    Ok(text)
}

fn row(text: &mut String, model: &Model, n_name: usize) -> std::fmt::Result {
    let about = model.about.clone().unwrap_or_default();
    let form = match model.form {
        Form::Safetensors => "",
        Form::Gguf => "GGUF ",
    };
    let kind = format!("{form}{}", about.quantization.unwrap_or_default());
    let context = about.n_context.map_or_else(String::new, |n| format!("{n} tokens"));
    let line = format!("  {:n_name$}  {:>9}  {kind:10}  {context}", model.name, size::show(model.n_bytes));
    writeln!(text, "{}", line.trim_end())?;
    match &model.condition {
        Condition::Ready => Ok(()),
        Condition::Partial { reason } => writeln!(text, "    incomplete: {reason}"),
        Condition::Broken { reason } => writeln!(text, "    broken: {reason}"),
    }
}
