//! The scheduler with drafts, on a fake backend that also drafts.

use proptest::prelude::*;

use super::super::tests::sim::{Op, Sim};
use super::super::tests::{ROOMY, any_fault, any_limits, any_ops, fake, recurrent, request};
use crate::fake::{FakeOptions, expected_tokens};
use crate::plan::Limits;
use crate::{FinishReason, ModelInfo, Priority, Request, Speculation, TokenId};

/// A backend with a drafter of which so many of 100 drafts are right.
fn drafting(mut fake: FakeOptions, percent: usize) -> FakeOptions {
    fake.info = ModelInfo { n_drafts_max: 9, n_drafter_tokens: if percent == 0 { 0 } else { 6 }, ..fake.info };
    fake.drafter_percent = percent;
    fake
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_mix_yields_with_drafts_what_each_request_alone_would(
        ops in any_ops(),
        limits in any_limits(),
        (fake, percent) in (prop_oneof![Just(fake()), Just(recurrent())], prop::sample::select(vec![0, 10, 60, 90, 100])),
        (seed, n_vocab) in (any::<u64>(), prop::sample::select(vec![30, 30, 3])),
        fault in prop::option::of(any_fault()),
    ) {
        let mut fake = drafting(fake, percent);
        fake.faults.extend(fault);
        fake.info.n_vocab = n_vocab.max(30);
        let mut sim = Sim::new(fake, limits);
        sim.scheduler.speculator.by_chance(seed);
        ops.into_iter().for_each(|op| sim.apply(op));
        sim.drain();
        sim.check_outputs();
    }
}

#[test]
fn drafts_are_dropped_with_the_positions_that_they_came_after() {
    let asks = |prompt: Vec<TokenId>, max_tokens: usize| Request { prompt, max_tokens, ..Request::default() };
    let scored = |request: Request| Request { score_prompt: true, priority: Priority::Background, ..request };
    let mut limits = Limits { n_step_tokens: 21, n_rows: 3, kv_bytes: 536, n_kv_growth: 6, ..ROOMY };
    (limits.kept_bytes, limits.n_block, limits.n_snapshot_gap) = (usize::MAX, 3, 25);
    limits.speculation = Speculation::Auto;
    let mut late = asks(vec![0; 38], 9);
    late.boundaries = vec![16];
    let ops = [
        Op::Arrive(asks(vec![1, 6, 9, 2, 6, 2], 15)),
        Op::Arrive(scored(asks([vec![0, 0, 6], vec![0; 13]].concat(), 8))),
        Op::Branch { nth: 14, n_tokens: 21, request: asks(vec![0; 17], 4) },
        Op::Branch { nth: 0, n_tokens: 21, request: scored(asks(vec![0; 14], 0)) },
        Op::Branch {
            nth: 5,
            n_tokens: 6,
            request: Request { priority: Priority::Background, ..asks(vec![0, 1, 0], 9) },
        },
        Op::Pause(0),
        Op::Turns(5),
        Op::Arrive(late),
        Op::Turns(1),
    ];
    let mut sim = Sim::new(drafting(recurrent(), 10), limits);
    sim.scheduler.speculator.by_chance(3_393_797_569_196_924_993);
    ops.into_iter().for_each(|op| sim.apply(op));
    sim.drain();
    sim.check_outputs();
}

/// A reply that repeats most of the prompt.
fn rewrite(n: usize) -> (FakeOptions, Request) {
    let text: Vec<TokenId> = (0..n as TokenId).map(|at| 1 + (at * at * 7 + at * 3) % 900).collect();
    let mut reply = text.clone();
    reply[n / 2] = 950;
    let fake = FakeOptions { reply: Some(reply), ..FakeOptions::default() };
    let fake = FakeOptions { info: ModelInfo { n_drafts_max: 32, ..fake.info }, ..fake };
    (fake, Request { prompt: text, max_tokens: n, ignore_eos: true, ..Request::default() })
}

