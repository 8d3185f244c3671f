use super::*;

#[test]
fn options_are_read_and_strange_ones_left() {
    for (words, expected) in [
        ("", Options::default()),
        ("--window", Options { show: Show::Window, ..Options::default() }),
        ("-psn_0_1 --hidden", Options { show: Show::Icon, ..Options::default() }),
        ("--pressure-from a", Options { pressure_from: Some("a".into()), ..Options::default() }),
        ("--pressure-from", Options::default()),
    ] {
        assert_eq!(Options::parse(words.split_whitespace().map(str::to_owned)), expected, "{words}");
    }
}
