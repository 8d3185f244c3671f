use super::sim::Sim;
use super::{ROOMY, apart, collect, fake, plan_rows, request};
use crate::plan::Limits;
use crate::{FinishReason, Output, Priority, Request, SequenceId};

/// Runs to the end and names sequences in the order in which they finish.
fn order_of_ends(sim: &mut Sim) -> Vec<u64> {
    let mut ended: Vec<u64> = Vec::new();
    while sim.turn() {
        let is_over = |id: &SequenceId| matches!(sim.outputs[id].last(), Some(Output::Finish { .. }));
        let new: Vec<_> =
            sim.requests.keys().filter(|id| is_over(id) && !ended.contains(&id.0)).map(|id| id.0).collect();
        ended.extend(new);
    }
    sim.check_outputs();
    sim.drain();
    ended
}

fn background(request: Request) -> Request {
    Request { priority: Priority::Background, ..request }
}

#[test]
fn the_least_to_compute_goes_first() {
    let mut sim = Sim::new(fake(), Limits { n_rows: 1, ..ROOMY });
    sim.arrive(apart(1, 30, 2));
    sim.turn();
    for (n, n_prompt) in [(2, 40), (3, 10), (4, 20)] {
        sim.arrive(apart(n, n_prompt, 2));
    }
    // Long, but all but its end is kept.
    sim.arrive(Request { prompt: apart(1, 34, 0).prompt, ..apart(1, 30, 2) });
    assert_eq!(order_of_ends(&mut sim), [0, 4, 2, 3, 1]);
}

#[test]
fn with_one_place_nobody_who_runs_makes_way_and_equals_are_served_as_they_came() {
    let mut sim = Sim::new(fake(), Limits { n_rows: 1, ..ROOMY });
    for n in 0..5 {
        sim.arrive(apart(n, 12, 20));
    }
    sim.turns(4);
    // Neither one with less to compute nor one with more has the first stop.
    sim.arrive(apart(5, 6, 2));
    sim.arrive(apart(6, 40, 2));
    assert_eq!(order_of_ends(&mut sim), [0, 5, 1, 2, 3, 4, 6]);
    assert_eq!(sim.scheduler.tally().n_preempted, 0);
}

#[test]
fn the_longest_is_deferred_so_often_and_no_more() {
    let mut sim = Sim::new(fake(), Limits { n_rows: 1, ..ROOMY });
    sim.arrive(apart(0, 10, 2));
    sim.turn();
    sim.arrive(apart(1, 40, 2));
    for n in 0..20 {
        sim.arrive(apart(2 + n, 5 + n as usize % 3, 2));
    }
    let ended = order_of_ends(&mut sim);
    assert_eq!(ended.iter().position(|id| *id == 1), Some(9), "{ended:?}");
}

#[test]
fn a_long_prefill_that_runs_is_deferred_so_often_and_no_more() {
    let mut sim = Sim::new(fake(), ROOMY);
    sim.arrive(apart(0, 50, 1));
    let mut n_turns = 0;
    while sim.outputs[&SequenceId(0)].is_empty()
        || !matches!(sim.outputs[&SequenceId(0)].last(), Some(Output::Finish { .. }))
    {
        sim.arrive(apart(n_turns % 29 + 1, 16, 1));
        sim.turn();
        n_turns += 1;
        assert!(n_turns < 60, "starved");
    }
    sim.drain();
    sim.check_outputs();
}

#[test]
fn interactive_requests_go_before_background_ones() {
    let mut sim = Sim::new(fake(), Limits { n_rows: 1, ..ROOMY });
    sim.arrive(background(apart(0, 5, 20)));
    sim.turns(4);
    sim.arrive(background(apart(1, 4, 2)));
    sim.arrive(apart(2, 40, 10));
    assert_eq!(order_of_ends(&mut sim), [2, 0, 1], "even one that runs gives its place up, and goes on after");
}

#[test]
fn background_ones_lose_their_place_first_when_room_is_scarce() {
    let limits = Limits { kv_bytes: 80 * 4, n_kv_growth: 1, ..ROOMY };
    let mut sim = Sim::new(fake(), limits);
    sim.arrive(background(apart(0, 10, 40)));
    sim.arrive(apart(1, 10, 40));
    assert_eq!(order_of_ends(&mut sim), [1, 0]);
    assert!(sim.scheduler.tally().n_preempted > 0);
}

#[test]
fn no_one_waits_for_a_leader_that_does_not_go_on() {
    for stop in [Sim::pause_nth, Sim::cancel_nth] {
        let mut sim = Sim::new(fake(), ROOMY);
        sim.arrive(request(50, 5));
        sim.turn();
        let follower = sim.arrive(request(50, 5));
        sim.turn();
        assert_eq!(sim.scheduler.tally().n_follows, 1);
        stop(&mut sim, 0);
        while sim.turn() {}
        assert_eq!(sim.reason(follower), FinishReason::Length);
        sim.drain();
        sim.check_outputs();
    }
}

#[test]
fn prefill_beside_decode_is_bounded_and_alone_it_is_not() {
    let mut sim = Sim::new(fake(), ROOMY);
    sim.n_prefill_max = 3;
    sim.arrive(apart(0, 16, 20));
    assert_eq!(plan_rows(&mut sim), [(0, 16, false)]);
    sim.arrive(apart(1, 10, 20));
    assert_eq!(plan_rows(&mut sim), [(0, 1, true), (1, 3, false)]);
    collect(&mut sim);
    assert_eq!(plan_rows(&mut sim), [(0, 1, true), (1, 3, false)]);
    collect(&mut sim);
    sim.scheduler.cancel(SequenceId(0));
    assert_eq!(plan_rows(&mut sim), [(1, 4, false)]);
    collect(&mut sim);
    sim.drain();
    sim.check_outputs();
}
