//! The Homebrew cask of a release: the committed one with another version and hash.

use anyhow::{Context, bail, ensure};

use crate::{bundle, files, repo};

/// Where it is kept; a tap has its copy.
const CASK: &str = "packaging/Casks/tokbar.rb";

/// `dist cask VERSION DMG_SHA256`: writes them into the committed cask.
pub fn write(arguments: &[String]) -> anyhow::Result<()> {
    let [version, sha256] = arguments else { bail!("a version and a hash are taken") };
    let path = repo::root()?.join(CASK);
    let text = std::fs::read_to_string(&path).with_context(|| format!("reading {CASK}"))?;
    files::write_if_new(&path, &released(&text, version, sha256)?)
}

/// The cask with this version and hash.
fn released(cask: &str, version: &str, sha256: &str) -> anyhow::Result<String> {
    bundle::info_plist("", version)?;
    let is_hash =
        sha256.len() == 64 && sha256.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    ensure!(is_hash, "`{sha256}` is no SHA-256 in small letters");
    let mut n_changed = 0;
    let line = |line: &str| {
        let changed = ["version", "sha256"].into_iter().find(|key| line.starts_with(&format!("  {key} \"")));
        n_changed += usize::from(changed.is_some());
        match changed {
            Some("version") => format!("  version \"{version}\"\n"),
            Some(_) => format!("  sha256 \"{sha256}\"\n"),
            None => format!("{line}\n"),
        }
    };
    let text = cask.lines().map(line).collect::<String>();
    ensure!(n_changed == 2, "{CASK} has {n_changed} lines with a version or hash, not two");
    Ok(text)
}

#[cfg(test)]
#[path = "cask_tests.rs"]
mod tests;
