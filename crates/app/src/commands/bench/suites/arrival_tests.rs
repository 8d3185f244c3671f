use std::time::Duration;

use super::*;

#[test]
fn waits_that_touch_the_window_count_whole() {
    let start = Instant::now();
    let at = |ms: u64| start + Duration::from_millis(ms);
    let times: Vec<Instant> = [0, 10, 30, 60, 100].into_iter().map(at).collect();
    for (from, to, expected) in [
        (at(12), at(20), &[20.0][..]),
        (at(5), at(35), &[10.0, 20.0, 30.0]),
        (at(100), at(200), &[]),
        (at(30), at(31), &[30.0]),
    ] {
        let waits = waits_within(&times, from, to);
        assert_eq!(waits.len(), expected.len(), "{waits:?}");
        assert!(waits.iter().zip(expected).all(|(got, expected)| (got - expected).abs() < 1e-6), "{waits:?}");
    }
}
