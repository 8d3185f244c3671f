//! Which models suit a machine: those that were measured fast and small enough for it, and that this build can run.

use crate::catalog::{Catalog, Entry, Measured};
use crate::fit::{Machine, Verdict};

/// Slower decode is no fun to read.
const DECODE_TPS_LEAST: f64 = 10.0;
/// Slower prefill makes long prompts wait for minutes.
const PREFILL_TPS_LEAST: f64 = 100.0;
/// Part of the memory that the peak may take, and what is left to other programs at least.
const PEAK_PART_MOST: f64 = 0.75;
const REST_LEAST_GB: f64 = 4.0;
const REST_MOST_GB: f64 = 8.0;
/// The context that a recommended model has room for.
pub const N_CONTEXT: u64 = 8192;

/// What to try first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recommendation<'a> {
    /// The best answers.
    pub smart: Option<&'a Entry>,
    /// Good answers, fast; never the same.
    pub fast: Option<&'a Entry>,
}

/// The models of `catalog` for a machine; `can_run` tells whether this build knows a family.
///
/// The list's own advice for that much memory comes first. Where this build cannot run a model of it, or it does not fit
/// now, the best that passes takes its place.
pub fn recommend<'a>(catalog: &'a Catalog, machine: &Machine, can_run: &dyn Fn(&Entry) -> bool) -> Recommendation<'a> {
    let memory_gb = machine.n_bytes as f64 / f64::from(1 << 30);
    let passes = |entry: &Entry| can_run(entry) && fits(entry, machine) && gates(entry, memory_gb);
    let tier = catalog.tiers.iter().rfind(|tier| tier.memory_gb as f64 <= memory_gb + 0.5);
    let named = |name: &str| catalog.find(name).filter(|entry| passes(entry));
    let best = |others: &dyn Fn(&Entry) -> bool| {
        let passing = catalog.models.iter().filter(|entry| passes(entry) && others(entry));
        passing.max_by_key(|entry| entry.rank)
    };
    let smart = tier.and_then(|tier| named(&tier.smart)).or_else(|| best(&|_| true));
    let is_other = |entry: &Entry| smart.is_none_or(|smart| smart.name != entry.name);
    let is_faster = |entry: &Entry| {
        let size = |entry: &Entry| entry.weight_bytes().unwrap_or(u64::MAX);
        is_other(entry) && smart.is_none_or(|smart| size(entry) <= size(smart) / 2)
    };
    let fast = tier.and_then(|tier| named(&tier.fast)).filter(|entry| is_other(entry));
    Recommendation { smart, fast: fast.or_else(|| best(&is_faster)) }
}

/// Whether what was measured of a model is good enough on `memory_gb`; true where nothing was measured.
pub fn gates(entry: &Entry, memory_gb: f64) -> bool {
    let Some(measured) = &entry.measured else { return true };
    let Measured { peak_8k_gb, prefill_8k_tps, decode_tps, decode_8k_tps, swaps, .. } = measured;
    let rest = (memory_gb / 2.0).clamp(REST_LEAST_GB, REST_MOST_GB);
    let peak_most = (memory_gb * PEAK_PART_MOST).min(memory_gb - rest);
    let is_fast = decode_8k_tps.unwrap_or(*decode_tps) >= DECODE_TPS_LEAST
        && prefill_8k_tps.is_none_or(|prefill| prefill >= PREFILL_TPS_LEAST);
    is_fast && !swaps && *peak_8k_gb <= peak_most
}

/// Whether a model of known size has room for a useful context; the sizes of state may be unknown.
fn fits(entry: &Entry, machine: &Machine) -> bool {
    let Some(demand) = entry.demand() else { return false };
    let fit = crate::fit::fit(&demand, N_CONTEXT, machine, &crate::fit::Unloaded::default());
    fit.verdict == Verdict::Fits || (fit.verdict == Verdict::Tight && entry.measured.is_some())
}

#[cfg(test)]
#[path = "recommend_tests.rs"]
mod tests;
