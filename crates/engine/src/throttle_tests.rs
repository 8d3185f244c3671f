use super::{N_RETRIES, Throttle};

#[test]
fn failures_halve_down_to_one_row_and_are_bounded() {
    let mut throttle = Throttle::new(8, 64);
    let seen: Vec<_> = (0..=N_RETRIES).map(|_| (throttle.tighten(8), throttle.n_rows, throttle.n_tokens)).collect();
    assert_eq!(seen[0], (true, 4, 32));
    assert_eq!(seen[N_RETRIES - 1], (true, 4, 4), "the caller's count of running sequences decides the rows");
    assert!(!seen[N_RETRIES].0);
    assert!(throttle.tighten(1) || throttle.n_rows == 1);
}

#[test]
fn finished_sequences_raise_the_limits_back_and_no_further() {
    let mut throttle = Throttle::new(8, 64);
    assert!(throttle.tighten(8) && throttle.tighten(4) && throttle.tighten(2));
    assert_eq!((throttle.n_rows, throttle.n_tokens), (1, 8));
    throttle.relax();
    assert_eq!((throttle.n_rows, throttle.n_tokens), (2, 16));
    (0..100).for_each(|_| throttle.relax());
    assert_eq!((throttle.n_rows, throttle.n_tokens), (8, 64));
}

#[test]
fn every_row_has_a_token_in_the_budget() {
    let throttle = Throttle::new(100, 10);
    assert_eq!((throttle.n_rows, throttle.n_tokens), (10, 10));
}
