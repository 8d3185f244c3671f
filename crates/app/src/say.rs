//! What a person at the terminal reads. Standard output may go away: a pipe that is closed early is an error and no
//! panic.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write, stdin};

use anyhow::{Context, Result, bail};

/// Writes `text` and a line end, at once.
///
/// # Errors
/// When nobody reads any more, or the disk is full.
pub fn line(text: impl Display) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}

/// Writes `text` as it is, at once.
///
/// # Errors
/// As [`line`].
pub fn piece(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Writes what is no part of the answer, such as thinking, to standard error: dimmed, and only to a person.
pub fn aside(text: &str) {
    let mut out = io::stderr().lock();
    // A terminal that is gone reads no asides.
    if out.is_terminal() && write!(out, "\x1b[2m{text}\x1b[0m").is_err() {
        tracing::trace!("standard error is gone");
    }
}

/// Whether a person says yes to `question`.
///
/// # Errors
/// When nobody can be asked.
pub fn is_agreed(question: &str) -> Result<bool> {
    if !stdin().is_terminal() {
        bail!("{question} There is nobody to ask; say --yes");
    }
    piece(&format!("{question} [y/N] "))?;
    let mut answer = String::new();
    stdin().read_line(&mut answer).context("no answer can be read")?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// An error and its causes in one line, each once: many errors tell their cause in their own words already.
pub fn cause(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
    }
    text
}

#[cfg(test)]
#[path = "say_tests.rs"]
mod tests;
