use super::sim::{Op, Sim};
use super::{N_CONTEXT, ROOMY, apart, fake, recurrent, request};
use crate::fake::{Call, Effect, FakeOptions, Fault, expected_tokens};
use crate::plan::Limits;
use crate::{FinishReason, Output, Request, SequenceId, StepError, TokenId, Usage};

/// Runs to the end without checking that nothing is left, so that what is kept can be used.
fn run(sim: &mut Sim) {
    while sim.turn() {}
}

fn usage(sim: &Sim, id: SequenceId) -> Usage {
    match sim.outputs[&id].last() {
        Some(Output::Finish { usage, .. }) => usage.clone(),
        other => panic!("{id:?} ends with {other:?}"),
    }
}

/// Runs requests one after the other: how many positions each computes, and how many of its prompt it took from others.
fn check_in_turn(fake: FakeOptions, requests: &[Request], expected: &[(usize, usize)]) {
    let mut sim = Sim::new(fake, ROOMY);
    let found: Vec<_> = requests
        .iter()
        .map(|request| {
            let n_before = sim.probe.seen().n_computed;
            let id = sim.arrive(request.clone());
            run(&mut sim);
            (sim.probe.seen().n_computed - n_before, usage(&sim, id).n_cached)
        })
        .collect();
    assert_eq!(found, expected);
    sim.check_outputs();
    sim.drain();
}

/// `request`, with its output and more after its prompt: the next turn of a conversation.
fn next_turn(request: &Request, more: &[TokenId]) -> Request {
    let output = expected_tokens(&fake(), request);
    let prompt = request.prompt.iter().chain(&output).chain(more).copied().collect();
    Request { prompt, ..request.clone() }
}

#[test]
fn a_prompt_is_computed_only_where_it_is_new() {
    let first = request(20, 5);
    check_in_turn(fake(), &[first.clone(), first.clone()], &[(24, 0), (5, 19)]);
    check_in_turn(fake(), &[first.clone(), next_turn(&first, &[3, 3])], &[(24, 0), (7, 24)]);
    let parts_inside_a_block = Request { prompt: [&first.prompt[..10], &[29, 29]].concat(), ..first.clone() };
    check_in_turn(fake(), &[first.clone(), parts_inside_a_block], &[(24, 0), (6, 10)]);
    check_in_turn(fake(), &[first.clone(), apart(5, 20, 5)], &[(24, 0), (24, 0)]);
    check_in_turn(fake(), &[request(1, 1), request(1, 1)], &[(1, 0), (1, 0)]);
}

#[test]
fn scored_prompts_are_computed_whole_and_kept() {
    let scored = Request { score_prompt: true, ..request(20, 1) };
    check_in_turn(fake(), &[scored.clone(), scored, request(20, 1)], &[(20, 0), (20, 0), (1, 19)]);
}

#[test]
fn what_was_computed_before_a_cancel_is_not_lost() {
    for fake in [fake(), recurrent()] {
        let mut sim = Sim::new(fake, ROOMY);
        let cancelled = sim.arrive(request(40, 5));
        sim.turns(2);
        sim.scheduler.cancel(cancelled);
        run(&mut sim);
        let n_before = sim.probe.seen().n_computed;
        assert!((16..40).contains(&n_before));
        let again = sim.arrive(request(40, 5));
        run(&mut sim);
        assert_eq!((sim.probe.seen().n_computed - n_before, usage(&sim, again).n_cached), (44 - n_before, n_before));
        sim.check_outputs();
        sim.drain();
    }
}

#[test]
fn choices_of_one_prompt_prefill_once() {
    for fake in [fake(), recurrent()] {
        let mut sim = Sim::new(fake, ROOMY);
        let ids: Vec<_> = (0..4).map(|_| sim.arrive(request(42, 1))).collect();
        run(&mut sim);
        assert_eq!(sim.probe.seen().n_computed, 42 + 3);
        assert_eq!(sim.scheduler.tally().n_follows, 3);
        assert!(ids[1..].iter().all(|id| usage(&sim, *id).n_cached == 41));
        sim.check_outputs();
        sim.drain();
    }
}

#[test]
fn ten_branches_of_a_long_prefix_take_little_more_than_one() {
    let mut fake = fake();
    fake.info.n_context = 10_000;
    let limits =
        Limits { n_step_tokens: 512, n_rows: 16, kv_bytes: 1 << 20, kept_bytes: 1 << 20, n_block: 64, ..ROOMY };
    let branch =
        |n: u32| Request { prompt: (0..8000).map(|at| at * 7 % 30).chain([n; 40]).collect(), ..request(0, 60) };
    let n_live_max = |n_branches: u32| {
        let mut sim = Sim::new(fake.clone(), limits);
        for n in 0..n_branches {
            sim.arrive(branch(n));
        }
        run(&mut sim);
        sim.check_outputs();
        sim.drain();
        sim.probe.seen().n_live_max
    };
    let (one, ten) = (n_live_max(1), n_live_max(10));
    assert!(ten * 10 <= one * 12, "{ten} positions for ten, {one} for one");
}

