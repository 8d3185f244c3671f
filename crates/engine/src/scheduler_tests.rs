use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::Scheduler;
use crate::fake::{Call, Effect, FakeBackend, FakeOptions, Fault, Probe, expected_prompt_scores, expected_tokens};
use crate::plan::{Limits, Plan};
use crate::sequence::{Sequence, Standing};
use crate::{Backend, FinishReason, ModelInfo, Output, Request, RowInput, SamplingOptions, SequenceId, StepError};

/// A scheduler and a fake backend, driven as the worker does but by hand.
struct Sim {
    scheduler: Scheduler,
    backend: FakeBackend,
    probe: Arc<Probe>,
    fake: FakeOptions,
    limits: Limits,
    requests: BTreeMap<SequenceId, Request>,
    outputs: BTreeMap<SequenceId, Vec<Output>>,
}

#[derive(Clone, Debug)]
enum Op {
    Arrive(Request),
    Cancel(usize),
    Pause(usize),
    Resume(usize),
    Turns(usize),
}

impl Sim {
    fn new(fake: FakeOptions, limits: Limits) -> Self {
        let backend = FakeBackend::new(fake.clone());
        let (requests, outputs) = (BTreeMap::new(), BTreeMap::new());
        let probe = backend.probe();
        Self { scheduler: Scheduler::new(fake.info.clone(), limits), backend, probe, fake, limits, requests, outputs }
    }

    fn arrive(&mut self, request: Request) -> SequenceId {
        let id = SequenceId(self.requests.len() as u64);
        self.requests.insert(id, request.clone());
        self.outputs.insert(id, Vec::new());
        self.scheduler.add(id, request);
        id
    }

