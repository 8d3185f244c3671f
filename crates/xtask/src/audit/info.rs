//! What `Info.plist` has to say.

use std::fs;
use std::path::Path;

use anyhow::Context;

use crate::bundle;
use crate::bundle::plist::{self, Value};
use crate::check_macos::MIN_MACOS;

/// The app's name for the system: settings, updates and the Keychain hang on it, so it never changes.
pub const IDENTIFIER: &str = "app.tokbar.Tokbar";

/// Keys with the only value that is right.
fn fixed() -> Vec<(&'static str, Value)> {
    let text = |text: &str| Value::Text(text.to_owned());
    vec![
        ("CFBundleIdentifier", text(IDENTIFIER)),
        ("CFBundleName", text("Tokbar")),
        ("CFBundleExecutable", text(bundle::APP_PROGRAM.rsplit('/').next().unwrap_or_default())),
        ("CFBundlePackageType", text("APPL")),
        ("CFBundleInfoDictionaryVersion", text("6.0")),
        ("LSMinimumSystemVersion", text(&format!("{MIN_MACOS}.0"))),
        // Without it an icon flashes in the Dock at each start.
        ("LSUIElement", Value::Flag(true)),
        ("NSHighResolutionCapable", Value::Flag(true)),
    ]
}

/// What the rest of the audit needs of it.
pub struct Info {
    /// Oldest macOS that the app says it runs on.
    pub min_macos: (u32, u32),
    /// One line for the report.
    pub line: String,
}

/// Checks the property list; an error is one that cannot be read.
pub fn check(app: &Path, files: &[String], problems: &mut Vec<String>) -> anyhow::Result<Info> {
    let xml = fs::read_to_string(app.join("Contents/Info.plist")).context("reading Contents/Info.plist")?;
    let list = plist::read(&xml).context("Contents/Info.plist")?;
    problems.extend(problems_of(&list, files));
    let text = |key: &str| list.text(key).unwrap_or_default();
    let line = format!(
        "{} {}, macOS {} or later",
        text("CFBundleIdentifier"),
        text("CFBundleVersion"),
        text("LSMinimumSystemVersion")
    );
    Ok(Info { min_macos: version(text("LSMinimumSystemVersion")).unwrap_or((0, 0)), line })
}

/// What is wrong with a property list of an app that has these files.
fn problems_of(list: &Value, files: &[String]) -> Vec<String> {
    let mut problems = Vec::new();
    for (key, right) in fixed() {
        if list.get(key) != Some(&right) {
            problems.push(format!("Info.plist: {key} is {:?}; it has to be {right:?}", list.get(key)));
        }
    }
    let versions = ["CFBundleShortVersionString", "CFBundleVersion"].map(|key| list.text(key).unwrap_or_default());
    if versions[0] != versions[1] || versions[0].split('.').filter_map(|part| part.parse::<u32>().ok()).count() != 3 {
        problems.push(format!("Info.plist: versions {versions:?} are not one version such as 1.2.3"));
    }
    let icon = format!("Contents/Resources/{}", list.text("CFBundleIconFile").unwrap_or("(none)"));
    if !files.contains(&icon) {
        problems.push(format!("Info.plist: CFBundleIconFile names {icon}, which is not there"));
    }
    // The window shows a page of a server on this machine, by plain HTTP; nothing else is let off encryption.
    let transport = list.get("NSAppTransportSecurity").map(Value::keys).unwrap_or_default();
    if transport != ["NSAllowsLocalNetworking"] {
        problems
            .push(format!("Info.plist: NSAppTransportSecurity allows {transport:?}, not just NSAllowsLocalNetworking"));
    }
    problems
}

/// Major and minor number of a version such as `14.0`.
fn version(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
}

#[cfg(test)]
#[path = "info_tests.rs"]
mod tests;
