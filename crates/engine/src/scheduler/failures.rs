//! What happens when the backend refuses or fails.

use super::Scheduler;
use crate::plan::{Keep, Plan};
use crate::sequence::{Keeping, Leave, Sequence, Standing};
use crate::{BlockId, FinishReason, SequenceId, SnapshotId, StepError};

impl Scheduler {
    /// The backend could not open a sequence of the newest plan; its step is not submitted.
    pub(crate) fn open_refused(&mut self, id: SequenceId, error: &StepError) {
        self.retract();
        match error {
            StepError::OutOfMemory { .. } => self.out_of_memory(error),
            _ => self.finish(id, FinishReason::Failed(error.to_string())),
        }
    }

    /// The backend refused the newest planned step; nothing of it has happened.
    pub(crate) fn submit_refused(&mut self, error: &StepError) {
        let ids = self.retract();
        match error {
            StepError::OutOfMemory { .. } => self.out_of_memory(error),
            _ => ids.into_iter().for_each(|id| self.finish(id, FinishReason::Failed(error.to_string()))),
        }
    }

    /// The oldest step in flight failed; the caches of its sequences are lost. Blocks kept of them are of earlier steps.
    pub(crate) fn collect_failed(&mut self, error: &StepError) {
        let is_retried = matches!(error, StepError::OutOfMemory { .. });
        self.speculator.failed();
        for planned in self.in_flight.pop_front().unwrap_or_default() {
            let sequence = self.sequence_mut(planned.id);
            sequence.n_rows_in_flight -= 1;
            sequence.is_lost = true;
            if !is_retried {
                self.finish(planned.id, FinishReason::Failed(error.to_string()));
            } else if sequence.standing != Standing::Leaving(Leave::Finished) {
                sequence.standing = Standing::Leaving(Leave::Preempted);
            }
        }
        if is_retried {
            self.out_of_memory(error);
        }
    }

    /// The backend does not hold some of what `plan`, the newest, was to keep. Its step is not submitted, and is planned anew
    /// without what was to start from them.
    pub(crate) fn keeps_refused(&mut self, plan: &Plan, refused: &[Keep]) {
        if !plan.step.rows.is_empty() {
            self.retract();
        }
        for keep in refused {
            match keep {
                Keep::Block { id, block, .. } => {
                    self.stop_keeping(*id);
                    let removed = self.tree.remove_subtree(*block);
                    self.forget_path(&removed);
                }
                Keep::Snapshot { snapshot, .. } => self.drop_snapshot(*snapshot),
            }
        }
    }

    /// A snapshot of the newest plan was not taken, though its step is submitted.
    pub(crate) fn snapshot_refused(&mut self, id: SequenceId, snapshot: SnapshotId) {
        for planned in self.in_flight.iter_mut().flatten().filter(|planned| planned.id == id) {
            planned.snapshot = planned.snapshot.filter(|taken| *taken != snapshot);
        }
        self.drop_snapshot(snapshot);
    }

    fn stop_keeping(&mut self, id: SequenceId) {
        if let Some(sequence) = self.sequences.get_mut(&id) {
            sequence.holdings.keeping = Keeping::Never;
        }
    }

    /// Blocks that are no longer indexed: cuts them off the paths that they were on, and puts those back in the queue that
    /// were to start from them.
    fn forget_path(&mut self, removed: &[BlockId]) {
        let n_block = self.limits.n_block;
        let mut locked = Vec::new();
        for sequence in self.sequences.values_mut() {
            let holdings = &mut sequence.holdings;
            let is_unopened = !sequence.is_open && holdings.starts_from(removed);
            if is_unopened {
                locked.push(holdings.release(n_block));
                sequence.requeue();
            } else {
                holdings.cut_off(removed);
            }
        }
        for mut locks in locked {
            locks.blocks.retain(|id| !removed.contains(id));
            self.unlock(locks);
        }
    }

    fn drop_snapshot(&mut self, snapshot: SnapshotId) {
        let n_block = self.limits.n_block;
        self.tree.remove_snapshot(snapshot);
        let mut locked = Vec::new();
        for sequence in self.sequences.values_mut() {
            sequence.holdings.snapshots.retain(|(_, taken)| *taken != snapshot);
            if !sequence.is_open && sequence.holdings.starts_at(snapshot) {
                locked.push(sequence.holdings.release(n_block));
                sequence.requeue();
            }
        }
        locked.into_iter().for_each(|locks| self.unlock(locks));
    }

    /// Takes the newest step back and names its sequences.
    fn retract(&mut self) -> Vec<SequenceId> {
        let planned_rows = self.in_flight.pop_back().unwrap_or_default();
        if !planned_rows.is_empty() {
            self.speculator.retracted();
        }
        for planned in &planned_rows {
            let sequence = self.sequence_mut(planned.id);
            sequence.retract_row(planned);
            sequence.holdings.snapshots.retain(|(_, taken)| Some(*taken) != planned.snapshot);
        }
        planned_rows.into_iter().map(|planned| planned.id).collect()
    }

    /// Lets what no sequence uses go; if there is nothing, makes the next steps smaller; when that was tried often enough,
    /// the last sequence fails.
    fn out_of_memory(&mut self, error: &StepError) {
        if self.unused_bytes() > 0 {
            self.throttle.kept_bytes = self.unused_bytes() / 2;
            while self.tree.evict() || self.tree.evict_snapshot() {}
            return;
        }
        let is_holding = |s: &&Sequence| !matches!(s.standing, Standing::Waiting | Standing::Leaving(Leave::Finished));
        let n_running = self.sequences.values().filter(is_holding).count();
        let last = self.sequences.values().filter(is_holding).max_by_key(|s| super::budget::precedence(s));
        let last = last.map(Sequence::id);
        if !self.throttle.tighten(n_running)
            && let Some(last) = last
        {
            self.finish(last, FinishReason::Failed(error.to_string()));
        }
    }
}
