//! How long the tokens of sequences let wait. Tokens that one step brings share its wait: each would else seem to come at once.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// Gaps that are remembered.
const N_MAX: usize = 1024;
/// How long a gap counts.
const COUNTS_FOR: Duration = Duration::from_secs(60);
/// Tokens closer than this are taken as those of one step.
const ONE_STEP: Duration = Duration::from_micros(500);

/// The recent gaps of all sequences.
#[derive(Debug, Default)]
pub struct Gaps {
    recent: VecDeque<(Instant, Duration)>,
}

/// The steps of one sequence.
#[derive(Debug, Default)]
pub struct Pace {
    step: Option<Step>,
}

/// The tokens of one step, as far as they have come.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// When the step before ended; the first waits for its prompt, which is no gap.
    since: Option<Instant>,
    last: Instant,
    n_tokens: u32,
}

impl Gaps {
    /// Takes note of the steps that `pace` has seen whole.
    pub fn token(&mut self, pace: &mut Pace, now: Instant) {
        self.add(pace.token(now));
    }

    /// No token follows.
    pub fn end(&mut self, pace: &mut Pace) {
        self.add(pace.step.take());
    }

    fn add(&mut self, step: Option<Step>) {
        let Some((step, since)) = step.and_then(|step| Some((step, step.since?))) else { return };
        let gap = step.last.duration_since(since) / step.n_tokens;
        for _ in 0..step.n_tokens {
            if self.recent.len() == N_MAX {
                self.recent.pop_front();
            }
            self.recent.push_back((step.last, gap));
        }
    }

    /// The gap that half of the recent ones stay under, and that 95 of 100 do, in ms.
    pub fn quantiles_ms(&self, now: Instant) -> (Option<f64>, Option<f64>) {
        let recent = self.recent.iter().filter(|(at, _)| now.duration_since(*at) < COUNTS_FOR);
        let mut ms: Vec<f64> = recent.map(|(_, gap)| gap.as_secs_f64() * 1e3).collect();
        ms.sort_by(f64::total_cmp);
        let at = |part: f64| ms.get(((ms.len() as f64 * part) as usize).min(ms.len().saturating_sub(1))).copied();
        (at(0.5), at(0.95))
    }
}

impl Pace {
    /// The step that this token shows to have ended.
    fn token(&mut self, now: Instant) -> Option<Step> {
        let begun = |since| Step { since, last: now, n_tokens: 1 };
        match self.step {
            None => {
                self.step = Some(begun(None));
                None
            }
            Some(step) if now.duration_since(step.last) < ONE_STEP => {
                self.step = Some(Step { last: now, n_tokens: step.n_tokens + 1, ..step });
                None
            }
            Some(step) => self.step.replace(begun(Some(step.last))),
        }
    }
}

#[cfg(test)]
#[path = "gaps_tests.rs"]
mod tests;
