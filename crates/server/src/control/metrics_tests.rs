use super::*;

#[test]
fn every_metric_has_a_help_a_type_and_a_line_per_model() {
    let busy = Stats { n_running: 2, decode_tokens_per_s: 12.5, ..Stats::default() };
    let text = render(&[("a".to_owned(), busy), ("b".to_owned(), Stats::default())]);
    assert_eq!(text.lines().count(), METRICS.len() * 4);
    for line in [
        "# TYPE tokbar_sequences_running gauge",
        "tokbar_sequences_running{model=\"a\"} 2",
        "tokbar_sequences_running{model=\"b\"} 0",
        "tokbar_decode_tokens_per_second{model=\"a\"} 12.5",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is missing in:\n{text}");
    }
}

#[test]
fn labels_escape_what_would_end_them() {
    assert_eq!(label("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
}
