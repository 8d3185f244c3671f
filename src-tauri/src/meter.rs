//! What each model does, from what it had done a moment ago. Pure: the time comes in as an argument.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use tokbar_engine::Stats;
use tokbar_server::Resident;

use crate::menu::{Loaded, Phase};

/// Rates over less time jump about.
const WINDOW: Duration = Duration::from_millis(700);

/// Remembers the last look at each model.
#[derive(Debug, Default)]
pub struct Meter {
    looks: HashMap<String, Look>,
}

#[derive(Debug)]
struct Look {
    at: Instant,
    n_output: u64,
    phase: Phase,
}

impl Meter {
    /// The models of `residents`, with what they do at `now`; `stats` are those of the loaded ones, by name.
    pub fn observe(&mut self, now: Instant, residents: &[Resident], stats: &[(String, Stats)]) -> Vec<Loaded> {
        self.looks.retain(|name, _| residents.iter().any(|resident| resident.id == *name));
        let of = |resident: &Resident| stats.iter().find(|(name, _)| *name == resident.id).map(|(_, stats)| stats);
        residents.iter().map(|resident| self.loaded(now, resident, of(resident))).collect()
    }

    fn loaded(&mut self, now: Instant, resident: &Resident, stats: Option<&Stats>) -> Loaded {
        let phase = match (resident.state, stats) {
            ("loading", _) => Phase::Loading { percent: (resident.loaded * 100.0) as u8 },
            ("leaving", _) => Phase::Leaving,
            (_, Some(stats)) => self.phase(now, &resident.id, stats),
            (_, None) => Phase::Ready,
        };
        Loaded { name: resident.id.clone(), n_bytes: resident.n_bytes, is_pinned: resident.is_pinned, phase }
    }

    fn phase(&mut self, now: Instant, name: &str, stats: &Stats) -> Phase {
        let is_idle = stats.n_running + stats.n_waiting == 0;
        let before = self.looks.get(name);
        let look = |phase| Look { at: now, n_output: stats.n_output_tokens, phase };
        let next = match before {
            _ if is_idle => look(Phase::Ready),
            Some(before) if now.saturating_duration_since(before.at) < WINDOW && before.phase != Phase::Ready => {
                return before.phase;
            }
            Some(before) if stats.n_output_tokens > before.n_output => {
                let seconds = now.saturating_duration_since(before.at).as_secs_f64().max(f64::EPSILON);
                let n_tokens = stats.n_output_tokens - before.n_output;
                look(Phase::Decode { tokens_per_s: n_tokens as f64 / seconds })
            }
            _ => look(Phase::Prefill { percent: None }),
        };
        let phase = next.phase;
        self.looks.insert(name.to_owned(), next);
        phase
    }
}

#[cfg(test)]
#[path = "meter_tests.rs"]
mod tests;
