//! What the scheduler hands out and gets back: bounds, the plan of a step, and what its rows are meant to answer.

use std::ops::Range;

use crate::draft::Source;
use crate::tier::Link;
use crate::{BlockId, DraftCounts, Kept, RowResult, SequenceId, SnapshotId, Speculation, Step, StepOutput};

/// Bounds of every plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Positions computed in a step.
    pub n_step_tokens: usize,
    /// Sequences that hold a cache at once.
    pub n_rows: usize,
    /// Bytes of all positions, snapshots and states; enough for a sequence as long as the model's `n_context`.
    pub kv_bytes: usize,
    /// Bytes kept that no running sequence uses.
    pub kept_bytes: usize,
    /// Positions by which a reservation grows.
    pub n_kv_growth: usize,
    /// Positions of a full block.
    pub n_block: usize,
    /// Positions between regular snapshots.
    pub n_snapshot_gap: usize,
    /// Which drafts may be used.
    pub speculation: Speculation,
}

/// What the backend is to do next, in the order of the fields. Keeping may fail, see
/// [`Scheduler::keeps_refused`](crate::scheduler::Scheduler::keeps_refused); opening and the step are left out then.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// In this order.
    pub chores: Vec<Chore>,
    /// What is newly indexed: blocks that the chores keep, and snapshots taken before.
    pub indexed: Vec<(Kept, Link)>,
    pub opened: Vec<SequenceId>,
    /// Without rows when there is nothing to compute.
    pub step: Step,
    /// Once the step is submitted: states as of its end.
    pub snapshots: Vec<(SequenceId, SnapshotId)>,
}

impl Plan {
    /// Whether there is nothing to do.
    pub(crate) fn is_empty(&self) -> bool {
        self.chores.is_empty() && self.opened.is_empty() && self.step.rows.is_empty()
    }
}

/// What is done before a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Chore {
    /// This is no longer indexed.
    Forget(Kept),
    /// State of an open sequence is to outlive it.
    Keep(Keep),
    /// A sequence has left.
    Close(SequenceId),
}

/// State of an open sequence that is to outlive it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// KV of `positions`.
    Block { id: SequenceId, block: BlockId, positions: Range<usize> },
    /// State as it is now.
    Snapshot { id: SequenceId, snapshot: SnapshotId },
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
    /// Positions of running sequences, shared ones counted for each.
    pub n_kv_tokens: usize,
    pub n_kept_tokens: usize,
    pub n_blocks: usize,
    pub n_snapshots: usize,
}

/// What has happened since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Times a sequence lost its place to others.
    pub n_preempted: u64,
    /// Tokens that did not have to be computed, resumed sequences included.
    pub n_hit_tokens: u64,
    pub n_evicted: u64,
    /// Snapshots taken.
    pub n_snapshots: u64,
    /// Times a sequence waited for another that computes the same prefix.
    pub n_follows: u64,
    pub drafts: DraftCounts,
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
    /// Whether what it samples hangs on tokens before it.
    pub is_late: bool,
    /// Drafts among the input, each of which has a token sampled, too.
    pub n_drafts: usize,
    /// Where they came from.
    pub source: Source,
    /// Prompt tokens scored.
    pub n_scores: usize,
    /// Whether the input is known prompt or resumed output, and not the last sampled token.
    pub is_prefill: bool,
    /// Taken at its end.
    pub snapshot: Option<SnapshotId>,
}

impl PlannedRow {
    /// Tokens that it samples, if all its drafts are right.
    pub(crate) fn n_pending(&self) -> usize {
        usize::from(self.has_sample) + self.n_drafts
    }
}

/// How the results differ from what was planned.
pub(crate) fn mismatch(planned_rows: &[PlannedRow], output: &StepOutput) -> Option<String> {
    if planned_rows.len() != output.rows.len() {
        return Some(format!("{} rows were planned, {} answered", planned_rows.len(), output.rows.len()));
    }
    let is_answered = |(planned, result): &(&PlannedRow, &RowResult)| {
        planned.id == result.sequence
            && (usize::from(planned.has_sample)..=planned.n_pending()).contains(&result.tokens.len())
            && planned.n_scores == result.prompt_scores.len()
    };
    let (planned, result) = planned_rows.iter().zip(&output.rows).find(|pair| !is_answered(pair))?;
    Some(format!("{planned:?} was answered by sequence {:?} with other contents", result.sequence))
}
