//! What a start of the app finds of an update before it: a new version has to prove itself, and when it fails to start, the
//! one before is offered and comes back.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tokbar_app::update::{Kept, Start, Trial, put_back, read_trial, started, write_trial};

use super::installed;

/// Folder of the version before, in the folder of updates.
pub const PREVIOUS: &str = "previous";

/// Where the trial is written down.
pub fn trial_file(folder: &Path) -> PathBuf {
    folder.join("trial.json")
}

/// What a start found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Begun {
    /// Nothing.
    Ordinary,
    /// A new version, which has to prove itself.
    OnTrial(Trial),
    /// The version before, after the new one failed.
    Back(Trial),
}

/// What the start is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Go on.
    Go(Begun),
    /// Give this program its place.
    Run(PathBuf),
}

/// What a person wants when a new version does not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The version before.
    Previous,
    /// The new one once more.
    Again,
}

/// To be called once this is the app that runs, before anything that a new version may fail at. `ask` is called when a new
/// version has failed; the version before, if it is wanted, is in the app's place then.
///
/// # Errors
/// When the version before is wanted and cannot be put back.
pub fn begin(folder: &Path, version: &str, ask: impl FnOnce(&Trial) -> Answer) -> Result<Step> {
    let file = trial_file(folder);
    let (app, _) = installed();
    let note = |trial: Option<&Trial>| {
        if let Err(error) = write_trial(&file, trial) {
            tracing::warn!(%error, "starts after an update are not counted");
        }
    };
    let kept = app.as_ref().map(|app| Kept::of(app, &folder.join(PREVIOUS)));
    match started(read_trial(&file), version) {
        Start::Ordinary => Ok(Step::Go(Begun::Ordinary)),
        Start::OnTrial(trial) => {
            note(Some(&trial));
            Ok(Step::Go(Begun::OnTrial(trial)))
        }
        Start::Back(trial) => {
            note(None);
            if let Some(Err(error)) = kept.map(|kept| kept.forget()) {
                tracing::warn!(%error, "the version before is still kept");
            }
            Ok(Step::Go(Begun::Back(trial)))
        }
        Start::OfferPrevious(trial) => {
            note(Some(&trial));
            if ask(&trial) == Answer::Previous {
                let (app, kept) = app.zip(kept).context("this Tokbar is not an installed app")?;
                put_back(&kept, &app).with_context(|| format!("Tokbar {} cannot be put back", trial.from))?;
                return Ok(Step::Run(program(&app)?));
            }
            // Not this program: its question has left a toolkit half started.
            note(Some(&Trial { n_starts: 0, ..trial }));
            Ok(Step::Run(app.as_deref().map_or_else(std::env::current_exe, program)?))
        }
    }
}

/// The program of an app, which is the app itself where that is one file.
fn program(app: &Path) -> std::io::Result<PathBuf> {
    if app.is_dir() { std::env::current_exe() } else { Ok(app.to_owned()) }
}

#[cfg(test)]
#[path = "trial_tests.rs"]
mod tests;
