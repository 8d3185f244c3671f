//! Installs what the harness runs, into folders of the test kit. No package's scripts run.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use super::table::{ROWS, Source};
use crate::python::{self, Dependencies};
use crate::stages::Stages;
use crate::{files, repo, shell};

/// The folder of a client.
pub fn place(folder: &str) -> anyhow::Result<PathBuf> {
    Ok(repo::testkit()?.join("clients").join(folder))
}

/// Installs all clients that are not there in these versions.
pub fn all(stages: &Stages) -> anyhow::Result<()> {
    let mut done: Vec<&str> = Vec::new();
    for row in ROWS {
        if done.contains(&row.folder) {
            continue;
        }
        done.push(row.folder);
        let folder = place(row.folder)?;
        stages.run(&format!("client {}", row.folder), || install(&row.source, &folder))?;
    }
    Ok(())
}

fn install(source: &Source, folder: &Path) -> anyhow::Result<()> {
    let text: String = source.packages().iter().map(|package| format!("{package}\n")).collect();
    match source {
        Source::Pip { .. } => {
            std::fs::create_dir_all(folder.parent().unwrap_or(folder)).context("creating the folder of clients")?;
            python::environment(folder, &text, Dependencies::Resolved)
        }
        Source::Npm { packages, .. } => {
            let stamp = folder.join("stamp");
            if files::says(&stamp, &text) {
                return Ok(());
            }
            files::empty_dir(folder)?;
            let mut npm = Command::new("npm");
            npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--save-exact"]);
            shell::capture(npm.arg("--prefix").arg(folder).args(*packages))?;
            std::fs::write(&stamp, text).with_context(|| format!("writing {}", stamp.display()))
        }
    }
}