#[test]
fn a_preempted_sequence_goes_on_where_it_was() {
    for fake in [fake(), recurrent()] {
        let mut sim = Sim::new(fake, Limits { n_rows: 1, ..ROOMY });
        let lags = sim.arrive(apart(0, 20, 20));
        sim.turns(10);
        sim.scheduler.pause(lags);
        sim.arrive(apart(1, 10, 10));
        run(&mut sim);
        sim.scheduler.resume(lags);
        run(&mut sim);
        assert_eq!(sim.scheduler.tally().n_preempted, 1);
        assert_eq!(sim.probe.seen().n_computed, 39 + 19, "nothing is computed twice");
        assert_eq!(usage(&sim, lags).n_cached, 0, "its own positions are not what others left");
        sim.check_outputs();
        sim.drain();
    }
}

#[test]
fn a_prompt_that_parts_resumes_from_the_deepest_snapshot_before() {
    let first = Request { boundaries: vec![16, 32], ..request(50, 3) };
    let parting = |at: usize| {
        let rest = vec![29; 50 - at];
        Request { prompt: [&first.prompt[..at], &rest].concat(), boundaries: Vec::new(), ..first.clone() }
    };
    let limits = |n_snapshot_gap| Limits { n_snapshot_gap, ..ROOMY };
    for (at, n_gap, expected) in [(40, 100, 32), (20, 100, 16), (10, 100, 0), (50, 100, 49), (30, 24, 24)] {
        let mut sim = Sim::new(recurrent(), limits(n_gap));
        sim.arrive(first.clone());
        run(&mut sim);
        let id = sim.arrive(parting(at));
        run(&mut sim);
        assert_eq!(usage(&sim, id).n_cached, expected, "parting at {at}");
        sim.check_outputs();
        sim.drain();
    }
}

#[test]
fn the_next_turn_resumes_from_the_end_of_the_last() {
    let first = request(20, 5);
    let output = expected_tokens(&recurrent(), &first);
    let prompt = first.prompt.iter().chain(&output).chain(&[3, 3]).copied().collect();
    let next = Request { prompt, ..first.clone() };
    check_in_turn(recurrent(), &[first, next], &[(24, 0), (7, 24)]);
}

#[test]
fn snapshots_along_a_path_are_bounded() {
    let mut fake = recurrent();
    fake.info.n_context = 1000;
    let mut sim = Sim::new(fake, Limits { n_snapshot_gap: 16, kv_bytes: 1 << 16, kept_bytes: 1 << 16, ..ROOMY });
    sim.arrive(request(600, 300));
    run(&mut sim);
    assert!(sim.scheduler.tally().n_snapshots > 50);
    assert_eq!(sim.probe.seen().n_snapshots, 8);
    sim.check_outputs();
    sim.drain();
}

#[test]
fn a_backend_that_keeps_nothing_costs_nothing_but_reuse() {
    let effect = || Effect::Fail(StepError::Device { detail: "no".to_owned() });
    let faults = [Call::Keep, Call::Snapshot].map(|call| (0..50).map(move |nth| (call, nth)));
    let faults = faults.into_iter().flatten().map(|(call, nth)| Fault { call, nth, effect: effect() }).collect();
    check_in_turn(FakeOptions { faults, ..recurrent() }, &[request(20, 5), request(20, 5)], &[(24, 0), (24, 0)]);
}

/// Two sequences with the same output keep it once, and hold it twice: alone with the budget, the last one still ends.
#[test]
fn twins_that_fill_the_budget_both_end() {
    let kv_bytes = N_CONTEXT * 4;
    let mut sim = Sim::new(fake(), Limits { kv_bytes, kept_bytes: kv_bytes, n_kv_growth: 1, ..ROOMY });
    let ids = [sim.arrive(request(5, 1000)), sim.arrive(request(6, 1000)), sim.arrive(request(5, 1000))];
    run(&mut sim);
    assert!(ids.iter().all(|id| sim.reason(*id) == FinishReason::Length));
    sim.check_outputs();
    sim.drain();
}

#[test]
fn what_is_kept_is_bounded_beyond_what_runs() {
    let mut sim = Sim::new(fake(), Limits { kept_bytes: 100, ..ROOMY });
    for n in 0..6 {
        sim.apply(Op::Arrive(apart(n, 30, 10)));
        run(&mut sim);
        assert!(sim.probe.seen().n_live <= 25, "{:?}", sim.probe.seen());
    }
    assert!(sim.scheduler.tally().n_evicted > 0);
    sim.check_outputs();
    sim.drain();
}
