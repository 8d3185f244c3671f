use proptest::prelude::*;

use crate::fake::{Call, Effect, FakeOptions, Fault};
use crate::plan::Limits;
use crate::{
    Backend, FinishReason, ModelInfo, Output, Priority, Request, RowInput, SamplingOptions, SequenceId, Speculation,
    StepError,
};

#[path = "scheduler/admission_tests.rs"]
mod admission;
#[path = "scheduler/forms_tests.rs"]
mod forms;
#[path = "scheduler/prefix_tests.rs"]
mod prefix;
#[path = "scheduler_sim.rs"]
pub(super) mod sim;

use sim::{Op, Sim};

const N_CONTEXT: usize = 60;

pub(super) fn fake() -> FakeOptions {
    let info = ModelInfo {
        n_vocab: 30,
        n_context: N_CONTEXT,
        eos: vec![7],
        kv_bytes_per_token: 4,
        weight_bytes: 100,
        ..ModelInfo::default()
    };
    FakeOptions { info, ..FakeOptions::default() }
}

/// As `fake`, with layers that cannot be cut back.
pub(super) fn recurrent() -> FakeOptions {
    let mut fake = fake();
    fake.info.snapshot_bytes = 40;
    fake
}

pub(super) const ROOMY: Limits = Limits {
    n_step_tokens: 16,
    n_rows: 8,
    kv_bytes: 4000,
    kept_bytes: 4000,
    n_kv_growth: 8,
    n_block: 4,
    n_snapshot_gap: 16,
    speculation: Speculation::Auto,
};

pub(super) fn request(n_prompt: usize, max_tokens: usize) -> Request {
    Request {
        prompt: (0..n_prompt as u32).map(|n| n * 7 % 30).collect(),
        sampling: SamplingOptions::default(),
        max_tokens,
        stop_tokens: Vec::new(),
        ignore_eos: true,
        score_prompt: false,
        ..Request::default()
    }
}

prop_compose! {
    pub(super) fn any_request()(
        prompt in prop::collection::vec(0u32..30, 1..40),
        max_tokens in prop_oneof![0usize..30, Just(1000)],
        stop_tokens in prop::collection::vec(0u32..30, 0..2),
        (ignore_eos, score_prompt, has_penalty) in any::<(bool, bool, bool)>(),
        (temperature, seed) in (prop_oneof![Just(0.0f32), Just(0.8)], any::<u64>()),
        n_logprobs in prop::option::of(0usize..4),
        (boundaries, is_background) in (prop::collection::btree_set(1usize..40, 0..4), any::<bool>()),
        (form, has_dry) in (prop::option::of((any::<u64>(), 1usize..40)), any::<bool>()),
    ) -> Request {
        let priority = if is_background { Priority::Background } else { Priority::Interactive };
        let boundaries = boundaries.into_iter().filter(|at| *at <= prompt.len()).collect();
        let presence_penalty = if has_penalty { 0.5 } else { 0.0 };
        let dry = has_dry.then(forms::dry);
        let sampling =
            SamplingOptions { temperature, seed, n_logprobs, presence_penalty, dry, ..SamplingOptions::default() };
        let stops = [stop_tokens.as_slice(), if ignore_eos { &[] } else { &[7] }].concat();
        let mask = form.map(|(seed, n_tokens)| forms::form(seed, n_tokens, &stops));
        Request {
            prompt,
            sampling,
            max_tokens,
            stop_tokens,
            ignore_eos,
            score_prompt,
            boundaries,
            priority,
            mask,
            ..Request::default()
        }
    }
}

prop_compose! {
    pub(super) fn any_limits()(
        n_step_tokens in 1usize..40,
        n_rows in 1usize..7,
        // From what a lone sequence needs, with its recurrent state.
        kv_bytes in N_CONTEXT * 4 + 40..1200,
        kept_bytes in prop_oneof![Just(usize::MAX), 0usize..400],
        n_kv_growth in 0usize..20,
        (n_block, n_snapshot_gap) in (1usize..12, 4usize..30),
    ) -> Limits {
        Limits { n_step_tokens, n_rows, kv_bytes, kept_bytes, n_kv_growth, n_block, n_snapshot_gap, speculation: Speculation::Auto }
    }
}

/// The full count runs where there is time for it.
fn n_cases(n_quick: u32) -> u32 {
    if std::env::var_os("TOKBAR_TEST_ALL").is_some() { 20 * n_quick } else { n_quick }
}

