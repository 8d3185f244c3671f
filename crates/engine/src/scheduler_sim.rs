//! A scheduler and a fake backend for the scheduler's tests, driven by hand.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::fake::{FakeBackend, FakeOptions, Probe, expected_prompt_scores, expected_tokens};
use crate::plan::{Chore, Keep, Limits, Plan};
use crate::scheduler::Scheduler;
use crate::sequence::{Sequence, Standing};
use crate::{Backend, FinishReason, Output, Priority, Request, SequenceId, StepError};

/// A scheduler and a fake backend, driven as the worker does but by hand.
pub struct Sim {
    pub scheduler: Scheduler,
    pub backend: FakeBackend,
    pub probe: Arc<Probe>,
    pub fake: FakeOptions,
    pub limits: Limits,
    /// Prefill beside decode.
    pub n_prefill_max: usize,
    pub requests: BTreeMap<SequenceId, Request>,
    pub outputs: BTreeMap<SequenceId, Vec<Output>>,
}

#[derive(Clone, Debug)]
pub enum Op {
    Arrive(Request),
    Cancel(usize),
    Pause(usize),
    Resume(usize),
    Turns(usize),
    /// A request that begins with the first so many tokens of an earlier one's prompt and output, and goes on as given.
    Branch {
        nth: usize,
        n_tokens: usize,
        request: Request,
    },
}

impl Sim {
    pub fn new(fake: FakeOptions, limits: Limits) -> Self {
        let backend = FakeBackend::new(fake.clone());
        let (requests, outputs) = (BTreeMap::new(), BTreeMap::new());
        let probe = backend.probe();
        Self {
            scheduler: Scheduler::new(fake.info.clone(), limits),
            backend,
            probe,
            fake,
            limits,
            n_prefill_max: usize::MAX,
            requests,
            outputs,
        }
    }

    pub fn arrive(&mut self, request: Request) -> SequenceId {
        let id = SequenceId(self.requests.len() as u64);
        self.requests.insert(id, request.clone());
        self.outputs.insert(id, Vec::new());
        self.scheduler.add(id, request);
        id
    }

    pub fn apply(&mut self, op: Op) {
        let nth = |n: usize| SequenceId(n as u64 % self.requests.len().max(1) as u64);
        match op {
            Op::Arrive(request) => {
                self.arrive(request);
            }
            Op::Cancel(n) => self.scheduler.cancel(nth(n)),
            Op::Pause(n) => self.scheduler.pause(nth(n)),
            Op::Resume(n) => self.scheduler.resume(nth(n)),
            Op::Turns(n) => self.turns(n),
            Op::Branch { nth: n, n_tokens, request } => {
                let mut prompt: Vec<_> = self.requests.get(&nth(n)).map_or(Vec::new(), |earlier| {
                    let output = expected_tokens(&self.fake, earlier);
                    earlier.prompt.iter().chain(&output).copied().take(n_tokens).collect()
                });
                prompt.extend(request.prompt);
                prompt.truncate(self.fake.info.n_context - 1);
                self.arrive(Request { prompt, ..request });
            }
        }
        self.take_events();
    }

    pub fn pause_nth(&mut self, n: u64) {
        self.scheduler.pause(SequenceId(n));
    }

    pub fn cancel_nth(&mut self, n: u64) {
        self.scheduler.cancel(SequenceId(n));
    }

    pub fn turns(&mut self, n: usize) {
        for _ in 0..n {
            self.turn();
        }
    }

    /// Sequences with one token to compute, none of which may be left out while there is room for all.
    pub fn decoding(&self) -> Vec<SequenceId> {
        let info = &self.fake.info;
        let longest_bytes = info.n_context * info.kv_bytes_per_token + 8 * info.snapshot_bytes;
        let has_room = self.limits.kv_bytes / 2 >= self.limits.n_rows * longest_bytes && self.fake.faults.is_empty();
        let waiting = self.scheduler.sequences.values().filter(|s| s.standing == Standing::Waiting);
        let urgent = waiting.map(|s| s.priority).min().unwrap_or(Priority::Background);
        let is_decoding = |s: &&Sequence| {
            // Background ones may have to give their place up.
            let is_safe = s.priority <= urgent;
            s.standing == Standing::Running && !s.is_paused && s.gap() == 1 && is_safe
        };
        let decoding = self.scheduler.sequences.values().filter(is_decoding);
        if has_room && self.fake.n_tokens_max.is_none() { decoding.map(Sequence::id).collect() } else { Vec::new() }
    }

