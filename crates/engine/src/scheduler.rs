//! Which positions the next step computes. A pure value: no thread, clock, randomness or I/O.
//!
//! Every sequence has a number of computed positions and a target; a step closes the gaps under a token budget. Chunked
//! prefill, decode and recomputing after a preemption are all that one rule. A step may be planned while one is in
//! flight: a row then takes a token that is still being sampled, and is void should that token end its sequence.
//!
//! Sequences are served in the order of their ids, which is the order of arrival. Each reserves KV positions for what it
//! knows and some growth. When a reservation cannot grow, the youngest sequence is preempted: its cache is dropped, and
//! prompt and output so far are computed anew later. The oldest can always grow, so something always finishes.

use std::collections::{BTreeMap, VecDeque};

use crate::plan::{Census, Limits, Plan, PlannedRow, StepWork, mismatch};
use crate::sequence::{Leave, Sequence, Standing};
use crate::throttle::Throttle;
use crate::{FinishReason, ModelInfo, Opening, Output, Request, SequenceId, StepError, StepOutput};

/// All sequences and the steps in flight.
#[derive(Debug)]
pub(crate) struct Scheduler {
    info: ModelInfo,
    limits: Limits,
    throttle: Throttle,
    sequences: BTreeMap<SequenceId, Sequence>,
    /// Oldest first; at most two.
    in_flight: VecDeque<Vec<PlannedRow>>,
    closed: Vec<SequenceId>,
    events: Vec<(SequenceId, Output)>,
    n_preempted: usize,
}

impl Scheduler {
    pub(crate) fn new(info: ModelInfo, limits: Limits) -> Self {
        assert!(limits.n_kv_tokens >= info.n_context, "a sequence alone must fit");
        let throttle = Throttle::new(limits.n_rows, limits.n_step_tokens);
        Self {
            info,
            limits,
            throttle,
            sequences: BTreeMap::new(),
            in_flight: VecDeque::new(),
            closed: Vec::new(),
            events: Vec::new(),
            n_preempted: 0,
        }
    }

    /// Takes a request whose prompt is not empty and fits the context.
    pub(crate) fn add(&mut self, id: SequenceId, request: Request) {
        self.sequences.insert(id, Sequence::new(id, request, &self.info));
    }

    /// Ends a sequence now. Unknown and finished ones are left alone.
    pub(crate) fn cancel(&mut self, id: SequenceId) {
        self.finish(id, FinishReason::Cancelled);
    }

    /// Ends every sequence now.
    pub(crate) fn cancel_all(&mut self) {
        let ids: Vec<_> = self.sequences.keys().copied().collect();
        ids.into_iter().for_each(|id| self.cancel(id));
    }

    /// Plans no rows for a sequence until [`resume`](Self::resume), as its receiver has no room.
    pub(crate) fn pause(&mut self, id: SequenceId) {
        if let Some(sequence) = self.sequences.get_mut(&id) {
            sequence.is_paused = true;
        }
    }

    /// Undoes [`pause`](Self::pause).
    pub(crate) fn resume(&mut self, id: SequenceId) {
        if let Some(sequence) = self.sequences.get_mut(&id) {
            sequence.is_paused = false;
        }
    }

    /// Plans the next step and counts it as in flight. At most one other step may be in flight.
    pub(crate) fn plan(&mut self) -> Plan {
        assert!(self.in_flight.len() < 2, "at most two steps in flight");
        self.settle();
        self.respect_throttle();
        self.admit();
        let mut plan = Plan::default();
        let mut planned_rows = Vec::new();
        let mut n_left = self.throttle.n_tokens;
        for id in self.turn_order() {
            let Some(n_tokens) = self.n_tokens_of(id, n_left) else { continue };
            let sequence = self.sequence_mut(id);
            let (row, planned) = sequence.plan_row(n_tokens);
            if !sequence.is_open {
                plan.opened.push(id);
            }
            plan.step.rows.push(row);
            planned_rows.push(planned);
            n_left -= n_tokens;
        }
        if !planned_rows.is_empty() {
            self.in_flight.push_back(planned_rows);
        }
        plan.closed = std::mem::take(&mut self.closed);
        plan
    }

