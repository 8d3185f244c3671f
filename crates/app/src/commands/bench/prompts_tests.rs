use super::*;

#[test]
fn a_seed_and_a_path_always_give_the_same_words() {
    let words = |seed, path: &[u64]| Draw::new(seed, path).words(50);
    assert_eq!(words(1, &[2, 3]), words(1, &[2, 3]));
    for other in [words(2, &[2, 3]), words(1, &[3, 2]), words(1, &[2]), words(1, &[])] {
        assert_ne!(words(1, &[2, 3]), other);
    }
}

#[test]
fn as_many_words_as_asked_for() {
    for n_words in [0, 1, 7, 1000] {
        assert_eq!(Draw::new(7, &[]).words(n_words).split_whitespace().count(), n_words);
    }
}

#[test]
fn numbers_stay_between_their_bounds_and_reach_them() {
    let mut draw = Draw::new(3, &[]);
    let drawn: Vec<usize> = (0..1000).map(|_| draw.between(4, 6)).collect();
    assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&4), Some(&6)));
    assert_eq!(draw.between(5, 5), 5);
}

#[test]
fn conversations_differ_from_their_first_word_on() {
    let chats: Vec<Value> = (0..20)
        .map(|run| {
            let mut draw = Draw::new(9, &[run]);
            chat(&opening(&mut draw), "word")
        })
        .collect();
    let heads = chats.iter().map(|chat| chat[0]["content"].as_str().map(|text| text[..12].to_owned()));
    assert!(heads.collect::<std::collections::BTreeSet<_>>().len() > 15, "{chats:?}");
}

#[test]
fn counts_of_two_conversations_size_all_others() {
    let calibration = Calibration::new((16, 56), (272, 312)).expect("it grows");
    assert_eq!((calibration.n_words(2000), calibration.n_extra_words(64)), (1960, 64));
    let coarse = Calibration::new((10, 30), (110, 230)).expect("it grows");
    assert_eq!((coarse.n_words(210), coarse.n_words(1)), (100, 1));
    assert_eq!(Calibration::new((16, 56), (272, 56)), None);
}