    /// One step onwards; false when there is nothing to do.
    pub fn turn(&mut self) -> bool {
        self.draft();
        let decoding = if self.scheduler.awaits_tokens() { Vec::new() } else { self.decoding() };
        let plan = self.scheduler.plan(self.n_prefill_max);
        let is_planned = |id: &SequenceId| plan.step.rows.iter().any(|row| row.sequence == *id);
        assert!(decoding.iter().all(is_planned), "{decoding:?} decode, planned are {:?}", plan.step);
        let is_submitted = self.keep(&plan) && !plan.step.rows.is_empty() && self.submit(&plan);
        let n_in_flight = self.scheduler.n_steps_in_flight();
        if n_in_flight == 2 || (n_in_flight == 1 && !is_submitted) {
            match self.backend.collect() {
                Ok(output) => {
                    let n_drafted = self.scheduler.tally().drafts.n_drafted;
                    self.scheduler.collected(output);
                    let n_drafted = self.scheduler.tally().drafts.n_drafted - n_drafted;
                    // A device to which a draft costs a twentieth of a step, and waiting a tenth.
                    let waited = if n_drafted > 0 { 10 } else { 0 };
                    self.scheduler.took(Duration::from_millis(100 + waited + 5 * n_drafted));
                }
                Err(error) => self.scheduler.collect_failed(&error),
            }
            self.bind();
        }
        self.take_events();
        self.check_bounds();
        !plan.is_empty() || n_in_flight > 0
    }

    /// Has the backend draft what the scheduler wants.
    fn draft(&mut self) {
        let asks = self.scheduler.decide_drafts();
        if !asks.is_empty() {
            let drafts = self.backend.draft(&asks);
            drop(asks);
            self.scheduler.drafted(drafts);
        }
    }

    /// What comes before the step. False when some of it was refused, and there is no step.
    pub fn keep(&mut self, plan: &Plan) -> bool {
        let mut refused = Vec::new();
        for chore in &plan.chores {
            let (keep, result) = match chore {
                Chore::Keep(keep @ Keep::Block { id, block, positions, .. }) => {
                    (keep, self.backend.keep(*id, *block, positions.clone()))
                }
                Chore::Keep(keep @ Keep::Snapshot { id, snapshot }) => (keep, self.backend.snapshot(*id, *snapshot)),
                Chore::Close(id) => {
                    self.backend.close(*id);
                    continue;
                }
                Chore::Forget(kept) => {
                    self.backend.forget(&[*kept]);
                    continue;
                }
            };
            assert!(!matches!(result, Err(StepError::Mismatch { .. })), "{keep:?}: {result:?}");
            refused.extend(result.is_err().then(|| keep.clone()));
        }
        if !refused.is_empty() {
            self.scheduler.keeps_refused(plan, &refused);
        }
        refused.is_empty()
    }

    pub fn submit(&mut self, plan: &Plan) -> bool {
        for id in &plan.opened {
            if let Err(error) = self.backend.open(*id, &self.scheduler.opening(*id)) {
                assert!(!matches!(error, StepError::Mismatch { .. }), "{error}");
                self.scheduler.open_refused(*id, &error);
                return false;
            }
            self.scheduler.opened(*id);
        }
        if let Err(error) = self.backend.submit(&plan.step) {
            assert!(!matches!(error, StepError::Mismatch { .. }), "{error}");
            self.scheduler.submit_refused(&error);
            return false;
        }
        for (id, snapshot) in &plan.snapshots {
            if self.backend.snapshot(*id, *snapshot).is_err() {
                self.scheduler.snapshot_refused(*id, *snapshot);
            }
        }
        if self.scheduler.n_steps_in_flight() == 1 {
            self.bind();
        }
        true
    }

    /// Tells what the draws of the oldest step in flight hang on.
    fn bind(&mut self) {
        if let Some(terms) = self.scheduler.late_terms() {
            self.backend.bind(terms);
        }
    }

    pub fn take_events(&mut self) {
        for (id, output) in self.scheduler.take_events() {
            self.outputs.get_mut(&id).unwrap().push(output);
        }
    }

