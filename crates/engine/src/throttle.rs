//! How much a step may hold after the device ran out of memory: halved on each failure, raised as sequences finish.

/// Out-of-memory failures in a row, with no sequence finishing between them, that are met by a smaller step.
const N_RETRIES: usize = 8;

/// The limits of a step in force now.
#[derive(Debug)]
pub(crate) struct Throttle {
    n_rows_full: usize,
    n_tokens_full: usize,
    /// Sequences that may hold a cache.
    pub n_rows: usize,
    /// Token budget of a step; never below `n_rows`, so that every decode row fits.
    pub n_tokens: usize,
    /// Bytes that may be kept beyond running sequences.
    pub kept_bytes: usize,
    n_failures: usize,
}

impl Throttle {
    pub(crate) fn new(n_rows: usize, n_tokens: usize) -> Self {
        let n_rows = n_rows.min(n_tokens);
        Self { n_rows_full: n_rows, n_tokens_full: n_tokens, n_rows, n_tokens, kept_bytes: usize::MAX, n_failures: 0 }
    }

    /// Halves the limits after a failure with `n_running` sequences. False when it was tried often enough.
    pub(crate) fn tighten(&mut self, n_running: usize) -> bool {
        self.n_rows = self.n_rows.min(n_running / 2).max(1);
        self.n_tokens = (self.n_tokens / 2).max(self.n_rows);
        self.n_failures += 1;
        self.n_failures <= N_RETRIES
    }

    /// A sequence gave its memory back.
    pub(crate) fn relax(&mut self) {
        self.n_failures = 0;
        self.n_rows = (self.n_rows + 1).min(self.n_rows_full);
        self.n_tokens = (self.n_tokens * 2).min(self.n_tokens_full);
        self.kept_bytes = self.kept_bytes.saturating_add((self.kept_bytes / 8).max(1));
    }
}

#[cfg(test)]
#[path = "throttle_tests.rs"]
mod tests;
