//! Variables of the environment, and for a program that the desktop starts, which has none of them, those of a login shell.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Those that matter: where models lie, and what opens the Hub.
const NAMES: [&str; 9] = [
    "HF_ENDPOINT",
    "HF_HOME",
    "HF_HUB_CACHE",
    "HF_HUB_OFFLINE",
    "HF_TOKEN",
    "HF_TOKEN_PATH",
    "OLLAMA_MODELS",
    "TOKBAR_CLOUD_KEY",
    "TOKBAR_HF_MIRRORS",
];
/// A value with more is none of these.
const N_BYTES_MAX: usize = 4096;

static ADOPTED: OnceLock<BTreeMap<String, String>> = OnceLock::new();
/// Whether whoever asks waits for [`adopt`].
static IS_EXPECTED: AtomicBool = AtomicBool::new(false);

/// What a login shell of this user sets.
pub trait LoginShell {
    /// Lines as `env` writes them; `None` where there is no shell, or it does not answer.
    fn variables(&self) -> Option<String>;
}

/// Takes over what the shell sets, where this program's own environment says nothing. Once, before anything is asked.
pub fn adopt(shell: &dyn LoginShell) {
    let found = shell.variables().map(|lines| known(&lines)).unwrap_or_default();
    tracing::debug!(names = ?found.keys().collect::<Vec<_>>(), "the login shell sets these");
    if ADOPTED.set(found).is_err() {
        tracing::debug!("the login shell was asked before");
    }
}

/// From now on whoever asks for a variable that this program was not given waits for [`adopt`], which has to follow.
pub fn expect() {
    IS_EXPECTED.store(true, Ordering::Release);
}

/// As [`std::env::var_os`], with what was adopted.
pub fn var_os(name: &str) -> Option<OsString> {
    std::env::var_os(name).or_else(|| adopted()?.get(name).map(OsString::from))
}

fn adopted() -> Option<&'static BTreeMap<String, String>> {
    if IS_EXPECTED.load(Ordering::Acquire) { Some(ADOPTED.wait()) } else { ADOPTED.get() }
}

/// As [`std::env::var`], with what was adopted; blank counts as absent.
pub fn var(name: &str) -> Option<String> {
    var_os(name)?.into_string().ok().filter(|value| !value.trim().is_empty())
}

/// The variables that matter among an `env`'s lines. Of other values' further lines none begins so by chance.
fn known(lines: &str) -> BTreeMap<String, String> {
    let pairs = lines.lines().filter_map(|line| line.split_once('='));
    let plain = pairs.filter(|(name, value)| {
        NAMES.contains(name) && value.len() <= N_BYTES_MAX && !value.chars().any(char::is_control)
    });
    plain.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[cfg(test)]
#[path = "environment_tests.rs"]
mod tests;
