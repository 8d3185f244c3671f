//! Time that speculation may lose. Trying costs something when it fails; what may be lost is a fixed part of the time
//! spent, so that decoding is never slower than plain by more than that. Pure.

/// Part of the time spent that may be lost.
const PART: f64 = 0.015;

/// The most that is saved up, and what there is at first, in plain rounds.
const N_ROUNDS_MAX: f64 = 6.0;
const N_ROUNDS_FIRST: f64 = 3.0;

/// What must be saved up again before the next try, once all is lost, in plain rounds.
const N_ROUNDS_AGAIN: f64 = 1.0;

/// Grows with time and gains, shrinks with losses.
#[derive(Debug, Default)]
pub(crate) struct Allowance {
    left_s: f64,
    is_begun: bool,
    is_spent: bool,
}

impl Allowance {
    /// Whether drafts may be tried, where a plain round takes `plain_s`.
    pub(crate) fn is_open(&mut self, plain_s: f64) -> bool {
        if !self.is_begun {
            self.is_begun = true;
            self.left_s += N_ROUNDS_FIRST * plain_s;
        }
        self.is_spent = self.left_s < if self.is_spent { N_ROUNDS_AGAIN * plain_s } else { 0.0 };
        !self.is_spent
    }

    /// A round took `took_s`, and `plain_s` is what its tokens would have taken without speculation.
    pub(crate) fn settle(&mut self, took_s: f64, plain_s: f64, round_s: f64) {
        self.left_s = (self.left_s + PART * took_s + plain_s - took_s).min(N_ROUNDS_MAX * round_s);
    }
}

#[cfg(test)]
#[path = "allowance_tests.rs"]
mod tests;
