//! A part of a thread's time. Pure: the clock comes in.

use std::time::{Duration, Instant};

/// Credit that grows with time and is spent by working.
#[derive(Debug)]
pub(super) struct Share {
    part: f64,
    /// Credit never grows beyond it: the longest stretch of work.
    max_s: f64,
    credit_s: f64,
    seen: Instant,
}

impl Share {
    pub(super) fn new(part: f64, max: Duration, now: Instant) -> Self {
        let max_s = max.as_secs_f64();
        Self { part, max_s, credit_s: max_s, seen: now }
    }

    /// Whether work may begin. It may overdraw once, and then waits until that is made up for.
    pub(super) fn has_credit(&mut self, now: Instant) -> bool {
        let passed = now.saturating_duration_since(std::mem::replace(&mut self.seen, now));
        self.credit_s = (self.credit_s + passed.as_secs_f64() * self.part).min(self.max_s);
        self.credit_s > 0.0
    }

    pub(super) fn spend(&mut self, took: Duration) {
        self.credit_s -= took.as_secs_f64();
    }
}

#[cfg(test)]
#[path = "share_tests.rs"]
mod tests;
