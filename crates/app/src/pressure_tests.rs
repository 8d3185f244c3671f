use super::Level::{Critical, Normal, Warning};
use super::*;

/// What the machine says second by second, and the changes that follow with their seconds.
fn check(said: &[(u64, Level)], expected: &[(u64, Level)]) {
    let mut policy = Policy::new(CALM);
    let changes: Vec<(u64, Level)> = said
        .iter()
        .filter_map(|&(second, level)| Some((second, policy.observe(Duration::from_secs(second), level)?)))
        .collect();
    assert_eq!(changes, expected, "{said:?}");
}

#[test]
fn it_rises_at_once_and_falls_after_a_calm_while() {
    check(&[(0, Normal), (1, Warning), (2, Warning), (3, Critical)], &[(1, Warning), (3, Critical)]);
    let falling: Vec<_> = [(0, Critical)].into_iter().chain((1..60).map(|second| (second, Normal))).collect();
    check(&falling, &[(0, Critical), (16, Warning), (32, Normal)]);
}

#[test]
fn waves_give_nothing_back() {
    let waves: Vec<_> = (0..100).map(|second| (second, if second % 10 == 0 { Warning } else { Normal })).collect();
    check(&waves, &[(0, Warning)]);
}

#[test]
fn it_falls_no_lower_than_the_machine_says() {
    let said: Vec<_> = [(0, Critical)].into_iter().chain((1..60).map(|second| (second, Warning))).collect();
    check(&said, &[(0, Critical), (16, Warning)]);
}