    /// What to open a sequence of the plan with.
    pub(crate) fn opening(&self, id: SequenceId) -> Opening<'_> {
        self.sequences[&id].opening()
    }

    /// The backend holds the sequence from now on.
    pub(crate) fn opened(&mut self, id: SequenceId) {
        self.sequence_mut(id).is_open = true;
    }

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

    /// The oldest step in flight failed; the caches of its sequences are lost.
    pub(crate) fn collect_failed(&mut self, error: &StepError) {
        let is_retried = matches!(error, StepError::OutOfMemory { .. });
        for planned in self.in_flight.pop_front().unwrap_or_default() {
            let sequence = self.sequence_mut(planned.id);
            sequence.n_rows_in_flight -= 1;
            if !is_retried {
                self.finish(planned.id, FinishReason::Failed(error.to_string()));
            } else if sequence.standing != Standing::Leaving(Leave::Finished) {
                sequence.standing = Standing::Leaving(Leave::Lost);
            }
        }
        if is_retried {
            self.out_of_memory(error);
        }
    }

    /// Takes in the results of the oldest step in flight.
    pub(crate) fn collected(&mut self, output: StepOutput) -> StepWork {
        let mut work = StepWork::default();
        let planned_rows = self.in_flight.front().map_or(&[][..], Vec::as_slice);
        if let Some(detail) = mismatch(planned_rows, &output) {
            self.collect_failed(&StepError::Mismatch { detail });
            return work;
        }
        let planned_rows = self.in_flight.pop_front().unwrap_or_default();
        for (planned, result) in planned_rows.iter().zip(output.rows) {
            match planned.is_prefill {
                true => work.n_prefill += planned.n_tokens,
                false => work.n_decode += planned.n_tokens,
            }
            for output in self.sequence_mut(planned.id).apply(planned, result) {
                self.report(planned.id, output);
            }
        }
        work
    }

    /// What there is to tell receivers, oldest first.
    pub(crate) fn take_events(&mut self) -> Vec<(SequenceId, Output)> {
        std::mem::take(&mut self.events)
    }

    pub(crate) fn n_steps_in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Times a sequence lost its cache to others.
    pub(crate) fn n_preempted(&self) -> usize {
        self.n_preempted
    }

    pub(crate) fn census(&self) -> Census {
        let mut census = Census::default();
        for sequence in self.sequences.values() {
            census.n_kv_tokens += sequence.n_computed;
            match sequence.standing {
                Standing::Waiting => census.n_waiting += 1,
                Standing::Running | Standing::Leaving(_) => census.n_running += 1,
            }
        }
        census
    }

    fn sequence_mut(&mut self, id: SequenceId) -> &mut Sequence {
        self.sequences.get_mut(&id).expect("a sequence stays until no row of it is in flight")
    }

    /// Single tokens first, so that prefill never delays decode by more than its chunk; then in order of arrival.
    fn turn_order(&self) -> Vec<SequenceId> {
        let is_due = |s: &&Sequence| s.standing == Standing::Running && !s.is_paused && s.gap() > 0;
        let mut order: Vec<_> = self.sequences.values().filter(is_due).map(|s| (s.gap() > 1, s.id())).collect();
        order.sort_unstable();
        order.into_iter().map(|(_, id)| id).collect()
    }

    /// Positions of a sequence for this step, or `None` when it has to sit this step out.
    fn n_tokens_of(&mut self, id: SequenceId, n_left: usize) -> Option<usize> {
        let sequence = &self.sequences[&id];
        let n_tokens = sequence.gap().min(n_left);
        let n_positions = sequence.n_computed + n_tokens;
        // A sequence earlier in the turn may have preempted this one.
        let is_due = sequence.standing == Standing::Running && n_tokens > 0;
        (is_due && self.reserve(id, n_positions)).then_some(n_tokens)
    }

    /// Grows a reservation to `n_positions`, preempting others if it must. False when room comes free only later.
    fn reserve(&mut self, id: SequenceId, n_positions: usize) -> bool {
        loop {
            let n_free = self.n_kv_free();
            let n_growth = self.limits.n_kv_growth;
            let sequence = self.sequence_mut(id);
            let n_wanted = sequence.reservation(n_positions, n_growth);
            if n_positions <= sequence.n_reserved {
                return true;
            }
            if let Some(n) = [n_wanted, n_positions].into_iter().find(|n| n - sequence.n_reserved <= n_free) {
                sequence.n_reserved = n;
                return true;
            }
            match self.youngest_running() {
                Some(youngest) if !self.has_leaving() => self.preempt(youngest),
                _ => return false,
            }
            if !self.sequences.get(&id).is_some_and(|s| s.standing == Standing::Running) {
                return false;
            }
        }
    }

    /// Admits waiting sequences in order while there is room. A paused one yields its room to the first that waits.
    fn admit(&mut self) {
        loop {
            let is_first = |s: &&Sequence| s.standing == Standing::Waiting && !s.is_paused;
            let Some(first) = self.sequences.values().find(is_first) else { return };
            let (id, n_reserved) = (first.id(), first.reservation(first.n_known(), self.limits.n_kv_growth));
            if self.n_holding() < self.throttle.n_rows && n_reserved <= self.n_kv_free() {
                let sequence = self.sequence_mut(id);
                sequence.standing = Standing::Running;
                sequence.n_reserved = n_reserved;
                continue;
            }
            let is_idle = |s: &&Sequence| s.standing == Standing::Running && s.is_paused;
            match self.sequences.values().rfind(is_idle).map(Sequence::id) {
                Some(paused) if !self.has_leaving() => self.preempt(paused),
                _ => return,
            }
        }
    }

    fn respect_throttle(&mut self) {
        let n_running = self.sequences.values().filter(|s| s.standing == Standing::Running).count();
        for _ in self.throttle.n_rows..n_running {
            self.youngest_running().into_iter().for_each(|youngest| self.preempt(youngest));
        }
    }

    fn preempt(&mut self, id: SequenceId) {
        self.n_preempted += 1;
        self.sequence_mut(id).standing = Standing::Leaving(Leave::Preempted);
        self.settle();
    }

    /// Closes the leaving sequences that have no row in flight, also those that were never opened.
    fn settle(&mut self) {
        let is_done = |s: &&Sequence| matches!(s.standing, Standing::Leaving(_)) && s.n_rows_in_flight == 0;
        let done: Vec<_> = self.sequences.values().filter(is_done).map(|s| (s.id(), s.standing)).collect();
        for (id, standing) in done {
            self.closed.push(id);
            match standing {
                Standing::Leaving(Leave::Finished) => drop(self.sequences.remove(&id)),
                _ => self.sequence_mut(id).requeue(),
            }
        }
    }

    /// Takes the newest step back and names its sequences.
    fn retract(&mut self) -> Vec<SequenceId> {
        let planned_rows = self.in_flight.pop_back().unwrap_or_default();
        for planned in &planned_rows {
            self.sequence_mut(planned.id).retract_row(planned);
        }
        planned_rows.into_iter().map(|planned| planned.id).collect()
    }

    /// Makes the next steps smaller; when that was tried often enough, the youngest sequence fails.
    fn out_of_memory(&mut self, error: &StepError) {
        let is_holding = |s: &&Sequence| !matches!(s.standing, Standing::Waiting | Standing::Leaving(Leave::Finished));
        let n_running = self.sequences.values().filter(is_holding).count();
        let youngest = self.sequences.values().rfind(is_holding).map(Sequence::id);
        if !self.throttle.tighten(n_running)
            && let Some(youngest) = youngest
        {
            self.finish(youngest, FinishReason::Failed(error.to_string()));
        }
    }

    fn finish(&mut self, id: SequenceId, reason: FinishReason) {
        let is_live = |s: &&mut Sequence| s.standing != Standing::Leaving(Leave::Finished);
        if let Some(output) = self.sequences.get_mut(&id).filter(is_live).map(|s| s.finish(reason)) {
            self.report(id, output);
        }
    }

    fn report(&mut self, id: SequenceId, output: Output) {
        if matches!(output, Output::Finish { .. }) && self.sequences[&id].is_open {
            self.throttle.relax();
        }
        self.events.push((id, output));
    }

    fn has_leaving(&self) -> bool {
        self.sequences.values().any(|s| matches!(s.standing, Standing::Leaving(_)))
    }

    /// The one to preempt: paused ones first, then the latest arrival.
    fn youngest_running(&self) -> Option<SequenceId> {
        let running = self.sequences.values().filter(|s| s.standing == Standing::Running);
        running.max_by_key(|s| (s.is_paused, s.id())).map(Sequence::id)
    }

    fn n_holding(&self) -> usize {
        self.sequences.values().filter(|s| s.standing != Standing::Waiting).count()
    }

    fn n_kv_free(&self) -> usize {
        self.limits.n_kv_tokens - self.sequences.values().map(|s| s.n_reserved).sum::<usize>()
    }
}

#[cfg(test)]
#[path = "scheduler_tests.rs"]
mod tests;
