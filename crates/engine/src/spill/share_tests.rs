use super::*;

#[test]
fn over_time_no_more_than_the_part_is_spent() {
    let ms = Duration::from_millis;
    let start = Instant::now();
    let mut share = Share::new(0.1, ms(20), start);
    let (mut now, mut spent) = (start, Duration::ZERO);
    while now < start + ms(10_000) {
        if share.has_credit(now) {
            share.spend(ms(7));
            spent += ms(7);
            now += ms(7);
        } else {
            now += ms(1);
        }
    }
    assert!(spent >= ms(980) && spent <= ms(1030), "{spent:?}");
}

#[test]
fn credit_does_not_pile_up() {
    let start = Instant::now();
    let mut share = Share::new(0.5, Duration::from_millis(20), start);
    assert!(share.has_credit(start + Duration::from_secs(3600)));
    share.spend(Duration::from_millis(21));
    assert!(!share.has_credit(start + Duration::from_secs(3600)));
}
