//! `latest.json`: what the app asks for when it looks for an update.

use anyhow::{Context, bail, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// Rust's updater calls a Mac with Apple silicon so.
const PLATFORM: &str = "darwin-aarch64";
/// More than any notes that a window would show.
const MAX_NOTES_BYTES: usize = 20_000;

/// `dist manifest VERSION URL SIGNATURE_FILE NOTES_FILE DATE`
pub fn print(arguments: &[String]) -> anyhow::Result<()> {
    let [version, url, signature, notes, date] = arguments else { bail!("five arguments are taken") };
    let read = |path: &str| std::fs::read_to_string(path).with_context(|| format!("reading {path}"));
    let update = Update { version, url, signature: &read(signature)?, notes: &read(notes)?, date };
    println!("{}", serde_json::to_string_pretty(&manifest(&update)?)?);
    Ok(())
}

/// One version to offer.
struct Update<'a> {
    version: &'a str,
    url: &'a str,
    /// What `minisign` wrote beside the archive.
    signature: &'a str,
    notes: &'a str,
    /// Such as 2026-12-01T00:00:00Z.
    date: &'a str,
}

fn manifest(update: &Update) -> anyhow::Result<Value> {
    let version = update.version;
    let comment = update.signature.lines().find_map(|line| line.strip_prefix("trusted comment: "));
    let comment = comment.context("the signature has no trusted comment: it has to be one of minisign's")?;
    // The app refuses an archive whose signature is for another version: an old one cannot be offered as new.
    ensure!(
        comment.split([' ', '\t']).any(|word| word == format!("version:{version}")),
        "the signature is for `{comment}`, not for version:{version}; see packaging/sign-update.sh"
    );
    ensure!(update.url.starts_with("https://"), "{} is not encrypted", update.url);
    ensure!(update.url.contains(version), "{} does not name version {version}", update.url);
    ensure!(update.notes.len() <= MAX_NOTES_BYTES, "notes of {} bytes; at most {MAX_NOTES_BYTES}", update.notes.len());
    ensure!(!update.notes.trim().is_empty(), "the notes are empty");
    let is_date = update.date.len() == 20 && update.date.ends_with('Z') && update.date.as_bytes()[10] == b'T';
    ensure!(is_date, "`{}` is no date such as 2026-12-01T00:00:00Z", update.date);
    Ok(json!({
        "version": version,
        "notes": update.notes.trim(),
        "pub_date": update.date,
        "platforms": { PLATFORM: { "url": update.url, "signature": STANDARD.encode(update.signature) } },
    }))
}

#[cfg(test)]
#[path = "manifest_tests.rs"]
mod tests;
