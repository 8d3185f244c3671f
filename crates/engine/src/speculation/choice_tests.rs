use super::super::cost::Costs;
use super::{Market, choose};
use crate::draft::Source;

/// Costs where each draft takes `slope` of a plain round, and waiting a tenth.
fn costs(n_rows: usize, slope: f64) -> Costs {
    let mut costs = Costs::default();
    (0..8).for_each(|_| costs.plain_round(n_rows, 0.01));
    for n_drafts in (0..60).map(|at| at % 12 + 1) {
        costs.drafted_round(Source::Lookup, n_rows, n_drafts, 0.01 * (1.1 + slope * n_drafts as f64));
    }
    costs
}

fn falling(rate: f64, n: i32) -> Vec<f64> {
    (1..=n).map(|place| rate.powi(place)).collect()
}

fn check(slope: f64, n_rows: usize, offers: &[Vec<f64>], expected: impl Fn(&[usize]) -> bool) {
    let costs = costs(n_rows, slope);
    let market = Market { costs: &costs, n_rows, source: Source::Lookup, offers, n_max: 20 };
    let n_drafts = choose(&market).map(|choice| choice.n_drafts).unwrap_or_default();
    assert!(expected(&n_drafts), "{slope} a draft, {n_rows} rows, {offers:?}: {n_drafts:?}");
}

#[test]
fn as_many_drafts_are_chosen_as_pay() {
    check(0.05, 1, &[], |n| n.is_empty());
    check(0.05, 1, &[falling(0.1, 8)], |n| n.is_empty());
    check(0.05, 1, &[falling(0.9, 8)], |n| n == [8]);
    check(0.2, 1, &[falling(0.9, 8)], |n| (2..8).contains(&n[0]));
    check(1.0, 1, &[falling(0.9, 8)], |n| n.is_empty());
    check(0.01, 1, &[falling(1.0, 99)], |n| n == [20]);
}

#[test]
fn the_likeliest_drafts_of_a_batch_go_first() {
    check(0.05, 2, &[falling(0.95, 8), falling(0.2, 8)], |n| n[0] == 8 && n[1] <= 1);
    check(0.02, 2, &[falling(0.7, 8), falling(0.9, 8)], |n| n[0] > 0 && n[1] > n[0]);
    // One row's drafts do not pay for the wait of seven others.
    check(0.1, 8, &[falling(0.5, 8)], |n| n.is_empty());
}
