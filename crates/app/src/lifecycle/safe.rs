//! Safe mode: after an unclean end while a model was loaded, one start with less.

use std::path::Path;

use super::mark;
use crate::cli::{KvArgs, ModelArgs, SpeculationArg};

/// KV of a sequence of middling length for most models.
const KV_BYTES: u64 = 1 << 30;

/// Bounds what is loaded.
pub fn bound(model: &mut ModelArgs, kv: &mut KvArgs) {
    model.max_rows = 1;
    model.draft.speculation = SpeculationArg::Off;
    model.draft.draft_model = None;
    kv.kv_budget = Some(kv.kv_budget.unwrap_or(KV_BYTES).min(KV_BYTES));
}

/// Bounds what is loaded if the last run ended uncleanly, and says so. The next start is as usual.
pub fn after_unclean_end(dir: &Path, model: &mut ModelArgs, kv: &mut KvArgs) -> Option<String> {
    let models = mark::take_unclean(dir);
    let last = models.last()?;
    bound(model, kv);
    Some(format!(
        "the last run ended uncleanly while {last} was loaded: starting in safe mode, with one sequence at a time and a \
         smaller cache; the next start is as usual (--no-safe-mode leaves it out)"
    ))
}
