use super::{Class, ModelAcceptance, SequenceAcceptance};
use crate::draft::Source;

/// What a sequence expects of `n_drafts` after trials of (right, drafted).
fn survival(trials: &[(usize, usize)], n_drafts: usize) -> Vec<f64> {
    let (mut model, mut sequence) = (ModelAcceptance::default(), SequenceAcceptance::default());
    let class = Class::new(Source::Lookup, 5);
    trials.iter().for_each(|(n_right, n)| sequence.learn(&mut model, class, *n_right, *n));
    sequence.survival(&model, class, n_drafts)
}

#[test]
fn survival_falls_with_the_place_and_follows_the_trials() {
    let before = survival(&[], 4);
    assert!((before[0] - 0.5).abs() < 1e-9 && (before[3] - 0.0625).abs() < 1e-9, "{before:?}");
    let right = survival(&[(4, 4); 30], 4);
    let wrong = survival(&[(0, 4); 30], 4);
    assert!(right[3] > 0.7 && wrong[0] < 0.1, "{right:?} {wrong:?}");
    // Always right twice and then wrong: the third place is what is doubted.
    let twice = survival(&[(2, 4); 60], 4);
    assert!(twice[1] > 2.0 * twice[2], "{twice:?}");
    for survival in [before, right, wrong, twice] {
        assert!(survival.windows(2).all(|pair| pair[0] >= pair[1]), "{survival:?}");
    }
}

#[test]
fn a_new_sequence_starts_from_what_others_have_shown() {
    let mut model = ModelAcceptance::default();
    let class = Class::new(Source::Backend, 0);
    let mut first = SequenceAcceptance::default();
    (0..50).for_each(|_| first.learn(&mut model, class, 0, 3));
    let second = SequenceAcceptance::default();
    assert!(second.survival(&model, class, 1)[0] < 0.1);
    // Kinds of drafts do not speak for each other.
    assert!(second.survival(&model, Class::new(Source::Lookup, 40), 1)[0] > 0.8);
}

#[test]
fn what_failed_long_ago_is_tried_again() {
    let mut model = ModelAcceptance::default();
    let class = Class::new(Source::Backend, 0);
    let mut sequence = SequenceAcceptance::default();
    (0..50).for_each(|_| sequence.learn(&mut model, class, 0, 3));
    (0..3000).for_each(|_| sequence.idle(&mut model));
    assert!(sequence.survival(&model, class, 1)[0] > 0.5);
}

#[test]
fn more_evidence_is_another_class() {
    let classes = [0, 2, 3, 4, 5, 6, 8, 9, 16, 17, 32].map(|evidence| Class::new(Source::Lookup, evidence).0);
    assert_eq!(classes, [1, 1, 2, 3, 3, 4, 4, 5, 5, 6, 6]);
    assert_eq!(Class::new(Source::Backend, 9).0, 0);
}
