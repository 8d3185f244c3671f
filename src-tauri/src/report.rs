//! A report of a panic, written while the program still can, and offered at the next start. It names no prompt and no key:
//! the state is what the menu showed.

use std::backtrace::Backtrace;
use std::fs;
use std::panic::PanicHookInfo;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// What the menu's first lines said last.
static LAST_STATE: Mutex<String> = Mutex::new(String::new());

/// Remembers what goes on, for a report.
pub fn note_state(state: String) {
    *LAST_STATE.lock().unwrap_or_else(PoisonError::into_inner) = state;
}

/// From now on a panic anywhere writes a report into `config`, and then does what it would have done.
pub fn watch(config: &Path) {
    let path = place(config);
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // The panic may have come while the state was being noted.
        let state = LAST_STATE.try_lock().map(|state| state.clone()).unwrap_or_default();
        let text = text(&cause(panic), &state, &Backtrace::force_capture().to_string());
        let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, text));
        if let Err(error) = written {
            eprintln!("no report could be written to {}: {error}", path.display());
        }
        before(panic);
    }));
}

/// The report of the run before, if it left one. It is told once: the file is kept under another name.
pub fn take(config: &Path) -> Option<PathBuf> {
    let kept = config.join("report-of-last-panic.txt");
    fs::rename(place(config), &kept).ok().map(|()| kept)
}

fn place(config: &Path) -> PathBuf {
    config.join("panic.txt")
}

fn cause(panic: &PanicHookInfo) -> String {
    let place = panic.location().map_or_else(String::new, |location| format!(" at {location}"));
    let thread = std::thread::current().name().unwrap_or("without a name").to_owned();
    let payload = panic.payload();
    let owned = payload.downcast_ref::<String>().map(String::as_str);
    let message = owned.or_else(|| payload.downcast_ref::<&str>().copied());
    format!("thread {thread}{place}: {}", message.unwrap_or("no message"))
}

fn text(cause: &str, state: &str, backtrace: &str) -> String {
    format!(
        "Tokbar {} on {} {}\n{}\n\n{cause}\n\nIt was: {}\n\n{backtrace}\n",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        std::env::consts::ARCH,
        jiff::Timestamp::now(),
        if state.is_empty() { "starting" } else { state },
    )
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
