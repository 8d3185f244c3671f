//! Progress bars on a terminal, plain lines elsewhere.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar over bytes. Draws on standard error, and only when that is a terminal.
pub fn bytes(what: &'static str) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg:12} {bar:40} {bytes}/{total_bytes} {eta}");
    let bar = ProgressBar::new(0).with_message(what);
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// Moves the bar. The total may change.
pub fn show(bar: &ProgressBar, n_done: u64, n_total: u64) {
    bar.set_length(n_total);
    bar.set_position(n_done);
}