    fn apply(&mut self, op: Op) {
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

    fn turns(&mut self, n: usize) {
        for _ in 0..n {
            self.turn();
        }
    }

    /// Sequences with one token to compute, none of which may be left out while there is room for all.
    fn decoding(&self) -> Vec<SequenceId> {
        let has_room = self.limits.n_kv_tokens >= self.limits.n_rows * N_CONTEXT && self.fake.faults.is_empty();
        let is_decoding = |s: &&Sequence| s.standing == Standing::Running && !s.is_paused && s.gap() == 1;
        let decoding = self.scheduler.sequences.values().filter(is_decoding);
        if has_room && self.fake.n_tokens_max.is_none() { decoding.map(Sequence::id).collect() } else { Vec::new() }
    }

    /// One step onwards; false when there is nothing to do.
    fn turn(&mut self) -> bool {
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

    fn submit(&mut self, plan: &Plan) -> bool {
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

    fn take_events(&mut self) {
        for (id, output) in self.scheduler.take_events() {
            self.outputs.get_mut(&id).unwrap().push(output);
        }
    }

    fn check_bounds(&self) {
        let seen = self.probe.seen();
        assert!(seen.n_step_tokens_max <= self.limits.n_step_tokens, "{seen:?} over {:?}", self.limits);
        assert!(seen.n_rows_max <= self.limits.n_rows, "{seen:?} over {:?}", self.limits);
        assert!(seen.n_tokens_max <= self.limits.n_kv_tokens, "{seen:?} over {:?}", self.limits);
    }

    /// Runs to the end, which must come within a bound that grows with the work, and checks that nothing is left.
    fn drain(&mut self) {
        (0..self.requests.len()).for_each(|n| self.scheduler.resume(SequenceId(n as u64)));
        let n_tokens: usize = self.requests.values().map(|r| r.prompt.len() + r.max_tokens.min(1000)).sum();
        let n_turns_max = 100 + 20 * n_tokens * self.requests.len();
        let n_turns = (0..n_turns_max).take_while(|_| self.turn()).count();
        assert!(n_turns < n_turns_max, "{n_tokens} tokens did not finish in {n_turns} turns");
        assert!(self.scheduler.sequences.is_empty(), "idle with work left: {:?}", self.scheduler);
        assert_eq!((self.probe.seen().n_open, self.probe.seen().n_tokens), (0, 0));
    }

    fn tokens(&self, id: SequenceId) -> Vec<u32> {
        let token = |output: &Output| match output {
            Output::Token(score) => Some(score.token),
            _ => None,
        };
        self.outputs[&id].iter().filter_map(token).collect()
    }

    fn reason(&self, id: SequenceId) -> FinishReason {
        match self.outputs[&id].last() {
            Some(Output::Finish { reason, .. }) => reason.clone(),
            other => panic!("{id:?} ends with {other:?}"),
        }
    }

    /// Every output is what the request alone would give: all of it if it finished, else its beginning.
    fn check_outputs(&self) {
        for (id, request) in &self.requests {
            let (tokens, expected) = (self.tokens(*id), expected_tokens(&self.fake, request));
            match self.reason(*id) {
                FinishReason::Stop | FinishReason::Length => assert_eq!(tokens, expected, "{id:?}"),
                _ => assert!(expected.starts_with(&tokens), "{id:?}: {tokens:?} does not begin {expected:?}"),
            }
            let outputs = &self.outputs[id];
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

const N_CONTEXT: usize = 60;

fn fake() -> FakeOptions {
    let info = ModelInfo { n_vocab: 30, n_context: N_CONTEXT, eos: vec![7], kv_bytes_per_token: 4, weight_bytes: 100 };
    FakeOptions { info, ..FakeOptions::default() }
}

const ROOMY: Limits = Limits { n_step_tokens: 16, n_rows: 8, n_kv_tokens: 1000, n_kv_growth: 8 };

fn request(n_prompt: usize, max_tokens: usize) -> Request {
    Request {
        prompt: (0..n_prompt as u32).map(|n| n * 7 % 30).collect(),
        sampling: SamplingOptions::default(),
        max_tokens,
        stop_tokens: Vec::new(),
        ignore_eos: true,
        score_prompt: false,
    }
}

prop_compose! {
    fn any_request()(
        prompt in prop::collection::vec(0u32..30, 1..40),
        max_tokens in prop_oneof![0usize..30, Just(1000)],
        stop_tokens in prop::collection::vec(0u32..30, 0..2),
        (ignore_eos, score_prompt, has_penalty) in any::<(bool, bool, bool)>(),
        (temperature, seed) in (prop_oneof![Just(0.0f32), Just(0.8)], any::<u64>()),
        n_logprobs in prop::option::of(0usize..4),
    ) -> Request {
        let presence_penalty = if has_penalty { 0.5 } else { 0.0 };
        let sampling = SamplingOptions { temperature, seed, n_logprobs, presence_penalty, ..SamplingOptions::default() };
        Request { prompt, sampling, max_tokens, stop_tokens, ignore_eos, score_prompt }
    }
}

prop_compose! {
    fn any_limits()(
        n_step_tokens in 1usize..40,
        n_rows in 1usize..7,
        n_kv_tokens in N_CONTEXT..300,
        n_kv_growth in 0usize..20,
    ) -> Limits {
        Limits { n_step_tokens, n_rows, n_kv_tokens, n_kv_growth }
    }
}

fn any_ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        4 => any_request().prop_map(Op::Arrive),
        1 => (0usize..20).prop_map(Op::Cancel),
        1 => (0usize..20).prop_map(Op::Pause),
        1 => (0usize..20).prop_map(Op::Resume),
        4 => (1usize..12).prop_map(Op::Turns),
    ];
    prop::collection::vec(op, 1..40)
}

fn any_fault() -> impl Strategy<Value = Fault> {
    let call = prop_oneof![Just(Call::Open), Just(Call::Submit), Just(Call::Collect)];
    let error = prop_oneof![
        Just(StepError::OutOfMemory { detail: "full".to_owned() }),
        Just(StepError::Device { detail: "lost".to_owned() })
    ];
    (call, 0usize..60, error).prop_map(|(call, nth, error)| Fault { call, nth, effect: Effect::Fail(error) })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_mix_yields_what_each_request_alone_would(ops in any_ops(), limits in any_limits()) {
        let has_cancel = ops.iter().any(|op| matches!(op, Op::Cancel(_)));
        let mut sim = Sim::new(fake(), limits);
        ops.into_iter().for_each(|op| sim.apply(op));
        sim.drain();
        sim.check_outputs();
        for id in sim.requests.keys() {
            let reason = sim.reason(*id);
            prop_assert!(!matches!(reason, FinishReason::Failed(_)), "{reason:?}");
            prop_assert!(has_cancel || reason != FinishReason::Cancelled);
        }
    }

    #[test]
    fn failures_end_or_delay_sequences_and_change_no_output(
        ops in any_ops(),
        limits in any_limits(),
        faults in prop::collection::vec(any_fault(), 1..6),
        n_tokens_max in prop::option::of(40usize..150),
    ) {
        let mut sim = Sim::new(FakeOptions { faults, n_tokens_max, ..fake() }, limits);
        ops.into_iter().for_each(|op| sim.apply(op));
        sim.drain();
        sim.check_outputs();
    }
}

/// Numbers of a run: steps, positions computed, preemptions.
fn check_run(fake: FakeOptions, limits: Limits, requests: &[Request], expected: (usize, usize, usize)) {
    let mut sim = Sim::new(fake, limits);
    for request in requests {
        sim.arrive(request.clone());
    }
    sim.drain();
    sim.check_outputs();
    let seen = sim.probe.seen();
    assert_eq!((seen.n_submits, seen.n_computed, sim.scheduler.n_preempted()), expected);
}

#[test]
fn a_limit_known_in_advance_wastes_no_row() {
    check_run(fake(), ROOMY, &[request(5, 10)], (10, 14, 0));
    check_run(fake(), ROOMY, &[request(5, 1)], (1, 5, 0));
    check_run(fake(), ROOMY, &[request(5, 0)], (1, 5, 0));
    check_run(fake(), ROOMY, &[request(N_CONTEXT - 1, 1000)], (4, 59, 0));
}

#[test]
fn long_prompts_are_computed_in_chunks_of_the_budget() {
    check_run(fake(), ROOMY, &[request(40, 1)], (3, 40, 0));
    check_run(fake(), ROOMY, &[request(20, 1), request(12, 1)], (2, 32, 0));
}

#[test]
fn a_stop_token_costs_at_most_the_row_in_flight() {
    let reply = FakeOptions { reply: Some(vec![1, 2, 3]), ..fake() };
    let stops_at_eos = Request { ignore_eos: false, ..request(5, 100) };
    check_run(reply.clone(), ROOMY, std::slice::from_ref(&stops_at_eos), (5, 9, 0));
    let stops_at_token = Request { stop_tokens: vec![2], ..request(5, 100) };
    check_run(reply, ROOMY, &[stops_at_token], (3, 7, 0));
}

#[test]
fn scarce_room_preempts_the_youngest_and_everything_finishes() {
    let limits = Limits { n_kv_tokens: N_CONTEXT, n_kv_growth: 1, ..ROOMY };
    let mut sim = Sim::new(fake(), limits);
    let ids = [sim.arrive(request(10, 40)), sim.arrive(request(10, 40)), sim.arrive(request(10, 40))];
    sim.drain();
    sim.check_outputs();
    assert!(sim.scheduler.n_preempted() > 0);
    assert!(ids.iter().all(|id| sim.tokens(*id).len() == 40));
}

/// The rows of the next plan: sequence, positions, whether the token is pending.
fn plan_rows(sim: &mut Sim) -> Vec<(u64, usize, bool)> {
    let plan = sim.scheduler.plan();
    plan.closed.iter().for_each(|id| sim.backend.close(*id));
    assert!(plan.step.rows.is_empty() || sim.submit(&plan));
    let row = |row: &crate::Row| match &row.input {
        RowInput::Tokens(tokens) => (row.sequence.0, tokens.len(), false),
        RowInput::Pending => (row.sequence.0, 1, true),
    };
    plan.step.rows.iter().map(row).collect()
}

fn collect(sim: &mut Sim) {
    let output = sim.backend.collect().unwrap();
    sim.scheduler.collected(output);
    sim.take_events();
}

#[test]
fn decode_goes_first_and_prefill_takes_the_rest_in_order_of_arrival() {
    let mut sim = Sim::new(fake(), ROOMY);
    sim.arrive(request(4, 20));
    assert_eq!(plan_rows(&mut sim), [(0, 4, false)]);
    sim.arrive(request(20, 20));
    sim.arrive(request(5, 20));
    assert_eq!(plan_rows(&mut sim), [(0, 1, true), (1, 15, false)], "the token of the step in flight is not awaited");
    collect(&mut sim);
    assert_eq!(plan_rows(&mut sim), [(0, 1, true), (1, 5, false), (2, 5, false)]);
    collect(&mut sim);
    assert_eq!(plan_rows(&mut sim), [(0, 1, true), (1, 1, true), (2, 1, true)]);
}

#[test]
fn a_cancelled_sequence_has_no_further_row_and_closes_once_none_is_in_flight() {
    let mut sim = Sim::new(fake(), ROOMY);
    let id = sim.arrive(request(4, 20));
    plan_rows(&mut sim);
    sim.scheduler.cancel(id);
    sim.take_events();
    assert_eq!(sim.reason(id), FinishReason::Cancelled);
    assert_eq!((plan_rows(&mut sim), sim.probe.seen().n_open), (vec![], 1));
    collect(&mut sim);
    assert_eq!((plan_rows(&mut sim), sim.probe.seen().n_open), (vec![], 0));
    assert_eq!(sim.tokens(id), [0u32; 0], "the row in flight is void");
}

#[test]
fn a_paused_sequence_sits_out_and_yields_its_place_to_one_that_waits() {
    let mut sim = Sim::new(fake(), Limits { n_rows: 1, ..ROOMY });
    let lags = sim.arrive(request(4, 20));
    sim.turns(5);
    sim.scheduler.pause(lags);
    while sim.turn() {}
    let n_before = sim.tokens(lags).len();
    let waits = sim.arrive(request(6, 20));
    while sim.turn() {}
    assert_eq!(sim.reason(waits), FinishReason::Length);
    assert_eq!(sim.tokens(lags).len(), n_before);
    sim.drain();
    sim.check_outputs();
    assert_eq!(sim.tokens(lags).len(), 20);
}

#[test]
fn a_backend_that_answers_the_wrong_rows_fails_that_step_only() {
    let mut sim = Sim::new(fake(), Limits { n_rows: 1, ..ROOMY });
    let (hit, spared) = (sim.arrive(request(4, 20)), sim.arrive(request(4, 20)));
    plan_rows(&mut sim);
    let mut output = sim.backend.collect().unwrap();
    output.rows[0].token = None;
    sim.scheduler.collected(output);
    sim.drain();
    assert!(matches!(sim.reason(hit), FinishReason::Failed(detail) if detail.contains("does not match")));
    assert_eq!(sim.reason(spared), FinishReason::Length);
}

#[test]
fn a_sequence_that_never_fits_fails_and_lets_others_live() {
    let mut sim = Sim::new(FakeOptions { n_tokens_max: Some(30), ..fake() }, ROOMY);
    let ids = [sim.arrive(request(10, 5)), sim.arrive(request(40, 5)), sim.arrive(request(10, 5))];
    sim.drain();
    sim.check_outputs();
    assert!(matches!(sim.reason(ids[1]), FinishReason::Failed(detail) if detail.contains("out of memory")));
    assert_eq!((sim.reason(ids[0]), sim.reason(ids[2])), (FinishReason::Length, FinishReason::Length));
}
