//! `cargo xtask tidy`: the rules of this repository that a program can check.
//!
//! Four kinds: which crate may use which (`floors`), which licences may come in (`licences`), how sources are written
//! (`sources`), and what has to be there (`entrances`). Each rule is data or a pure function over text, so that its tests can show it a bad example.

use std::fmt;

use anyhow::bail;

use crate::repo;

mod entrances;
mod floors;
mod functions;
mod licences;
mod mask;
mod sources;

/// One broken rule at one place.
#[derive(Debug, PartialEq)]
pub struct Finding {
    /// Path from the root of the checkout, with the line where there is one; a crate's name otherwise.
    pub place: String,
    pub rule: &'static str,
    pub detail: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} [{}]", self.place, self.detail, self.rule)
    }
}

pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    if !arguments.is_empty() {
        bail!("`tidy` takes no arguments");
    }
    let findings = findings()?;
    for finding in &findings {
        println!("{finding}");
    }
    if !findings.is_empty() {
        bail!("{} broken rules; crates/README.md says what they are for", findings.len());
    }
    Ok(())
}

/// All broken rules of this checkout.
fn findings() -> anyhow::Result<Vec<Finding>> {
    let metadata = repo::metadata()?;
    let mut findings = floors::check(&floors::edges(&metadata)?);
    findings.extend(licences::check(&licences::declared(&metadata)?));
    let files = repo::text_files()?;
    findings.extend(entrances::check(&files));
    for file in &files {
        findings.extend(sources::check(&file.path, &file.text));
    }
    Ok(findings)
}

#[cfg(test)]
#[path = "tidy_tests.rs"]
mod tests;
