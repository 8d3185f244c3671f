//! Which licences may come in. All dependencies count, of every platform and of build scripts and tests too.

use anyhow::Context;
use serde_json::Value;

use super::Finding;

/// Licences that allow use in a program under MIT OR Apache-2.0, with notice at most. MPL-2.0 also asks to publish changes to
/// its own files; we make none.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "MPL-2.0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Name and licence expression of every package, from `cargo metadata`.
pub fn declared(metadata: &Value) -> anyhow::Result<Vec<(String, String)>> {
    let packages = metadata["packages"].as_array().context("`cargo metadata` lists no packages")?;
    let texts = packages.iter().map(|package| {
        let text = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
        (text("name"), text("license"))
    });
    Ok(texts.collect())
}

/// Packages whose licence leaves no allowed choice.
pub fn check(declared: &[(String, String)]) -> Vec<Finding> {
    let refused = declared.iter().filter(|(_, licence)| !is_allowed(licence));
    let finding = |(name, licence): &(String, String)| Finding {
        place: name.clone(),
        rule: "licences",
        detail: format!("licence `{licence}` is not on the list of allowed ones"),
    };
    refused.map(finding).collect()
}

/// Reads an SPDX expression: `OR` offers a choice, `AND` binds closer and asks for both, `/` is an old way to write `OR`.
/// What is no such expression is not allowed.
fn is_allowed(expression: &str) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = &words[..];
    any(&mut rest) == Some(true) && rest.is_empty()
}

fn any(rest: &mut &[&str]) -> Option<bool> {
    let mut allowed = all(rest)?;
    while take(rest, "OR") {
        allowed |= all(rest)?;
    }
    Some(allowed)
}

fn all(rest: &mut &[&str]) -> Option<bool> {
    let mut allowed = one(rest)?;
    while take(rest, "AND") {
        allowed &= one(rest)?;
    }
    Some(allowed)
}

fn one(rest: &mut &[&str]) -> Option<bool> {
    if take(rest, "(") {
        let allowed = any(rest)?;
        return take(rest, ")").then_some(allowed);
    }
    let licence = word(rest)?;
    if !take(rest, "WITH") {
        return Some(ALLOWED.contains(&licence));
    }
    let exception = word(rest)?;
    Some(ALLOWED.contains(&format!("{licence} WITH {exception}").as_str()))
}

fn word<'a>(rest: &mut &[&'a str]) -> Option<&'a str> {
    let (&first, after) = rest.split_first()?;
    *rest = after;
    Some(first)
}

/// Moves past the next word if it is this one.
fn take(rest: &mut &[&str], word: &str) -> bool {
    let found = rest.first() == Some(&word);
    if found {
        *rest = &rest[1..];
    }
    found
}

#[cfg(test)]
#[path = "licences_tests.rs"]
mod tests;
