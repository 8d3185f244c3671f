use super::*;

const N_BYTES: u64 = 10_000_000;

/// Estimates at every tenth of a second of a download whose speed swings by a factor of five.
#[test]
fn the_estimate_is_steady_while_the_speed_swings() {
    let (mut pace, mut n_done) = (Pace::default(), 0);
    let mut estimates: Vec<f64> = Vec::new();
    for tick in 0..600_u64 {
        let now = Duration::from_millis(100 * tick);
        pace.observe(now, n_done);
        if let Some(left) = pace.left(N_BYTES - n_done) {
            // The true end: 10 000 bytes a tick on average.
            estimates.push((now + left).as_secs_f64());
        }
        n_done += if tick / 5 % 2 == 0 { 16_666 } else { 3_334 };
    }
    assert!(estimates.len() > 570);
    let settled = &estimates[100..];
    let (least, most) = settled.iter().fold((f64::MAX, 0.0_f64), |(a, b), x| (a.min(*x), b.max(*x)));
    assert!(most / least < 1.25 && (75.0..125.0).contains(&least), "{least} to {most}");
}

#[test]
fn nothing_is_said_too_early_or_while_nothing_comes() {
    let mut pace = Pace::default();
    assert_eq!(pace.left(1), None);
    pace.observe(Duration::ZERO, 5000);
    pace.observe(Duration::from_secs(1), 6000);
    assert_eq!(pace.bytes_per_s(), None);
    pace.observe(Duration::from_secs(3), 8000);
    assert!(pace.bytes_per_s().is_some_and(|speed| (999.0..1001.0).contains(&speed)));
    for second in 4..4000 {
        pace.observe(Duration::from_secs(second), 8000);
    }
    assert_eq!(pace.left(1 << 30), None);
}

#[test]
fn what_was_there_before_is_no_speed() {
    let mut pace = Pace::default();
    pace.observe(Duration::ZERO, 9_000_000);
    pace.observe(Duration::from_secs(4), 9_000_400);
    assert!(pace.bytes_per_s().is_some_and(|speed| (99.0..101.0).contains(&speed)));
    pace.observe(Duration::from_secs(5), 100);
    assert!(pace.bytes_per_s().is_some_and(|speed| speed < 100.0));
}
