//! What steps cost: how much prefill fits into a step that may take so long. Pure: durations come in as arguments.

use std::time::Duration;

use crate::plan::StepWork;

/// Weight of the newest step.
const NEWEST: f64 = 0.3;

/// Fewer positions say nothing about what one more costs.
const N_TELLING_MIN: usize = 8;

/// However slow the model, prefill goes on by so many positions a step.
pub(crate) const N_CHUNK_MIN: usize = 16;

/// Part of a bound that is aimed at: costs vary, and what is aimed at is exceeded half of the time.
const AIM: f64 = 0.8;

/// Moving averages over recent steps.
#[derive(Debug, Default)]
pub(crate) struct StepCosts {
    /// Seconds of a step without prefill.
    decode_s: Option<f64>,
    /// Seconds that one more position of prefill adds.
    prefill_s: Option<f64>,
}

impl StepCosts {
    /// Learns from a step that kept the device busy for `took`.
    pub(crate) fn observe(&mut self, work: StepWork, took: Duration) {
        let took_s = took.as_secs_f64();
        if work.n_prefill >= N_TELLING_MIN {
            let decode_s = if work.n_decode > 0 { self.decode_s.unwrap_or(0.0) } else { 0.0 };
            mix(&mut self.prefill_s, (took_s - decode_s).max(0.0) / work.n_prefill as f64);
        } else if work.n_prefill == 0 && work.n_decode > 0 {
            mix(&mut self.decode_s, took_s);
        }
    }

    /// Positions of prefill beside decode for a step of at most about `target`; at least [`N_CHUNK_MIN`], and without bound
    /// before anything was measured.
    pub(crate) fn n_prefill_within(&self, target: Duration) -> usize {
        let left_s = AIM * target.as_secs_f64() - self.decode_s.unwrap_or(0.0);
        match self.prefill_s {
            Some(prefill_s) if prefill_s > 0.0 => ((left_s / prefill_s) as usize).max(N_CHUNK_MIN),
            _ => usize::MAX,
        }
    }
}

fn mix(average: &mut Option<f64>, newest: f64) {
    *average = Some(average.map_or(newest, |average| average + NEWEST * (newest - average)));
}

#[cfg(test)]
#[path = "costs_tests.rs"]
mod tests;
