use super::{Costs, N_PLAIN_MIN, N_STALE};
use crate::draft::Source::{Backend, Lookup};

fn measured(n_rows: usize, plain_s: f64) -> Costs {
    let mut costs = Costs::default();
    (0..N_PLAIN_MIN).for_each(|_| costs.plain_round(n_rows, plain_s));
    costs
}

#[test]
fn plain_rounds_are_measured_for_each_number_of_rows() {
    let mut costs = Costs::default();
    for n_rounds in 1..N_PLAIN_MIN {
        costs.plain_round(3, 0.01);
        assert_eq!(costs.plain_s(3), None, "{n_rounds} rounds are too few");
    }
    costs.plain_round(3, 0.01);
    assert!((costs.plain_s(3).unwrap() - 0.01).abs() < 1e-9);
    assert_eq!(costs.plain_s(4), None);
    costs.plain_round(3, 5.0);
    assert!(costs.plain_s(3).unwrap() < 0.015, "one slow round says little");
    (0..60).for_each(|_| costs.plain_round(3, 0.02));
    assert!((costs.plain_s(3).unwrap() - 0.02).abs() < 1e-3, "{costs:?}");
    assert_eq!(measured(1000, 0.5).plain_s(2000), Some(0.5), "many rows are one kind");
}

#[test]
fn rounds_with_drafts_make_a_line() {
    let mut costs = measured(1, 0.01);
    let before = costs.ratio(Lookup, 1, 4);
    assert!((1.0..1.4).contains(&before) && costs.ratio(Backend, 1, 4) > before, "{before}");
    for n_drafts in [2, 8, 4, 16, 6, 3, 12, 5, 2, 8, 4] {
        costs.drafted_round(Lookup, 1, n_drafts, 0.01 * (1.2 + 0.1 * n_drafts as f64));
    }
    for n_drafts in [1, 7, 16] {
        let expected = 1.2 + 0.1 * n_drafts as f64;
        let ratio = costs.ratio(Lookup, 1, n_drafts);
        assert!((ratio / expected - 1.0).abs() < 0.05, "{n_drafts} drafts: {ratio}, not {expected}");
    }
    assert_eq!(costs.ratio(Lookup, 16, 4), before, "other batches are measured by themselves");
}

#[test]
fn a_cost_once_measured_is_doubted_in_time() {
    let mut costs = measured(1, 0.01);
    (0..20).for_each(|_| costs.drafted_round(Lookup, 1, 4, 0.025));
    assert!(costs.ratio(Lookup, 1, 4) > 2.2);
    (0..20_000).for_each(|_| costs.plain_round(1, 0.01));
    assert!(costs.ratio(Lookup, 1, 4) < 1.5);
}

#[test]
fn plain_rounds_are_measured_anew_when_long_past() {
    let mut costs = measured(1, 0.01);
    (0..N_STALE).for_each(|_| costs.drafted_round(Lookup, 1, 4, 0.015));
    assert_eq!(costs.plain_s(1), None);
    (0..N_PLAIN_MIN).for_each(|_| costs.plain_round(1, 0.02));
    assert!((0.012..0.021).contains(&costs.plain_s(1).unwrap()), "{:?}", costs.plain_s(1));
}
