//! From an engine's options to the bounds of its plans.

use crate::plan::Limits;
use crate::{EngineOptions, ModelInfo, StartError};

/// Positions by which a sequence's part of the KV budget grows.
const N_KV_GROWTH: usize = 256;

/// Facts of the model and bounds of the scheduler, under the KV budget.
pub(crate) fn bounds(info: &ModelInfo, options: &EngineOptions) -> Result<(ModelInfo, Limits), StartError> {
    let mut info = info.clone();
    info.n_context = options.n_context_max.map_or(info.n_context, |most| info.n_context.min(most));
    if let Some(n_tokens) = options.n_budget_tokens(&info)? {
        info.n_context = info.n_context.min(n_tokens);
    }
    let limits = Limits {
        n_step_tokens: options.token_budget,
        n_rows: options.n_rows_max,
        kv_bytes: options.kv_budget(&info).unwrap_or(usize::MAX),
        kept_bytes: options.kept_budget(&info),
        n_kv_growth: N_KV_GROWTH,
        n_block: options.n_block,
        n_snapshot_gap: options.n_snapshot_gap,
        speculation: options.speculation,
    };
    Ok((info, limits))
}
