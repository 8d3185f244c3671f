//! `THIRD-PARTY.txt`: whose work is in the app, under which licence, and the licences' texts, each once.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, bail, ensure};

use super::crates::{self, Crate};
use super::pages;
use crate::files;

/// Starts of the names of files that hold a licence or a notice.
const LICENCE_FILES: &[&str] = &["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE", "COPYRIGHT"];
/// Longer than any licence.
const MAX_TEXT_BYTES: u64 = 1 << 20;

/// What is in MLX's own library, which is no crate.
const MLX: &str = include_str!("mlx-notices.txt");

/// `dist notices FILE`
pub fn write(arguments: &[String]) -> anyhow::Result<()> {
    let [file] = arguments else { bail!("one argument is taken: the file to write") };
    let crates = [crates::shipped()?, pages::shipped()?].concat();
    let mut texts = Vec::new();
    for found in &crates {
        texts.push(licence_texts(&found.folder)?);
    }
    let text = page(&crates, &texts)?;
    fs::write(file, text).with_context(|| format!("writing {file}"))
}

/// Texts of a crate's licence files.
fn licence_texts(folder: &Path) -> anyhow::Result<Vec<String>> {
    let is_licence = |name: &str| LICENCE_FILES.iter().any(|start| name.to_ascii_uppercase().starts_with(start));
    let mut texts = Vec::new();
    for path in files::find(folder, is_licence)? {
        let is_text =
            !["rs", "html", "json"].iter().any(|ending| path.extension().is_some_and(|found| found == *ending));
        let size = path.metadata().with_context(|| format!("reading {}", path.display()))?.len();
        if is_text && size <= MAX_TEXT_BYTES {
            let bytes = fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
            texts.push(String::from_utf8_lossy(&bytes).trim().replace("\r\n", "\n"));
        }
    }
    texts.retain(|text| !text.is_empty());
    Ok(texts)
}

/// The page of these crates and their texts, in the same order.
fn page(crates: &[Crate], texts: &[Vec<String>]) -> anyhow::Result<String> {
    ensure!(crates.len() == texts.len(), "as many crates as texts");
    let mut users: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut page = String::from("Tokbar contains the work of others, under licences of their own.\n\n");
    for (found, texts) in crates.iter().zip(texts) {
        let name = format!("{} {}", found.name, found.version);
        writeln!(page, "{name}: {} {}", found.licence, found.repository)?;
        for text in texts {
            users.entry(text).or_default().push(name.clone());
        }
    }
    writeln!(page, "\n{MLX}")?;
    for (text, names) in users {
        writeln!(page, "{}\n{}\n\n{text}\n", "-".repeat(100), names.join(", "))?;
    }
    Ok(page)
}

#[cfg(test)]
#[path = "notices_tests.rs"]
mod tests;
