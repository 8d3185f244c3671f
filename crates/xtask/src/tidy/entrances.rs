//! What a newcomer, a lawyer and CI look for first, and that the map shows every crate.

use super::Finding;
use crate::repo::TextFile;

const EXPECTED: &[&str] = &[".ci/run", "LICENSE-APACHE", "LICENSE-MIT", "README.md", "crates/README.md"];
/// The commands that the README opens with.
const COMMANDS: &[&str] = &["cargo xtask run", "cargo xtask test"];
/// The README's commands come before anything that a small window would hide.
const OPENING_LINES: usize = 8;

/// Missing files, commands that the README does not open with, crates that the map leaves out.
pub fn check(files: &[TextFile]) -> Vec<Finding> {
    let text = |path: &str| files.iter().find(|file| file.path == path).map(|file| file.text.as_str());
    let mut findings: Vec<Finding> = Vec::new();
    let missing = EXPECTED.iter().filter(|path| text(path).is_none());
    findings.extend(missing.map(|path| finding(path, "is not there".to_owned())));

    let opening: Vec<&str> = text("README.md").unwrap_or_default().lines().take(OPENING_LINES).collect();
    let unsaid = COMMANDS.iter().filter(|command| !opening.iter().any(|line| line.contains(*command)));
    findings.extend(unsaid.map(|command| finding("README.md", format!("does not open with `{command}`"))));

    let map = text("crates/README.md").unwrap_or_default();
    let crates = files.iter().filter_map(|file| file.path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml"));
    let unmapped = crates.filter(|name| !map.contains(&format!("[{name}]({name})")));
    findings.extend(unmapped.map(|name| finding("crates/README.md", format!("says nothing of the crate `{name}`"))));
    findings
}

fn finding(place: &str, detail: String) -> Finding {
    Finding { place: place.to_owned(), rule: "entrances", detail }
}

#[cfg(test)]
#[path = "entrances_tests.rs"]
mod tests;
