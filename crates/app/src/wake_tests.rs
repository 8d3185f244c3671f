use std::net::TcpListener;

use super::*;

/// Seconds on both clocks, and how long the machine is said to have slept before each.
fn check(seconds: &[(u64, u64)], expected: &[Option<u64>]) {
    let mut wake = Wake::default();
    let seen: Vec<_> = seconds
        .iter()
        .map(|(own, wall)| {
            wake.observe(Duration::from_secs(*own), Duration::from_secs(*wall)).map(|slept| slept.as_secs())
        })
        .collect();
    assert_eq!(seen, expected, "{seconds:?}");
}

#[test]
fn sleep_is_what_only_the_wall_clock_saw() {
    check(&[(0, 1000), (1, 1001), (2, 4602), (3, 4603)], &[None, None, Some(3600), None]);
    check(&[(0, 1000), (60, 1060)], &[None, None]);
    // A clock that is set back, or right by a little, is no sleep.
    check(&[(0, 1000), (1, 10), (2, 20), (3, 21)], &[None, None, None, None]);
}

#[test]
fn a_port_answers_while_somebody_listens() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    assert!(answers(address));
    assert!(answers(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), address.port())));
    drop(listener);
    assert!(!answers(address));
}
