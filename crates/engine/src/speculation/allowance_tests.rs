use super::Allowance;

const PLAIN_S: f64 = 0.01;

#[test]
fn losses_are_bounded_by_time_spent() {
    let mut allowance = Allowance::default();
    let (mut took_s, mut plain_s) = (0.0, 0.0);
    for _ in 0..20_000 {
        // Every try takes twice as long and gains nothing.
        let round_s = if allowance.is_open(PLAIN_S) { 2.0 * PLAIN_S } else { PLAIN_S };
        allowance.settle(round_s, PLAIN_S, PLAIN_S);
        (took_s, plain_s) = (took_s + round_s, plain_s + PLAIN_S);
    }
    let lost = took_s / plain_s - 1.0;
    assert!((0.005..0.02).contains(&lost), "{lost}");
}

#[test]
fn gains_keep_it_open_but_are_not_hoarded() {
    let mut allowance = Allowance::default();
    for _ in 0..1000 {
        assert!(allowance.is_open(PLAIN_S));
        allowance.settle(PLAIN_S, 3.0 * PLAIN_S, PLAIN_S);
    }
    let n_tries = (0..1000).take_while(|_| {
        allowance.settle(2.0 * PLAIN_S, PLAIN_S, PLAIN_S);
        allowance.is_open(PLAIN_S)
    });
    assert!(n_tries.count() < 10);
}
