//! Which positions the next step computes, and which state is kept. A pure value: no thread, clock, randomness or I/O.
//!
//! Every sequence has a number of computed positions and a target; a step closes the gaps under a token budget. Chunked
//! prefill, decode, prefix hits and going on after a preemption are all that one rule. A step may be planned while one is
//! in flight: a row then takes a token that is still being sampled, and is void should that token end its sequence.
//!
//! Submodules by concern: who starts (`admission`), state from elsewhere (`adoption`), room (`budget`), what is kept (`prefix`), what goes wrong (`failures`).

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::hold::Hold;
use crate::plan::{Census, Chore, Limits, Plan, PlannedRow, StepWork, Tally, mismatch};
use crate::prefix_tree::PrefixTree;
use crate::sequence::{Leave, Sequence, Standing};
use crate::speculation::Speculator;
use crate::throttle::Throttle;
use crate::{FinishReason, ModelInfo, Opening, Output, Request, SequenceId, StepError, StepOutput, Terms, TokenId};

mod admission;
mod adoption;
mod budget;
mod drafts;
mod failures;
mod prefix;

use admission::Follow;
pub(crate) use adoption::{Gap, Room};
use drafts::Drafts;

/// Times in a row that a sequence lets later arrivals with less to compute go first.
const N_DEFERRED_MAX: usize = 8;

/// All sequences, all kept state and the steps in flight.
#[derive(Debug)]
pub(crate) struct Scheduler {
    info: ModelInfo,
    limits: Limits,
    throttle: Throttle,
    hold: Hold,
    sequences: BTreeMap<SequenceId, Sequence>,
    tree: PrefixTree,
    follows: BTreeMap<SequenceId, Follow>,
    /// Oldest first; at most two.
    in_flight: VecDeque<Vec<PlannedRow>>,
    /// What the next plan has to do besides its step.
    next: Plan,
    events: Vec<(SequenceId, Output)>,
    tally: Tally,
    speculator: Speculator,
    drafts: Drafts,
}

impl Scheduler {
    pub(crate) fn new(info: ModelInfo, limits: Limits) -> Self {
        let longest_bytes = info.n_context.saturating_mul(info.kv_bytes_per_token).saturating_add(info.snapshot_bytes);
        assert!(limits.kv_bytes >= longest_bytes, "a sequence alone must fit");
        let throttle = Throttle::new(limits.n_rows, limits.n_step_tokens);
        Self {
            info,
            limits,
            throttle,
            hold: Hold::default(),
            sequences: BTreeMap::new(),
            tree: PrefixTree::new(limits.n_block),
            follows: BTreeMap::new(),
            in_flight: VecDeque::new(),
            next: Plan::default(),
            events: Vec::new(),
            tally: Tally::default(),
            speculator: Speculator::new(limits.speculation),
            drafts: Drafts::default(),
        }
    }

    /// Bounds what is held from the next plan on.
    pub(crate) fn hold_to(&mut self, hold: Hold) {
        self.hold = hold;
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

    /// Plans the next step and counts it as in flight. At most one other step may be in flight. While something decodes,
    /// at most `n_prefill_max` positions of prefill delay it.
    pub(crate) fn plan(&mut self, n_prefill_max: usize) -> Plan {
        assert!(self.in_flight.len() < 2, "at most two steps in flight");
        self.settle();
        self.respect_throttle();
        self.admit();
        self.drop_stale_drafts();
        let order = if self.drafts.is_held { Vec::new() } else { self.turn_order() };
        let is_decoding = order.first().is_some_and(|id| self.sequences[id].gap() == 1);
        let mut n_left = self.throttle.n_tokens;
        let mut n_prefill_left = if is_decoding { n_prefill_max } else { usize::MAX };
        let mut rows = Vec::new();
        for id in &order {
            let n_most = if self.sequences[id].gap() > 1 { n_left.min(n_prefill_left) } else { n_left };
            let Some(n_tokens) = self.n_tokens_of(*id, n_most) else { continue };
            let planned = self.plan_row(*id, n_tokens);
            n_left -= n_tokens;
            n_prefill_left -= if planned.is_prefill { n_tokens.min(n_prefill_left) } else { 0 };
            rows.push(planned);
        }
        self.count_deferrals(&order, &rows);
        if !rows.is_empty() {
            self.begin_round(&rows);
            self.in_flight.push_back(rows);
        }
        self.drafts = Drafts::default();
        self.trim_kept();
        self.forget_dropped();
        std::mem::take(&mut self.next)
    }

    fn plan_row(&mut self, id: SequenceId, n_tokens: usize) -> PlannedRow {
        let drafts = self.take_drafts(id, n_tokens - 1);
        let sequence = self.sequence_mut(id);
        let (row, mut planned) = match drafts {
            Some((drafts, source)) => sequence.plan_drafted(&drafts, source),
            None => sequence.plan_row(n_tokens),
        };
        if !sequence.is_open {
            self.next.opened.push(id);
        }
        planned.snapshot = self.plan_snapshot(id);
        self.next.step.rows.push(row);
        planned
    }

    /// What to open a sequence of the plan with.
    pub(crate) fn opening(&self, id: SequenceId) -> Opening<'_> {
        self.sequences[&id].opening()
    }