const LARGE: Limits =
    Limits { n_step_tokens: 512, n_rows: 8, kv_bytes: usize::MAX, kept_bytes: 0, n_kv_growth: 64, ..ROOMY };

#[test]
fn a_rewritten_text_takes_few_steps() {
    let (fake, request) = rewrite(800);
    let expected = expected_tokens(&fake, &request);
    let mut sim = Sim::new(fake, LARGE);
    let id = sim.arrive(request);
    sim.drain();
    assert_eq!(sim.tokens(id), expected);
    let n_steps = sim.probe.seen().n_submits;
    let counts = sim.scheduler.tally().drafts;
    assert!(n_steps * 5 < 800, "{n_steps} steps, {counts:?}");
    assert!(counts.acceptance_rate() > 0.8 && counts.mean_accepted_length() > 5.0, "{counts:?}");
}

#[test]
fn what_a_mode_forbids_is_not_drafted() {
    for (speculation, percent, drafts) in [
        (Speculation::Off, 100, false),
        (Speculation::Lookup, 100, true),
        (Speculation::Model, 0, false),
        (Speculation::Model, 100, true),
    ] {
        let (fake, request) = rewrite(300);
        let mut sim = Sim::new(drafting(fake, percent), Limits { speculation, ..LARGE });
        sim.arrive(request);
        sim.drain();
        assert_eq!(sim.scheduler.tally().drafts.n_drafted > 0, drafts, "{speculation:?}, {percent}");
    }
    let (mut fake, request) = rewrite(300);
    fake.info.n_drafts_max = 0;
    let mut sim = Sim::new(fake, LARGE);
    sim.arrive(request);
    sim.drain();
    assert_eq!(sim.scheduler.tally().drafts.n_drafted, 0, "the caches take nothing back");
}

#[test]
fn limits_and_stop_tokens_hold_within_a_verified_run() {
    for (max_tokens, stop) in [(100, None), (17, None), (100, Some(20)), (100, Some(33))] {
        let (fake, mut request) = rewrite(200);
        request.max_tokens = max_tokens;
        request.stop_tokens = stop.map(|at| request.prompt[at]).into_iter().collect();
        let expected = expected_tokens(&fake, &request);
        let mut sim = Sim::new(fake, LARGE);
        sim.scheduler.speculator.by_chance(3);
        let id = sim.arrive(request);
        sim.drain();
        assert_eq!(sim.tokens(id), expected, "{max_tokens}, {stop:?}");
        let counts = sim.scheduler.tally().drafts;
        assert!(counts.n_accepted > 0, "{counts:?}");
        let is_stop = matches!(sim.reason(id), FinishReason::Stop);
        assert_eq!(is_stop, stop.is_some());
    }
}

#[test]
fn drafts_of_the_backend_are_used_while_they_pay() {
    for (percent, pays) in [(90, true), (0, false)] {
        let mut fake = drafting(FakeOptions::default(), 1);
        fake.drafter_percent = percent;
        let mut sim = Sim::new(fake, LARGE);
        let id = sim.arrive(Request { ignore_eos: true, ..request(30, 600) });
        sim.drain();
        assert_eq!(sim.tokens(id).len(), 600);
        let (n_steps, counts) = (sim.probe.seen().n_submits, sim.scheduler.tally().drafts);
        assert_eq!(n_steps < 300, pays, "{n_steps} steps, {counts:?}");
        assert!(pays || counts.n_verified < 30, "{counts:?}");
    }
}

#[test]
fn a_prediction_is_drafted_from_its_beginning() {
    let (fake, request) = rewrite(400);
    let prompt = vec![1, 2, 3];
    let request = Request { prediction: request.prompt, prompt, ..request };
    let expected = expected_tokens(&fake, &request);
    let mut sim = Sim::new(fake, LARGE);
    let id = sim.arrive(request);
    sim.drain();
    assert_eq!(sim.tokens(id), expected);
    assert!(sim.probe.seen().n_submits < 100, "{:?}", sim.scheduler.tally().drafts);
}
