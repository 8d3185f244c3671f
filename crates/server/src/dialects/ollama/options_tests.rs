use super::*;

#[test]
fn durations_are_those_of_go() {
    for (text, is_one) in [
        ("5m", true),
        ("1h30m", true),
        ("1.5s", true),
        ("300ms", true),
        ("-1", true),
        ("0", true),
        ("24h0m0s", true),
        ("", false),
        ("-", false),
        ("m", false),
        ("5 m", false),
        ("5d", false),
        ("soon", false),
        ("5m3", true),
    ] {
        assert_eq!(is_duration(text), is_one, "{text:?}");
    }
}
