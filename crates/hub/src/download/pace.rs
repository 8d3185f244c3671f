//! How fast a download goes and when it will be done, steadily: what a person plans by must not jump.

use std::time::Duration;

/// Older speed counts less: by a factor of e after this long.
const WINDOW: Duration = Duration::from_secs(15);
/// Before this long nothing is said.
const WARM_UP: Duration = Duration::from_secs(2);

/// Speed of one download. Time comes in as what has passed since its start.
#[derive(Clone, Debug, Default)]
pub struct Pace {
    last: Option<(Duration, u64)>,
    n_bytes: f64,
    seconds: f64,
    since: Duration,
}

impl Pace {
    /// Takes note of how much is there. What an earlier call left is no speed of this one.
    pub fn observe(&mut self, now: Duration, n_bytes_done: u64) {
        let Some((before, n_before)) = self.last else {
            (self.last, self.since) = (Some((now, n_bytes_done)), now);
            return;
        };
        let took = now.saturating_sub(before).as_secs_f64();
        if took <= 0.0 {
            return;
        }
        // A file that starts anew makes the count fall: that is no speed at all.
        let n_new = n_bytes_done.saturating_sub(n_before) as f64;
        let keep = (-took / WINDOW.as_secs_f64()).exp();
        self.n_bytes = self.n_bytes * keep + n_new;
        self.seconds = self.seconds * keep + took;
        self.last = Some((now, n_bytes_done));
    }

    /// Bytes per second lately; `None` before there is enough to tell.
    pub fn bytes_per_s(&self) -> Option<f64> {
        let (now, _) = self.last?;
        (now.saturating_sub(self.since) >= WARM_UP && self.n_bytes > 0.0).then(|| self.n_bytes / self.seconds)
    }

    /// Time until `n_left` bytes are there; `None` before there is enough to tell, and while nothing comes.
    pub fn left(&self, n_left: u64) -> Option<Duration> {
        let seconds = n_left as f64 / self.bytes_per_s()?;
        (seconds < 1e9).then(|| Duration::from_secs_f64(seconds))
    }
}

#[cfg(test)]
#[path = "pace_tests.rs"]
mod tests;
