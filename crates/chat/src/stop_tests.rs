use super::*;

/// Pushes `text` cut at every byte position that `cuts` marks, and returns what was shown and whether it hit.
fn run(stop: &[&str], text: &str, cuts: u32) -> (String, bool) {
    let mut stop = StopStrings::new(stop.iter().map(|text| (*text).to_owned()).collect()).unwrap();
    let (mut shown, mut piece, mut hit) = (String::new(), String::new(), false);
    for (idx, character) in text.chars().enumerate() {
        piece.push(character);
        if cuts >> (idx % 32) & 1 == 1 {
            let push = stop.push(&piece);
            shown.push_str(&push.text);
            hit |= push.hit;
            piece.clear();
        }
    }
    let push = stop.push(&piece);
    shown.push_str(&push.text);
    hit |= push.hit;
    if !hit {
        shown.push_str(&stop.flush());
    }
    (shown, hit)
}

#[test]
fn text_ends_before_the_first_complete_match_at_every_split() {
    let cases: [(&[&str], &str, &str, bool); 12] = [
        (&[], "plain", "plain", false),
        (&["END"], "one END two", "one ", true),
        (&["END"], "one EN two", "one EN two", false),
        (&["END"], "EENDX", "E", true),
        (&["aab"], "aaaab", "aa", true),
        (&["abab"], "abaabab", "aba", true),
        (&["b", "ab"], "xab", "x", true),
        (&["abcd", "c"], "abcd", "ab", true),
        (&["\n\n"], "a\n\n\nb", "a", true),
        (&["é"], "café au lait", "caf", true),
        (&["北京", "京"], "在北京", "在", true),
        (&[""], "an empty stop string stops nothing", "an empty stop string stops nothing", false),
    ];
    for (stop, text, shown, hit) in cases {
        for cuts in 0..1 << text.chars().count().min(10) {
            assert_eq!(run(stop, text, cuts), (shown.to_owned(), hit), "{stop:?} {text:?} cuts {cuts:b}");
        }
    }
}

#[test]
fn only_a_prefix_of_a_stop_string_is_held_back() {
    let mut stop = StopStrings::new(vec!["<end>".to_owned(), "</s>".to_owned()]).unwrap();
    let shown = ["a<", "b<e", "n", "x</", "s"].map(|text| stop.push(text).text);
    assert_eq!(shown, ["a", "<b", "", "<enx", ""]);
    assert_eq!(stop.flush(), "</s");
}

#[test]
fn nothing_follows_a_hit() {
    let mut stop = StopStrings::new(vec![".".to_owned()]).unwrap();
    assert_eq!(stop.push("a.b"), StopPush { text: "a".to_owned(), hit: true });
    assert_eq!(stop.push("c"), StopPush { text: String::new(), hit: true });
    assert_eq!(stop.flush(), "");
}

#[test]
fn too_many_or_too_long_stop_strings_are_refused() {
    let many = vec!["x".to_owned(); STOP_STRINGS_MAX + 1];
    assert_eq!(StopStrings::new(many).unwrap_err(), StopError::TooMany { n: 17 });
    let long = vec!["x".repeat(STOP_STRING_BYTES_MAX + 1)];
    assert_eq!(StopStrings::new(long).unwrap_err(), StopError::TooLong { n_bytes: 1025 });
}
