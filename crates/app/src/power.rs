//! Keeps the machine from falling asleep by itself while it generates or downloads, and only then. A lid that is closed, or a
//! person who says sleep, has the last word.

#[cfg(target_os = "macos")]
mod mac;

use std::time::Duration;

/// What keeps a machine awake.
pub trait Assertion: Send {
    /// From now on.
    fn take(&mut self);
    /// No longer.
    fn release(&mut self);
}

/// This machine's own, where there is one.
pub fn assertion() -> Option<Box<dyn Assertion>> {
    #[cfg(target_os = "macos")]
    return Some(Box::new(mac::Caffeinate::default()));
    #[cfg(not(target_os = "macos"))]
    return None;
}

/// Between two calls of a conversation nothing runs for a moment.
const GRACE: Duration = Duration::from_secs(10);

/// Takes and releases an assertion as work comes and goes. Released when dropped.
pub struct Wakefulness {
    assertion: Option<Box<dyn Assertion>>,
    is_held: bool,
    idle_since: Option<Duration>,
}

impl Wakefulness {
    /// Nothing is held yet.
    pub fn new(assertion: Option<Box<dyn Assertion>>) -> Self {
        Self { assertion, is_held: false, idle_since: None }
    }

    /// Takes note of whether there is work at `now`.
    pub fn observe(&mut self, now: Duration, work: Work) {
        let Some(assertion) = &mut self.assertion else { return };
        match (work, self.is_held) {
            (Work::Some, held) => {
                self.idle_since = None;
                if !held {
                    assertion.take();
                    self.is_held = true;
                }
            }
            (Work::None, true) => {
                let since = *self.idle_since.get_or_insert(now);
                if now.saturating_sub(since) >= GRACE {
                    assertion.release();
                    (self.is_held, self.idle_since) = (false, None);
                }
            }
            (Work::None, false) => {}
        }
    }
}

impl Drop for Wakefulness {
    fn drop(&mut self) {
        if let (true, Some(assertion)) = (self.is_held, &mut self.assertion) {
            assertion.release();
        }
    }
}

/// Whether anything generates or downloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Something does.
    Some,
    /// Nothing does.
    None,
}

#[cfg(test)]
#[path = "power_tests.rs"]
mod tests;
