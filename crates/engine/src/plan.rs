//! What the scheduler hands out and gets back: bounds, the plan of a step, and what its rows are meant to answer.

use crate::{RowResult, SequenceId, Step, StepOutput};

/// Bounds of every plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Positions computed in a step.
    pub n_step_tokens: usize,
    /// Sequences that hold a cache at once.
    pub n_rows: usize,
    /// Positions held by all caches; at least the model's `n_context`.
    pub n_kv_tokens: usize,
    /// Positions by which a reservation grows.
    pub n_kv_growth: usize,
}

/// What the backend is to do next, in this order.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub closed: Vec<SequenceId>,
    pub opened: Vec<SequenceId>,
    /// Without rows when there is nothing to compute.
    pub step: Step,
}

/// Positions computed by a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StepWork {
    pub n_prefill: usize,
    pub n_decode: usize,
}

/// Who is where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Census {
    pub n_running: usize,
    pub n_waiting: usize,
    pub n_kv_tokens: usize,
}

/// A row as planned: what its result means, and how to take it back.
#[derive(Clone, Debug)]
pub(crate) struct PlannedRow {
    pub id: SequenceId,
    /// Input positions.
    pub n_tokens: usize,
    /// Position after the last input token.
    pub end: usize,
    /// Whether a token is sampled.
    pub has_sample: bool,
    /// Prompt tokens scored.
    pub n_scores: usize,
    /// Whether the input is known prompt or resumed output, and not the last sampled token.
    pub is_prefill: bool,
}

/// How the results differ from what was planned.
pub(crate) fn mismatch(planned_rows: &[PlannedRow], output: &StepOutput) -> Option<String> {
    if planned_rows.len() != output.rows.len() {
        return Some(format!("{} rows were planned, {} answered", planned_rows.len(), output.rows.len()));
    }
    let is_answered = |(planned, result): &(&PlannedRow, &RowResult)| {
        planned.id == result.sequence
            && usize::from(planned.has_sample) == result.tokens.len()
            && planned.n_scores == result.prompt_scores.len()
    };
    let (planned, result) = planned_rows.iter().zip(&output.rows).find(|pair| !is_answered(pair))?;
    Some(format!("{planned:?} was answered by sequence {:?} with other contents", result.sequence))
}
