//! Which models make room for another one. Pure: what is held and what is there come in as numbers.

use std::time::Duration;

/// A model in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Its name.
    pub name: String,
    /// Bytes of weights and kept state.
    pub n_bytes: u64,
    /// How long nobody has used it.
    pub unused: Duration,
    /// Whether it must stay.
    pub is_pinned: bool,
    /// Whether it answers calls now, which are let finish.
    pub is_busy: bool,
}

/// Why there is no room, however many others go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// Bytes missing.
    pub n_missing: u64,
    /// Who stays because they are pinned.
    pub pinned: Vec<String>,
}

/// The models to unload, in order, so that `n_needed` bytes fit beside the rest into `n_budget`: idle ones first, of these
/// the ones unused for longest; pinned ones never. Few go: one that frees enough alone spares the others.
///
/// # Errors
/// When even all that may go are not enough.
pub fn victims(held: &[Held], n_needed: u64, n_budget: u64) -> Result<Vec<String>, Shortage> {
    let n_held = held.iter().fold(0, |sum: u64, model| sum.saturating_add(model.n_bytes));
    let n_missing = n_held.saturating_add(n_needed).saturating_sub(n_budget);
    if n_missing == 0 {
        return Ok(Vec::new());
    }
    let mut may_go: Vec<&Held> = held.iter().filter(|model| !model.is_pinned).collect();
    may_go.sort_by_key(|model| (model.is_busy, std::cmp::Reverse(model.unused)));
    if let Some(alone) = may_go.iter().find(|model| !model.is_busy && model.n_bytes >= n_missing) {
        return Ok(vec![alone.name.clone()]);
    }
    let (mut names, mut n_freed) = (Vec::new(), 0_u64);
    for model in may_go {
        names.push(model.name.clone());
        n_freed = n_freed.saturating_add(model.n_bytes);
        if n_freed >= n_missing {
            return Ok(names);
        }
    }
    let pinned = held.iter().filter(|model| model.is_pinned).map(|model| model.name.clone()).collect();
    Err(Shortage { n_missing: n_missing - n_freed, pinned })
}

/// The models that nobody has used for `timeout`.
pub fn expired(held: &[Held], timeout: Duration) -> Vec<String> {
    let is_expired = |model: &&Held| !model.is_pinned && !model.is_busy && model.unused >= timeout;
    held.iter().filter(is_expired).map(|model| model.name.clone()).collect()
}

#[cfg(test)]
#[path = "policy_tests.rs"]
mod tests;
