//! What a program or library of the app has to be.

use super::{Binary, Signer};
use crate::bundle;
use crate::bundle::plist;

/// Entitlements that the app may have: none. It compiles nothing at run time and loads no code but its own.
const ALLOWED_ENTITLEMENTS: &[&str] = &[];

/// What is wrong with one of them, in an app that has these files.
pub fn problems(binary: &Binary, files: &[String], min_macos: (u32, u32), signer: Signer) -> Vec<String> {
    let mut problems = Vec::new();
    let macho = &binary.macho;
    if !macho.is_arm64 {
        problems.push("is not for Apple silicon".to_owned());
    }
    match macho.min_macos {
        None => problems.push("does not say which macOS it is for".to_owned()),
        Some(version) if version > min_macos => {
            problems.push(format!("needs macOS {version:?}, but the app says {min_macos:?}"));
        }
        Some(_) => {}
    }
    problems.extend(macho.dylibs.iter().filter_map(|name| missing_library(name, files)));
    let loads_own = macho.dylibs.iter().any(|name| name.starts_with("@rpath/"));
    if loads_own && !macho.rpaths.iter().any(|path| path == bundle::RPATH) {
        problems.push(format!("has no rpath {}, so it does not find its libraries", bundle::RPATH));
    }
    let foreign = macho.rpaths.iter().filter(|path| *path != bundle::RPATH);
    problems.extend(foreign.map(|path| format!("looks for libraries in {path}, outside the app")));
    problems.extend(signature_problems(binary, signer));
    problems.into_iter().map(|problem| format!("{}: {problem}", binary.inside)).collect()
}

/// Libraries that every Mac has.
pub fn is_of_the_system(name: &str) -> bool {
    ["/usr/lib/", "/System/Library/"].iter().any(|folder| name.starts_with(folder)) && !name.contains("/../")
}

fn missing_library(name: &str, files: &[String]) -> Option<String> {
    if is_of_the_system(name) {
        return None;
    }
    let Some(own) = name.strip_prefix("@rpath/") else {
        return Some(format!("loads {name}, which other Macs do not have"));
    };
    let path = format!("{}/{own}", bundle::FRAMEWORKS);
    (!files.contains(&path)).then(|| format!("loads {name}, but {path} is not there"))
}

fn signature_problems(binary: &Binary, signer: Signer) -> Vec<String> {
    let Some(signature) = &binary.macho.signature else {
        return vec!["is not signed: Apple silicon does not start it".to_owned()];
    };
    let mut problems = Vec::new();
    if signer == Signer::Developer && signature.is_ad_hoc {
        problems.push("is signed by nobody: Gatekeeper refuses it".to_owned());
    }
    if signer == Signer::Developer && !signature.has_hardened_runtime {
        problems.push("has no hardened runtime: notarisation refuses it".to_owned());
    }
    if !signature.entitlements.is_empty() {
        problems.extend(entitlement_problems(&signature.entitlements));
    }
    problems
}

/// Entitlements in XML that no part of the app may have.
pub fn entitlement_problems(xml: &str) -> Vec<String> {
    match plist::read(xml) {
        Err(error) => vec![format!("has entitlements that cannot be read: {error:#}")],
        Ok(list) => {
            let keys = list.keys();
            let refused = keys.iter().filter(|key| !ALLOWED_ENTITLEMENTS.contains(*key));
            refused.map(|key| format!("has the entitlement {key}, which Tokbar does not need")).collect()
        }
    }
}

#[cfg(test)]
#[path = "programs_tests.rs"]
mod tests;
