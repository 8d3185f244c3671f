//! A scheduler and a fake backend for the scheduler's tests, driven by hand.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::N_CONTEXT;
use crate::fake::{FakeBackend, FakeOptions, Probe, expected_prompt_scores, expected_tokens};
use crate::plan::{Limits, Plan};
use crate::scheduler::Scheduler;
use crate::sequence::{Sequence, Standing};
use crate::{Backend, FinishReason, Output, Request, SequenceId, StepError};

/// A scheduler and a fake backend, driven as the worker does but by hand.
pub struct Sim {
    pub scheduler: Scheduler,
    pub backend: FakeBackend,
    pub probe: Arc<Probe>,
    pub fake: FakeOptions,
    pub limits: Limits,
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
}

impl Sim {
    pub fn new(fake: FakeOptions, limits: Limits) -> Self {
        let backend = FakeBackend::new(fake.clone());
        let (requests, outputs) = (BTreeMap::new(), BTreeMap::new());
        let probe = backend.probe();
        Self { scheduler: Scheduler::new(fake.info.clone(), limits), backend, probe, fake, limits, requests, outputs }
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
        }
        self.take_events();
    }

    pub fn turns(&mut self, n: usize) {
        for _ in 0..n {
            self.turn();
        }
    }

    /// Sequences with one token to compute, none of which may be left out while there is room for all.
    pub fn decoding(&self) -> Vec<SequenceId> {
        let has_room = self.limits.n_kv_tokens >= self.limits.n_rows * N_CONTEXT && self.fake.faults.is_empty();
        let is_decoding = |s: &&Sequence| s.standing == Standing::Running && !s.is_paused && s.gap() == 1;
        let decoding = self.scheduler.sequences.values().filter(is_decoding);
        if has_room && self.fake.n_tokens_max.is_none() { decoding.map(Sequence::id).collect() } else { Vec::new() }
    }

    /// One step onwards; false when there is nothing to do.
    pub fn turn(&mut self) -> bool {
        let decoding = self.decoding();
        let plan = self.scheduler.plan();
        let is_planned = |id: &SequenceId| plan.step.rows.iter().any(|row| row.sequence == *id);
        assert!(decoding.iter().all(is_planned), "{decoding:?} decode, planned are {:?}", plan.step);
        plan.closed.iter().for_each(|id| self.backend.close(*id));
        let has_rows = !plan.step.rows.is_empty();
        let is_submitted = has_rows && self.submit(&plan);
        let n_in_flight = self.scheduler.n_steps_in_flight();
        if n_in_flight == 2 || (n_in_flight == 1 && !is_submitted) {
            match self.backend.collect() {
                Ok(output) => {
                    self.scheduler.collected(output);
                }
                Err(error) => self.scheduler.collect_failed(&error),
            }
        }
        self.take_events();
        self.check_bounds();
        has_rows || n_in_flight > 0
    }

    pub fn submit(&mut self, plan: &Plan) -> bool {
        for id in &plan.opened {
            if let Err(error) = self.backend.open(*id, &self.scheduler.opening(*id)) {
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
        true
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
        assert!(seen.n_tokens_max <= self.limits.n_kv_tokens, "{seen:?} over {:?}", self.limits);
    }

    /// Runs to the end, which must come within a bound that grows with the work, and checks that nothing is left.
    pub fn drain(&mut self) {
        (0..self.requests.len()).for_each(|n| self.scheduler.resume(SequenceId(n as u64)));
        let n_tokens: usize = self.requests.values().map(|r| r.prompt.len() + r.max_tokens.min(1000)).sum();
        let n_turns_max = 100 + 20 * n_tokens * self.requests.len();
        let n_turns = (0..n_turns_max).take_while(|_| self.turn()).count();
        assert!(n_turns < n_turns_max, "{n_tokens} tokens did not finish in {n_turns} turns");
        assert!(self.scheduler.sequences.is_empty(), "idle with work left: {:?}", self.scheduler);
        assert_eq!((self.probe.seen().n_open, self.probe.seen().n_tokens), (0, 0));
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
