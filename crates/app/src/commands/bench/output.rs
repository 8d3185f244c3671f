//! Results to the terminal and to files.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::results::Results;
use super::{plot, table};
use crate::cli::OutputArgs;
use crate::say;

/// Prints the tables and writes the files that were asked for. A file is there as a whole or not at all.
///
/// # Errors
/// When nobody reads the output, or a file cannot be written.
pub fn write(results: &Results, args: &OutputArgs) -> Result<()> {
    if let Some(path) = &args.json {
        replace(path, &serde_json::to_string_pretty(results)?)?;
    }
    if let Some(path) = &args.svg {
        replace(path, &plot::svg(results)?)?;
    }
    say::piece(&table::text(results))?;
    Ok(())
}

fn replace(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let write = || -> Result<()> {
        let partial = tempfile::NamedTempFile::new_in(folder)?;
        fs::write(partial.path(), text)?;
        partial.persist(path)?;
        Ok(())
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}