pub(super) fn any_ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        3 => any_request().prop_map(Op::Arrive),
        4 => (0usize..20, 0usize..60, any_request())
            .prop_map(|(nth, n_tokens, request)| Op::Branch { nth, n_tokens, request }),
        1 => (0usize..20).prop_map(Op::Cancel),
        1 => (0usize..20).prop_map(Op::Pause),
        1 => (0usize..20).prop_map(Op::Resume),
        4 => (1usize..12).prop_map(Op::Turns),
    ];
    prop::collection::vec(op, 1..40)
}

pub(super) fn any_fault() -> impl Strategy<Value = Fault> {
    let calls = [Call::Open, Call::Submit, Call::Collect, Call::Keep, Call::Snapshot];
    let call = prop::sample::select(calls.to_vec());
    let error = prop_oneof![
        Just(StepError::OutOfMemory { detail: "full".to_owned() }),
        Just(StepError::Device { detail: "lost".to_owned() })
    ];
    (call, 0usize..60, error).prop_map(|(call, nth, error)| Fault { call, nth, effect: Effect::Fail(error) })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: n_cases(300), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_mix_yields_what_each_request_alone_would(
        ops in any_ops(),
        limits in any_limits(),
        fake in prop_oneof![Just(fake()), Just(recurrent())],
        n_prefill_max in prop_oneof![Just(usize::MAX), 1usize..10],
    ) {
        let has_cancel = ops.iter().any(|op| matches!(op, Op::Cancel(_)));
        let mut sim = Sim::new(fake, limits);
        sim.n_prefill_max = n_prefill_max;
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
        fake in prop_oneof![Just(fake()), Just(recurrent())],
    ) {
        let mut sim = Sim::new(FakeOptions { faults, n_tokens_max, ..fake }, limits);
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
    assert_eq!((seen.n_submits, seen.n_computed, sim.scheduler.tally().n_preempted as usize), expected);
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
    check_run(fake(), ROOMY, &[apart(1, 20, 1), apart(2, 12, 1)], (2, 32, 0));
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
    let limits = Limits { kv_bytes: N_CONTEXT * 4, n_kv_growth: 1, ..ROOMY };
    let mut sim = Sim::new(fake(), limits);
    let ids = [sim.arrive(request(10, 40)), sim.arrive(request(10, 40)), sim.arrive(request(10, 40))];
    let mut ended = Vec::new();
    while sim.turn() {
        let is_over = |id: &SequenceId| matches!(sim.outputs[id].last(), Some(Output::Finish { .. }));
        ended.extend(ids.iter().filter(|id| is_over(id) && !ended.contains(*id)).copied().collect::<Vec<_>>());
    }
    sim.drain();
    sim.check_outputs();
    assert!(sim.scheduler.tally().n_preempted > 0);
    assert_eq!(ended, ids, "the oldest keeps its cache");
}

/// The rows of the next plan: sequence, positions, whether the token is pending.
fn plan_rows(sim: &mut Sim) -> Vec<(u64, usize, bool)> {
    let plan = sim.scheduler.plan(sim.n_prefill_max);
    assert!(sim.keep(&plan) && (plan.step.rows.is_empty() || sim.submit(&plan)));
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

/// A prompt that shares nothing with those of other `n`s.
fn apart(n: u32, n_prompt: usize, max_tokens: usize) -> Request {
    Request { prompt: (0..n_prompt as u32).map(|at| (n + at * 7) % 30).collect(), ..request(0, max_tokens) }
}

#[test]
fn decode_goes_first_and_prefill_takes_the_rest_shortest_first() {
    let mut sim = Sim::new(fake(), ROOMY);
    sim.arrive(apart(0, 4, 20));
    assert_eq!(plan_rows(&mut sim), [(0, 4, false)]);
    sim.arrive(apart(1, 20, 20));
    sim.arrive(apart(2, 5, 20));
    let expected = [(0, 1, true), (2, 5, false), (1, 10, false)];
    assert_eq!(plan_rows(&mut sim), expected, "the token of the step in flight is not awaited");
    collect(&mut sim);
    assert_eq!(plan_rows(&mut sim), [(0, 1, true), (2, 1, true), (1, 10, false)]);
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
    output.rows[0].tokens.clear();
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

#[test]
fn steps_grow_again_as_sequences_finish_after_a_lack_of_memory() {
    let effect = Effect::Fail(StepError::OutOfMemory { detail: "busy".to_owned() });
    let mut sim = Sim::new(FakeOptions { faults: vec![Fault { call: Call::Submit, nth: 0, effect }], ..fake() }, ROOMY);
    for n in 0..20 {
        sim.arrive(request(2 + n % 3, 5 + n));
    }
    sim.turns(3);
    assert_eq!(sim.probe.seen().n_rows_max, 4, "half of the rows that did not fit");
    sim.drain();
    sim.check_outputs();
    assert_eq!(sim.probe.seen().n_rows_max, 8);
}
