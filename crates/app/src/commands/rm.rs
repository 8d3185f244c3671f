//! `tokbar rm`: removes a model from the disk.

use anyhow::{Result, bail};
use serde_json::json;
use tokbar_hub::scan::{Model, Owner, remove};

use crate::cli::RmArgs;
use crate::{say, shelf, size};

/// Finds the model, asks, and removes it.
pub fn run(args: &RmArgs) -> Result<()> {
    let model = one(&args.model)?;
    if !args.yes && model.owner != Owner::Ollama && !say::is_agreed(&question(&model))? {
        say::line("nothing was removed")?;
        return Ok(());
    }
    let removed = remove(&model)?;
    if args.json {
        say::line(json!({"name": model.name, "path": removed.path, "n_bytes": removed.n_bytes}))?;
    } else {
        say::line(format_args!("{} removed, {} freed", model.name, size::show(removed.n_bytes)))?;
    }
    Ok(())
}

fn one(name: &str) -> Result<Model> {
    let mut found = shelf::find(&shelf::shelves()?, name);
    match found.len() {
        0 => bail!("there is no model {name} on this machine; `tokbar ls` lists those that are"),
        1 => Ok(found.remove(0)),
        _ => {
            let paths: Vec<String> = found.iter().map(|model| model.path.display().to_string()).collect();
            bail!("there are several models {name}; give the path of one of them: {}", paths.join(", "))
        }
    }
}

/// What is asked names who else counts on the files.
fn question(model: &Model) -> String {
    let whose = match model.owner {
        Owner::HuggingFace => " in the Hugging Face cache, which other programs share",
        Owner::LmStudio => ", which LM Studio uses",
        Owner::Ollama | Owner::Person => "",
    };
    format!("Remove {} ({}){whose}?", model.name, size::show(model.n_bytes))
}
