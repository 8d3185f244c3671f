//! Progress bars on a terminal, plain lines elsewhere.

use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar, ProgressStyle};

use crate::hub::Shown;
use crate::size;

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

/// A bar over a download; its time left comes from [`Shown`], which is steadier than the bar's own.
pub fn download() -> ProgressBar {
    let style = ProgressStyle::with_template("{msg:12} {bar:40} {bytes}/{total_bytes} {prefix}");
    let bar = ProgressBar::new(0).with_message("Downloading");
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// Moves a download's bar.
pub fn show_download(bar: &ProgressBar, shown: &Shown) {
    show(bar, shown.progress.n_bytes_done, shown.progress.n_bytes);
    let speed = shown.bytes_per_s.map(|speed| format!("{}/s", size::show(speed as u64)));
    let left = shown.left.map(|left| HumanDuration(Duration::from_secs(left.as_secs())).to_string());
    bar.set_prefix([speed, left].into_iter().flatten().collect::<Vec<_>>().join(", "));
}
