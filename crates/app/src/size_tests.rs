use super::*;

#[test]
fn sizes_are_read() {
    let cases = [
        ("1000", Some(1000)),
        ("512MB", Some(512_000_000)),
        ("8GiB", Some(8 << 30)),
        ("0.5 tb", Some(500_000_000_000)),
        ("2k", Some(2000)),
        (" 7 b ", Some(7)),
        ("", None),
        ("0", None),
        ("0.1", None),
        ("-3GB", None),
        ("3 apples", None),
        ("1.2.3GB", None),
        ("nan", None),
        ("inf", None),
        ("9999999999TB", None),
    ];
    for (text, expected) in cases {
        assert_eq!(parse(text).ok(), expected, "{text}");
    }
}

#[test]
fn sizes_are_shown() {
    let cases = [(0, "0 bytes"), (999, "999 bytes"), (1500, "1.5 kB"), (25_000_000_000, "25.0 GB")];
    for (n_bytes, expected) in cases {
        assert_eq!(show(n_bytes), expected);
    }
}

#[test]
fn some_sizes_may_be_nothing() {
    assert_eq!(parse_or_zero(" 0 "), Ok(0));
    assert_eq!(parse_or_zero("2k"), Ok(2000));
    assert!(parse_or_zero("-1").is_err());
}
