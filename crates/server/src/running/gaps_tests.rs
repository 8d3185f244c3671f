use std::time::Duration;

use tokio::time::Instant;

use super::{COUNTS_FOR, Gaps, Pace};

/// The quantiles of one sequence whose tokens come at these microseconds.
fn check(arrivals_us: &[u64], expected_ms: (Option<f64>, Option<f64>)) {
    let (start, mut gaps, mut pace) = (Instant::now(), Gaps::default(), Pace::default());
    let at = |us: u64| start + Duration::from_micros(us);
    for us in arrivals_us {
        gaps.token(&mut pace, at(*us));
    }
    gaps.end(&mut pace);
    let now = at(arrivals_us.last().copied().unwrap_or_default());
    assert_eq!(gaps.quantiles_ms(now), expected_ms, "{arrivals_us:?}");
    assert_eq!(gaps.quantiles_ms(now + COUNTS_FOR), (None, None), "none is recent");
}

#[test]
fn tokens_one_by_one_have_the_gaps_between_them() {
    check(&[], (None, None));
    check(&[90_000], (None, None));
    check(&[90_000, 100_000], (Some(10.0), Some(10.0)));
    check(&[90_000, 100_000, 120_000, 150_000], (Some(20.0), Some(30.0)));
}

#[test]
fn tokens_of_one_step_share_its_wait() {
    check(&[90_000, 130_000, 130_000, 130_000, 130_000, 170_000, 170_000], (Some(10.0), Some(20.0)));
    check(&[90_000, 90_100, 130_100], (Some(40.0), Some(40.0)));
}
