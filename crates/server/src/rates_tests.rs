use std::time::Duration;

use super::*;

fn client(idx: u32) -> Client {
    Client::at(IpAddr::V4(idx.into()))
}

#[test]
fn a_bucket_empties_and_fills() {
    let rates = Rates::new(Some(60));
    let start = Instant::now();
    let at = |seconds: f64| start + Duration::from_secs_f64(seconds);
    for _ in 0..60 {
        assert_eq!(rates.take(client(1), at(0.0)), Ok(()));
    }
    assert_eq!(rates.take(client(1), at(0.0)), Err(1));
    assert_eq!(rates.take(client(2), at(0.0)), Ok(()), "others are not held up");
    assert_eq!(rates.take(client(1), at(2.5)), Ok(()));
    assert_eq!(rates.take(client(1), at(2.5)), Ok(()));
    assert_eq!(rates.take(client(1), at(2.5)), Err(1));
    let slow = Rates::new(Some(1));
    assert_eq!(slow.take(client(1), at(0.0)), Ok(()));
    assert_eq!(slow.take(client(1), at(15.0)), Err(45));
    assert_eq!(Rates::new(None).take(client(1), at(0.0)), Ok(()));
}

#[test]
fn clients_beyond_the_bound_push_out_the_older_half() {
    let rates = Rates::new(Some(2));
    let start = Instant::now();
    for idx in 0..20_000 {
        assert_eq!(rates.take(client(idx), start + Duration::from_millis(idx.into())), Ok(()));
    }
    assert!(rates.buckets.lock().unwrap().len() <= N_CLIENTS_MAX);
    let last = start + Duration::from_secs(20);
    assert_eq!(rates.take(client(19_999), last), Ok(()));
    assert!(rates.take(client(19_999), last).is_err(), "the newest are still known");
}

#[test]
fn an_ipv6_network_is_one_client() {
    let at = |address: &str| Client::at(address.parse().unwrap());
    assert_eq!(at("fd00::1"), at("fd00::ffff:1:2:3"));
    assert_ne!(at("fd00::1"), at("fd00:0:0:1::1"));
    assert_eq!(at("::ffff:1.2.3.4"), at("1.2.3.4"));
}
