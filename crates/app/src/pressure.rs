//! How short of memory the machine is, and what follows: less is kept, then less is loaded, then calls are refused politely.
//!
//! What the machine says comes from a [`Source`]; the policy is pure. Every change is logged by whoever acts on it.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod mac;

use std::path::PathBuf;
use std::time::Duration;

pub use tokbar_server::Level;

/// Where the level comes from.
pub trait Source: Send {
    /// The level now; `None` when it cannot be read.
    fn level(&mut self) -> Option<Level>;
}

/// This machine's own source, where there is one.
pub fn source() -> Option<Box<dyn Source>> {
    #[cfg(target_os = "macos")]
    return Some(Box::new(mac::Kernel::default()));
    #[cfg(target_os = "linux")]
    return linux::Stall::open().map(|stall| Box::new(stall) as Box<dyn Source>);
    #[cfg(not(any(target_os = "macos", target_os = "linux")))]
    return None;
}

/// A level that somebody else writes to a file.
pub struct FromFile(pub PathBuf);

impl Source for FromFile {
    fn level(&mut self) -> Option<Level> {
        match std::fs::read_to_string(&self.0).ok()?.trim() {
            "normal" => Some(Level::Normal),
            "warning" => Some(Level::Warning),
            "critical" => Some(Level::Critical),
            _ => None,
        }
    }
}

/// How long the machine must be better off before anything is given back: pressure comes in waves.
pub const CALM: Duration = Duration::from_secs(15);

/// The level that is acted on: it rises at once, and falls step by step after a calm while.
#[derive(Clone, Debug)]
pub struct Policy {
    level: Level,
    calm: Duration,
    /// Since when the machine has said less.
    better_since: Option<Duration>,
}

impl Policy {
    /// Falls a step after `calm`.
    pub fn new(calm: Duration) -> Self {
        Self { level: Level::Normal, calm, better_since: None }
    }

    /// The level acted on.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Takes note of what the machine says at `now`; tells the new level when it changes.
    pub fn observe(&mut self, now: Duration, said: Level) -> Option<Level> {
        if said >= self.level {
            self.better_since = None;
            return (said > self.level).then(|| self.set(said));
        }
        let since = *self.better_since.get_or_insert(now);
        if now.saturating_sub(since) < self.calm {
            return None;
        }
        self.better_since = None;
        let next = if self.level == Level::Critical { Level::Warning } else { Level::Normal };
        Some(self.set(next.max(said)))
    }

    fn set(&mut self, level: Level) -> Level {
        self.level = level;
        level
    }
}

#[cfg(test)]
#[path = "pressure_tests.rs"]
mod tests;
