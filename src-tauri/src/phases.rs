//! What each model does, from what the server says of models and calls. Pure.

use tokbar_engine::Stats;
use tokbar_server::control::{CallState, RunningCall};
use tokbar_server::{Resident, ResidentState};

use crate::menu::{Loaded, Phase};

/// The models with what they do; `stats` are those of the loaded ones, by name.
pub fn phases(residents: &[Resident], calls: &[RunningCall], stats: &[(String, Stats)]) -> Vec<Loaded> {
    let loaded = |resident: &Resident| Loaded {
        name: resident.id.clone(),
        n_bytes: resident.n_bytes,
        is_pinned: resident.is_pinned,
        phase: match resident.state {
            ResidentState::Loading => Phase::Loading { percent: percent(resident.loaded) },
            ResidentState::Leaving => Phase::Leaving,
            ResidentState::Ready => phase(&resident.id, calls, stats),
        },
    };
    residents.iter().map(loaded).collect()
}

fn phase(name: &str, calls: &[RunningCall], stats: &[(String, Stats)]) -> Phase {
    let own = || calls.iter().filter(|call| call.model == name);
    if own().any(|call| call.state == CallState::Decode) {
        let stats = stats.iter().find(|(other, _)| other == name);
        return Phase::Decode { tokens_per_s: stats.map_or(0.0, |(_, stats)| stats.decode_tokens_per_s) };
    }
    match own().find(|call| call.state == CallState::Prefill) {
        Some(call) => Phase::Prefill { percent: call.part.map(percent) },
        None => Phase::Ready,
    }
}

fn percent(part: f64) -> u8 {
    (part * 100.0) as u8
}

#[cfg(test)]
#[path = "phases_tests.rs"]
mod tests;
