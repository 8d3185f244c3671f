//! When to look for an update, and when one may be installed.

use std::time::Duration;

use super::Place;

/// Between two looks.
const PERIOD: Duration = Duration::from_secs(24 * 3600);
/// After a look that failed; doubles with each failure up to the period.
const FIRST_RETRY: Duration = Duration::from_secs(15 * 60);

/// Looks for updates so far. Times are counted from any fixed moment, as long as it stays the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checks {
    /// When the last look ended.
    pub last: Option<Duration>,
    /// Looks that failed since the last that did not.
    pub n_failed: u32,
}

impl Checks {
    /// Whether it is time to look again by itself; somebody who asks need not wait.
    #[must_use]
    pub fn are_due(&self, now: Duration) -> bool {
        let wait = match self.n_failed {
            0 => PERIOD,
            n => FIRST_RETRY.saturating_mul(1 << (n - 1).min(16)).min(PERIOD),
        };
        // A clock that was set back must not stop the looks for ever.
        self.last.is_none_or(|last| now < last || now - last >= wait)
    }

    /// The state after a look.
    #[must_use]
    pub fn after(self, now: Duration, outcome: Outcome) -> Checks {
        let n_failed = if outcome == Outcome::Failed { self.n_failed.saturating_add(1) } else { 0 };
        Checks { last: Some(now), n_failed }
    }
}

/// How a look ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The server answered.
    Answered,
    /// It did not, or not with what was asked for.
    Failed,
}

/// What the app is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Answers that are being generated.
    pub n_generating: usize,
    /// Models that are being downloaded.
    pub n_downloading: usize,
}

/// Why an update cannot be installed now; the text says what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Hold {
    /// macOS runs a hidden copy.
    #[error("macOS runs Tokbar from a hidden copy. Quit it, move it to the Applications folder, and open it there")]
    Translocated,
    /// The app is on a disk image.
    #[error("Tokbar runs from its disk image. Drag it to the Applications folder, and open it there")]
    DiskImage,
    /// The folder is not this user's.
    #[error(
        "this user may not write to the folder that Tokbar is in. Ask an administrator to update it, or run `brew upgrade --cask --greedy tokbar`"
    )]
    ReadOnly,
    /// There is no app to replace.
    #[error("this Tokbar is not an installed app: update it the way it was built")]
    Loose,
    /// Answers would be cut off.
    #[error("{0} answers are being generated; the update is installed when they end")]
    Generating(usize),
    /// Downloads would be cut off.
    #[error("{0} downloads are running; the update is installed when they end")]
    Downloading(usize),
}

impl Hold {
    /// Whether it ends by itself.
    #[must_use]
    pub fn passes(self) -> bool {
        matches!(self, Self::Generating(_) | Self::Downloading(_))
    }
}

/// Whether an update may take the app's place now.
///
/// # Errors
/// What stands against it; what does not pass by itself is said first.
pub fn may_install(place: Place, work: Work) -> Result<(), Hold> {
    match place {
        Place::Installed => {}
        Place::Translocated => return Err(Hold::Translocated),
        Place::DiskImage => return Err(Hold::DiskImage),
        Place::ReadOnly => return Err(Hold::ReadOnly),
        Place::Loose => return Err(Hold::Loose),
    }
    if work.n_generating > 0 {
        return Err(Hold::Generating(work.n_generating));
    }
    if work.n_downloading > 0 {
        return Err(Hold::Downloading(work.n_downloading));
    }
    Ok(())
}

#[cfg(test)]
#[path = "schedule_tests.rs"]
mod tests;