    /// The backend holds the sequence from now on.
    pub(crate) fn opened(&mut self, id: SequenceId) {
        let n_block = self.limits.n_block;
        let (output, locks) = self.sequence_mut(id).opened(n_block);
        self.events.extend(output.map(|output| (id, output)));
        self.unlock(locks);
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
            let drawn = self.sequence_mut(planned.id).drawn(&result);
            match planned.is_prefill {
                true => work.n_prefill += planned.n_tokens - planned.n_drafts,
                false => work.n_decode += drawn.len(),
            }
            for output in self.sequence_mut(planned.id).apply(planned, result) {
                self.report(planned.id, output);
            }
            self.keep_blocks(planned.id);
            self.learn(planned, &drawn);
        }
        self.speculator.collected(work.n_decode);
        work
    }

    /// The terms that [`Backend::bind`](crate::Backend::bind) is to tell of the oldest step in flight, if any of its draws are late.
    pub(crate) fn late_terms(&mut self) -> Option<Vec<Vec<Terms>>> {
        let late = self.in_flight.front()?.iter().filter(|row| row.is_late);
        let sequences = &mut self.sequences;
        let terms = late.map(|row| {
            let sequence = sequences.get_mut(&row.id).expect("a sequence stays until no row of it is in flight");
            sequence.terms(row)
        });
        let terms: Vec<_> = terms.collect();
        (!terms.is_empty()).then_some(terms)
    }

    /// The results taken in last came `took` after those before them.
    pub(crate) fn took(&mut self, took: Duration) {
        self.speculator.took(took);
    }

    /// What there is to tell receivers, oldest first.
    pub(crate) fn take_events(&mut self) -> Vec<(SequenceId, Output)> {
        std::mem::take(&mut self.events)
    }

    pub(crate) fn n_steps_in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Whether no sequence runs.
    pub(crate) fn is_idle(&self) -> bool {
        self.sequences.values().all(|s| s.standing == Standing::Waiting)
    }

    /// Positions at the beginning of a prompt that kept blocks hold.
    pub(crate) fn n_kept(&self, prompt: &[TokenId]) -> usize {
        self.tree.find(prompt).n_tokens
    }

    pub(crate) fn tally(&self) -> Tally {
        Tally { n_evicted: self.tree.n_evicted(), drafts: self.speculator.counts(), ..self.tally }
    }

    pub(crate) fn census(&self) -> Census {
        let mut census = Census {
            n_kept_tokens: self.tree.n_positions(),
            n_blocks: self.tree.n_blocks(),
            n_snapshots: self.n_snapshots(),
            ..Census::default()
        };
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

    /// Single tokens first, so that prefill never delays decode by more than its chunk. Then interactive before background,
    /// those that others were served before for too long, and those with the least to compute.
    fn turn_order(&self) -> Vec<SequenceId> {
        let is_due = |s: &&Sequence| s.standing == Standing::Running && !s.is_paused && s.gap() > 0;
        let mut order: Vec<_> = self.sequences.values().filter(is_due).map(|s| (turn_rank(s), s.id())).collect();
        order.sort_unstable();
        order.into_iter().map(|(_, id)| id).collect()
    }

    /// Positions of a sequence for this step, or `None` when it has to sit this step out.
    fn n_tokens_of(&mut self, id: SequenceId, n_left: usize) -> Option<usize> {
        let n_to_cut = self.n_to_cut(id);
        let sequence = &self.sequences[&id];
        let n_tokens = (sequence.gap() + self.n_drafts(id)).min(n_left).min(n_to_cut);
        let n_positions = sequence.n_computed + n_tokens;
        // A sequence earlier in the turn may have preempted this one.
        let is_due = sequence.standing == Standing::Running && n_tokens > 0;
        (is_due && self.reserve(id, n_positions)).then_some(n_tokens)
    }

    /// Counts for whom a later arrival was served, and forgets it for those that were served.
    fn count_deferrals(&mut self, order: &[SequenceId], rows: &[PlannedRow]) {
        let latest = rows.iter().filter(|row| row.is_prefill).map(|row| row.id).max();
        for id in order {
            let is_served = rows.iter().any(|row| row.id == *id);
            let sequence = self.sequence_mut(*id);
            match latest {
                _ if is_served => sequence.n_deferred = 0,
                Some(latest) if latest > *id => sequence.n_deferred += 1,
                _ => {}
            }
        }
    }

    /// Closes the leaving sequences that have no row in flight, also those that were never opened, and keeps what they
    /// have computed.
    fn settle(&mut self) {
        let is_done = |s: &&Sequence| matches!(s.standing, Standing::Leaving(_)) && s.n_rows_in_flight == 0;
        let done: Vec<_> = self.sequences.values().filter(is_done).map(|s| (s.id(), s.standing)).collect();
        for (id, standing) in done {
            self.let_go(id);
            self.next.chores.push(Chore::Close(id));
            match standing {
                Standing::Leaving(Leave::Finished) => drop(self.sequences.remove(&id)),
                _ => self.sequence_mut(id).requeue(),
            }
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
}

/// Smallest first.
fn turn_rank(sequence: &Sequence) -> (bool, crate::Priority, bool, usize) {
    let is_patient = sequence.n_deferred < N_DEFERRED_MAX;
    let n_tokens = if is_patient { sequence.gap() } else { 0 };
    (sequence.gap() > 1, sequence.priority, is_patient, n_tokens)
}

#[cfg(test)]
#[path = "scheduler_tests.rs"]
mod tests;
