//! Whether a model fits this machine's memory, and how much context then does: arithmetic on sizes, with the sum in words.
//!
//! Pure: what the machine has comes in as numbers. A verdict is advice; nothing here forbids anything.

mod demand;
mod words;

use serde::Serialize;

pub use demand::{Demand, Need, Numbers};
pub use words::gigabytes;

const GIB: u64 = 1 << 30;

/// Memory kept free beside all models: for what the system and other programs take a moment later.
const HEADROOM_PART: f64 = 0.05;
const HEADROOM_LEAST: u64 = GIB / 2;
const HEADROOM_MOST: u64 = 4 * GIB;
/// A model that takes more than this part of what is there fits tightly.
const TIGHT_PART: f64 = 0.85;
/// What the context is rounded down to.
const CONTEXT_GRAIN: u64 = 256;
/// Contexts shorter than this are of no use.
pub const N_CONTEXT_LEAST: u64 = 2048;

/// What a machine has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Machine {
    /// All memory, in bytes.
    pub n_bytes: u64,
    /// Free now, in bytes: what programs may take without others being pushed out.
    pub n_free_bytes: u64,
    /// Most that the GPU may use, in bytes, where the system has such a limit.
    pub n_gpu_bytes: Option<u64>,
    /// Of that, in use by this program already.
    pub n_gpu_used_bytes: u64,
}

impl Machine {
    /// A Mac of `n_bytes` as macOS sets it up, with all but `n_used_bytes` free.
    pub fn mac(n_bytes: u64, n_used_bytes: u64) -> Self {
        let n_gpu_bytes = Some(usual_gpu_limit(n_bytes));
        Self { n_bytes, n_free_bytes: n_bytes.saturating_sub(n_used_bytes), n_gpu_bytes, n_gpu_used_bytes: 0 }
    }

    /// What a model may take, if `n_unloaded` bytes of others go first.
    pub fn available(&self, n_unloaded: u64) -> u64 {
        let headroom = ((self.n_bytes as f64 * HEADROOM_PART) as u64).clamp(HEADROOM_LEAST, HEADROOM_MOST);
        let free = self.n_free_bytes.saturating_add(n_unloaded).saturating_sub(headroom);
        let gpu = self.n_gpu_bytes.map(|limit| limit.saturating_sub(self.n_gpu_used_bytes.saturating_sub(n_unloaded)));
        free.min(gpu.unwrap_or(u64::MAX))
    }
}

/// The GPU's part of unified memory unless a person sets another: two thirds up to 36 GiB, three quarters above.
pub fn usual_gpu_limit(n_bytes: u64) -> u64 {
    if n_bytes <= 36 * GIB { n_bytes / 3 * 2 } else { n_bytes / 4 * 3 }
}

/// Whether a model fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// With room to spare.
    Fits,
    /// It does, and other programs will feel it.
    Tight,
    /// It does not.
    TooBig,
}

/// A verdict with its sum.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fit {
    /// In short.
    pub verdict: Verdict,
    /// What it takes.
    pub need: Need,
    /// What is there for it.
    pub n_available_bytes: u64,
    /// The longest context that fits, in tokens; `None` when none of use does.
    pub n_context_max: Option<u64>,
    /// The sum in words, and what to do.
    pub words: String,
}

/// What would be unloaded for a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unloaded {
    /// Names of models.
    pub names: Vec<String>,
    /// Bytes that they give back.
    pub n_bytes: u64,
}

/// Holds what a model takes at `n_context` tokens against what the machine has.
pub fn fit(demand: &Demand, n_context: u64, machine: &Machine, unloaded: &Unloaded) -> Fit {
    let need = demand.at(n_context);
    let n_available_bytes = machine.available(unloaded.n_bytes);
    let verdict = match need.n_bytes() {
        n if n as f64 <= n_available_bytes as f64 * TIGHT_PART => Verdict::Fits,
        n if n <= n_available_bytes => Verdict::Tight,
        _ => Verdict::TooBig,
    };
    let n_context_max = longest(demand, n_available_bytes);
    let mut fit = Fit { verdict, need, n_available_bytes, n_context_max, words: String::new() };
    fit.words = words::say(&fit, unloaded);
    fit
}

/// The longest context whose need is at most `n_available` bytes.
pub fn longest(demand: &Demand, n_available: u64) -> Option<u64> {
    let fits = |n_context: u64| demand.at(n_context).n_bytes() <= n_available;
    let most = demand.n_context.unwrap_or(1 << 20).max(1);
    if fits(most) {
        return Some(most);
    }
    // What is needed grows with the context, so the border can be found by halving.
    let (mut low, mut high) = (0, most);
    while high - low > CONTEXT_GRAIN {
        let middle = low + (high - low) / 2;
        if fits(middle) { low = middle } else { high = middle }
    }
    let longest = low / CONTEXT_GRAIN * CONTEXT_GRAIN;
    (longest >= N_CONTEXT_LEAST.min(most)).then_some(longest)
}

#[cfg(test)]
#[path = "fit_tests.rs"]
mod tests;