    pub fn check_bounds(&self) {
        let seen = self.probe.seen();
        assert!(seen.n_step_tokens_max <= self.limits.n_step_tokens, "{seen:?} over {:?}", self.limits);
        assert!(seen.n_rows_max <= self.limits.n_rows, "{seen:?} over {:?}", self.limits);
        assert!(seen.kv_bytes_max <= self.limits.kv_bytes, "{seen:?} over {:?}", self.limits);
        assert!(self.scheduler.held_bytes() <= self.limits.kv_bytes, "over {:?}", self.limits);
    }

    /// Runs to the end, which must come within a bound that grows with the work, and checks that nothing is left.
    pub fn drain(&mut self) {
        (0..self.requests.len()).for_each(|n| self.scheduler.resume(SequenceId(n as u64)));
        let n_tokens: usize = self.requests.values().map(|r| r.prompt.len() + r.max_tokens.min(1000)).sum();
        let n_turns_max = 100 + 20 * n_tokens * self.requests.len();
        let n_turns = (0..n_turns_max).take_while(|_| self.turn()).count();
        assert!(n_turns < n_turns_max, "{n_tokens} tokens did not finish in {n_turns} turns");
        assert!(self.scheduler.sequences.is_empty(), "idle with work left: {:?}", self.scheduler);
        self.check_nothing_left();
    }

    /// No sequence and no lock is left; what is indexed is what the backend holds, and all of it can be forgotten.
    fn check_nothing_left(&mut self) {
        let tree = &self.scheduler.tree;
        tree.assert_sound();
        assert_eq!(tree.n_unlocked_positions(), tree.n_positions(), "locks are left: {tree:?}");
        assert_eq!(tree.n_unlocked_snapshots(), tree.n_snapshots(), "locks are left: {tree:?}");
        let seen = self.probe.seen();
        assert_eq!((seen.n_open, seen.n_tokens), (0, 0));
        assert_eq!((seen.n_blocks, seen.n_snapshots), (tree.n_blocks(), tree.n_snapshots()));
        assert!(seen.n_live <= tree.n_positions(), "{seen:?}, {tree:?}");
        let kept = self.scheduler.forget_all();
        self.backend.forget(&kept);
        let seen = self.probe.seen();
        assert_eq!((seen.n_blocks, seen.n_snapshots, seen.n_live), (0, 0, 0));
    }

    pub fn tokens(&self, id: SequenceId) -> Vec<u32> {
        let token = |output: &Output| match output {
            Output::Token(score) => Some(score.token),
            _ => None,
        };
        self.outputs[&id].iter().filter_map(token).collect()
    }

    pub fn reason(&self, id: SequenceId) -> FinishReason {
        match self.outputs[&id].last() {
            Some(Output::Finish { reason, .. }) => reason.clone(),
            other => panic!("{id:?} ends with {other:?}"),
        }
    }

    /// Every output is what the request alone would give: all of it if it finished, else its beginning.
    pub fn check_outputs(&self) {
        for (id, request) in &self.requests {
            let (tokens, expected) = (self.tokens(*id), expected_tokens(&self.fake, request));
            match self.reason(*id) {
                FinishReason::Stop | FinishReason::Length => assert_eq!(tokens, expected, "{id:?}"),
                _ => assert!(expected.starts_with(&tokens), "{id:?}: {tokens:?} does not begin {expected:?}"),
            }
            let outputs = &self.outputs[id];
            let ranks: Vec<_> = outputs.iter().map(rank).collect();
            assert!(ranks.is_sorted(), "prefill, scores, tokens, finish is the order: {outputs:?}");
            let n_finishes = outputs.iter().filter(|o| matches!(o, Output::Finish { .. })).count();
            let prompts: Vec<_> = outputs.iter().filter(|o| matches!(o, Output::Prompt(_))).collect();
            assert_eq!(n_finishes, 1, "{outputs:?}");
            assert!(prompts.len() <= 1, "{outputs:?}");
            if let (Some(Output::Prompt(scores)), Some(_)) = (prompts.first(), request.sampling.n_logprobs) {
                assert_eq!(*scores, expected_prompt_scores(&self.fake, request));
            }
            let is_scored =
                request.score_prompt && matches!(self.reason(*id), FinishReason::Stop | FinishReason::Length);
            assert!(prompts.len() == 1 || !is_scored, "{outputs:?}");
        }
    }
}

/// Outputs of one sequence come in the order of their ranks.
fn rank(output: &Output) -> usize {
    match output {
        Output::Prefill { .. } => 0,
        Output::Prompt(_) => 1,
        Output::Token(_) => 2,
        Output::Finish { .. } => 3,
    }
}
