//! `tokbar launch`: runs a client against a running server with settings of its own, which are gone afterwards.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::connect::{client, target};
use crate::cli::LaunchArgs;
use crate::connect::{self, Launch, Place, Target};
use crate::wiring;

/// Runs it, and ends as it ends.
pub fn run(args: &LaunchArgs) -> Result<()> {
    let client = client(&args.client)?;
    let Some(launch) = &client.launch else {
        bail!("{} cannot be launched; `tokbar connect {}` says how it is connected", client.title, client.name);
    };
    let target = target(&args.target)?;
    let folder = tempfile::Builder::new().prefix("tokbar-").tempdir().context("there is no place for its settings")?;
    let place = Place::under(folder.path());
    connect::apply(&connect::plan(client, &target, &place)?, &place)?;
    for (path, text) in launch.seeds {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap_or(folder.path()))
            .and_then(|()| fs::write(&path, text))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    let mut command = command(launch, &target, folder.path());
    command.args(&args.arguments);
    let status = wiring::run_program(command)
        .with_context(|| format!("{} cannot be started; is it installed and on PATH?", launch.program))?;
    folder.close().context("its settings could not be removed")?;
    match status.code() {
        Some(0) => Ok(()),
        Some(code) => std::process::exit(code),
        None => bail!("{} was killed", launch.program),
    }
}

fn command(launch: &Launch, target: &Target, folder: &Path) -> Command {
    let mut command = Command::new(launch.program);
    for name in launch.unset {
        command.env_remove(name);
    }
    command.envs((launch.variables)(target));
    for (name, path) in launch.folders {
        command.env(name, folder.join(path));
        // Commits that it makes are still this user's.
        let own = std::env::var_os("HOME").map(|home| Path::new(&home).join(".gitconfig"));
        if let Some(own) = own.filter(|own| *name == "HOME" && own.is_file()) {
            command.env("GIT_CONFIG_GLOBAL", own);
        }
    }
    command.args((launch.arguments)(target));
    command
}
