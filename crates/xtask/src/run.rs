//! `cargo xtask run`: from a fresh clone to a model that answers, in one command.

use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::Context;

use crate::repo::Profile;
use crate::stages::Stages;
use crate::{model, repo, setup, ui};

/// Serves the model given first, or the one to try Tokbar with; further arguments go to `tokbar serve`.
pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    let (model, options) = split(arguments);
    setup::ensure()?;
    let stages = Stages::new("run");
    ui::ensure(&stages)?;
    let tokbar = stages.run("building tokbar for release", || repo::build_tokbar(Profile::Release))?;
    let model = match model {
        Some(model) => model.into(),
        None => model::bring(&model::SMOLLM2, &tokbar, &stages)?.into_os_string(),
    };
    // The server takes this program's place: Ctrl-C and its exit status are its own.
    let error = Command::new(&tokbar).arg("serve").arg(model).args(options).exec();
    Err(error).with_context(|| format!("starting {}", tokbar.display()))
}

/// The model, if the first argument is no option, and the rest.
fn split(arguments: &[String]) -> (Option<&String>, &[String]) {
    match arguments {
        [first, rest @ ..] if !first.starts_with('-') => (Some(first), rest),
        _ => (None, arguments),
    }
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
