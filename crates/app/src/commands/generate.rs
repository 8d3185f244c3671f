//! `tokbar generate`: completions for shells and manual pages, made of the command line itself. Packages call it.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result};
use clap::{Command, CommandFactory};
use clap_complete::Shell;

use crate::cli::{Cli, GenerateArgs};

/// The program's name.
const NAME: &str = "tokbar";
/// Shells and the names that their files go by, as package managers want them.
const COMPLETIONS: [(Shell, &str); 3] =
    [(Shell::Bash, "tokbar.bash"), (Shell::Fish, "tokbar.fish"), (Shell::Zsh, "_tokbar")];

/// Writes all of them into the folder.
pub fn run(args: &GenerateArgs) -> Result<()> {
    for (shell, name) in COMPLETIONS {
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut Cli::command(), NAME, &mut text);
        write(&args.folder.join(name), &text)?;
    }
    let mut command = Cli::command();
    command.build();
    manual(&command, NAME, &args.folder)
}

/// The pages of a command and of those below it that are not hidden.
fn manual(command: &Command, name: &str, folder: &Path) -> Result<()> {
    let path = folder.join(format!("{name}.1"));
    let mut text = Vec::new();
    clap_mangen::Man::new(command.clone().display_name(name.to_owned()))
        .title(name.to_uppercase())
        .render(&mut text)
        .with_context(|| format!("cannot write {}", path.display()))?;
    write(&path, &text)?;
    for below in command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help") {
        manual(below, &format!("{name}-{}", below.get_name()), folder)?;
    }
    Ok(())
}

fn write(path: &Path, text: &[u8]) -> Result<()> {
    let write = || std::io::Write::write_all(&mut File::create(path)?, text);
    write().with_context(|| format!("cannot write {}", path.display()))
}
