//! A `.desktop` file in the folder of programs that start with the session.

use std::fs;
use std::io;
use std::path::PathBuf;

use anyhow::{Context, anyhow};
use directories::BaseDirs;

use super::{LoginItem, State};

/// See the module.
pub struct Autostart {
    /// Where the file goes; `None` without a home folder.
    path: Option<PathBuf>,
    /// What it starts.
    program: PathBuf,
}

impl Autostart {
    /// This user's, for this program.
    pub fn of_user() -> Self {
        let path = BaseDirs::new().map(|dirs| dirs.config_dir().join("autostart/tokbar.desktop"));
        Self { path, program: std::env::current_exe().unwrap_or_else(|_| PathBuf::from("tokbar-desktop")) }
    }

    /// With the entry at `path`.
    pub fn at(path: PathBuf, program: PathBuf) -> Self {
        Self { path: Some(path), program }
    }

    fn place(&self) -> anyhow::Result<&PathBuf> {
        self.path.as_ref().ok_or_else(|| anyhow!("this user has no home folder"))
    }
}

impl LoginItem for Autostart {
    fn state(&self) -> State {
        let Some(path) = &self.path else { return State::Unavailable };
        // Desktops switch an entry off by a line, and leave the file.
        match fs::read_to_string(path) {
            Ok(text) if !text.lines().any(|line| OFF.contains(&line.trim())) => State::On,
            _ => State::Off,
        }
    }

    fn enable(&self) -> anyhow::Result<()> {
        let path = self.place()?;
        let dir = path.parent().context("the entry has no folder")?;
        fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
        fs::write(path, entry(&self.program.to_string_lossy()))
            .with_context(|| format!("cannot write {}", path.display()))
    }

    fn disable(&self) -> anyhow::Result<()> {
        let path = self.place()?;
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("cannot remove {}", path.display()))
            }
            _ => Ok(()),
        }
    }
}

const OFF: [&str; 2] = ["Hidden=true", "X-GNOME-Autostart-enabled=false"];

/// In a quoted argument `"`, `` ` ``, `$` and `\` are escaped, twice, as the file escapes `\` itself; `%` is doubled.
fn entry(program: &str) -> String {
    let quoted: String = program
        .chars()
        .map(|c| match c {
            '"' | '`' | '$' => format!("\\\\{c}"),
            '\\' => "\\\\\\\\".to_owned(),
            '%' => "%%".to_owned(),
            c => c.to_string(),
        })
        .collect();
    format!("[Desktop Entry]\nType=Application\nName=Tokbar\nExec=\"{quoted}\" --hidden\nTerminal=false\n")
}

#[cfg(test)]
#[path = "linux_tests.rs"]
mod tests;
