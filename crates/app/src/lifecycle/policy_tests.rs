use super::*;

fn held(name: &str, n_bytes: u64, unused_s: u64) -> Held {
    let unused = Duration::from_secs(unused_s);
    Held { name: name.to_owned(), n_bytes, unused, is_pinned: false, is_busy: false }
}

fn pinned(held: Held) -> Held {
    Held { is_pinned: true, ..held }
}

fn busy(held: Held) -> Held {
    Held { is_busy: true, ..held }
}

#[test]
fn the_longest_unused_goes_first_and_no_more_than_needed() {
    let models = [held("a", 4, 10), held("b", 4, 30), held("c", 4, 20)];
    let check = |n_needed: u64, n_budget: u64, expected: &[&str]| {
        assert_eq!(victims(&models, n_needed, n_budget).unwrap(), expected, "{n_needed} in {n_budget}");
    };
    check(4, 16, &[]);
    check(4, 12, &["b"]);
    check(6, 12, &["b", "c"]);
    check(12, 12, &["b", "c", "a"]);
}

#[test]
fn pinned_models_stay_and_busy_ones_go_last() {
    let models = [busy(held("busy", 8, 0)), pinned(held("pinned", 8, 99)), held("idle", 2, 1)];
    assert_eq!(victims(&models, 2, 18).unwrap(), ["idle"]);
    assert_eq!(victims(&models, 4, 18).unwrap(), ["idle", "busy"]);
    let shortage = victims(&models, 11, 18).unwrap_err();
    assert_eq!(shortage, Shortage { n_missing: 1, pinned: vec!["pinned".to_owned()] });
    assert!(victims(&[], u64::MAX, 10).is_err());
}

#[test]
fn only_idle_models_expire() {
    let models = [held("old", 1, 60), held("new", 1, 59), pinned(held("pinned", 1, 99)), busy(held("busy", 1, 99))];
    assert_eq!(expired(&models, Duration::from_secs(60)), ["old"]);
}
