//! What rounds cost, measured: a plain round in the steady state, and how much longer a round with drafts takes.
//! Pure: durations come in as seconds.

use crate::draft::Source;

/// Row counts whose relative costs of drafts are told apart: 1, 2, 3-4, 5-8, ...
const N_SIZES: usize = 8;

/// Row counts whose plain rounds are told apart.
const N_ROWS_MAX: usize = 64;

/// Part that a new plain round has in the estimate.
const PART_NEW: f64 = 0.1;

/// What one more round with drafts leaves of the rounds before it, and what a plain round leaves of them, so that a cost
/// once measured on a busy machine is measured again.
const KEEP_DRAFTED: f64 = 0.9;
const KEEP_PLAIN: f64 = 0.9995;

/// Measured rounds that the expectation before any round is worth.
const WEIGHT_PRIOR: f64 = 0.3;

/// The expectation before any round: the time of a plain round times `PRIOR_BASE + slope * n_drafts`.
const PRIOR_BASE: f64 = 1.1;
const PRIOR_SLOPE_LOOKUP: f64 = 0.03;
const PRIOR_SLOPE_BACKEND: f64 = 0.15;

/// A draft count at which the expectation is taken, besides 0, so that it is a line.
const PRIOR_AT: f64 = 8.0;

/// A round that took this many times longer than expected was not slow by itself.
const OUTLIER: f64 = 3.0;

/// Plain rounds that make a measurement.
const N_PLAIN_MIN: u32 = 4;

/// Rounds with drafts after which plain ones are measured again, and for how many rounds: contexts grow.
const N_STALE: u32 = 400;

/// Costs by the number of rows.
#[derive(Debug)]
pub(crate) struct Costs {
    plain: [Plain; N_ROWS_MAX],
    /// Relative length of rounds with drafts over the number of drafts; a drafter in the backend takes its time, too.
    lookup: [Line; N_SIZES],
    backend: [Line; N_SIZES],
}

/// Plain rounds of one number of rows.
#[derive(Clone, Copy, Debug, Default)]
struct Plain {
    took_s: f64,
    n_rounds: u32,
    /// Rounds with drafts since.
    n_drafted: u32,
}

/// Sums of a weighted least-squares fit.
#[derive(Clone, Debug, Default)]
struct Line {
    /// Slope before any round.
    prior_slope: f64,
    weight: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
}

impl Default for Costs {
    fn default() -> Self {
        Self {
            plain: [Plain::default(); N_ROWS_MAX],
            lookup: std::array::from_fn(|_| Line::new(PRIOR_SLOPE_LOOKUP)),
            backend: std::array::from_fn(|_| Line::new(PRIOR_SLOPE_BACKEND)),
        }
    }
}

impl Costs {
    /// Seconds of a plain round of `n_rows`; `None` while it is not measured, or not lately.
    pub(crate) fn plain_s(&self, n_rows: usize) -> Option<f64> {
        let plain = self.plain[rows_idx(n_rows)];
        (plain.n_rounds >= N_PLAIN_MIN && plain.n_drafted < N_STALE).then_some(plain.took_s)
    }

    /// How much longer than a plain round of `n_rows` one with `n_drafts` drafts in all takes.
    pub(crate) fn ratio(&self, source: Source, n_rows: usize, n_drafts: usize) -> f64 {
        let lines = if source == Source::Lookup { &self.lookup } else { &self.backend };
        lines[size_idx(n_rows)].at(n_drafts as f64)
    }

    /// Takes in a plain round in the steady state.
    pub(crate) fn plain_round(&mut self, n_rows: usize, took_s: f64) {
        self.lookup[size_idx(n_rows)].fade(KEEP_PLAIN);
        self.backend[size_idx(n_rows)].fade(KEEP_PLAIN);
        let plain = &mut self.plain[rows_idx(n_rows)];
        if plain.n_drafted >= N_STALE {
            *plain = Plain { n_rounds: N_PLAIN_MIN / 2, n_drafted: 0, ..*plain };
        }
        plain.n_rounds = plain.n_rounds.saturating_add(1);
        // The first rounds count alike; later ones are mended by what follows.
        let part = (1.0 / f64::from(plain.n_rounds)).max(PART_NEW);
        let took_s = if plain.n_rounds > N_PLAIN_MIN { took_s.min(OUTLIER * plain.took_s) } else { took_s };
        plain.took_s += (took_s - plain.took_s) * part;
    }

    /// Takes in a round with drafts.
    pub(crate) fn drafted_round(&mut self, source: Source, n_rows: usize, n_drafts: usize, took_s: f64) {
        let Some(plain_s) = self.plain_s(n_rows).filter(|plain_s| *plain_s > 0.0) else { return };
        self.plain[rows_idx(n_rows)].n_drafted += 1;
        let lines = if source == Source::Lookup { &mut self.lookup } else { &mut self.backend };
        let line = &mut lines[size_idx(n_rows)];
        let ratio = (took_s / plain_s).min(OUTLIER * line.at(n_drafts as f64));
        line.fade(KEEP_DRAFTED);
        line.add(n_drafts as f64, ratio, 1.0);
    }
}

fn rows_idx(n_rows: usize) -> usize {
    n_rows.clamp(1, N_ROWS_MAX) - 1
}

fn size_idx(n_rows: usize) -> usize {
    (n_rows.max(1).next_power_of_two().trailing_zeros() as usize).min(N_SIZES - 1)
}

impl Line {
    fn new(prior_slope: f64) -> Self {
        Self { prior_slope, ..Self::default() }
    }

    fn add(&mut self, x: f64, y: f64, weight: f64) {
        self.weight += weight;
        self.x += weight * x;
        self.y += weight * y;
        self.xx += weight * x * x;
        self.xy += weight * x * y;
    }

    fn fade(&mut self, keep: f64) {
        for sum in [&mut self.weight, &mut self.x, &mut self.y, &mut self.xx, &mut self.xy] {
            *sum *= keep;
        }
    }

    /// The fit at `x`, with the expectation before any round as two more points; never below 0.5.
    fn at(&self, x: f64) -> f64 {
        let mut fit = self.clone();
        fit.add(0.0, PRIOR_BASE, WEIGHT_PRIOR);
        fit.add(PRIOR_AT, PRIOR_BASE + self.prior_slope * PRIOR_AT, WEIGHT_PRIOR);
        let spread = fit.weight * fit.xx - fit.x * fit.x;
        let slope = ((fit.weight * fit.xy - fit.x * fit.y) / spread).max(0.0);
        ((fit.y - slope * fit.x) / fit.weight + slope * x).max(0.5)
    }
}

#[cfg(test)]
#[path = "cost_tests.rs"]
mod tests;
