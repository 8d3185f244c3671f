use super::*;

#[test]
fn what_a_model_wrote_is_shown_as_it_is() {
    for (given, wanted) in [
        (json!({"path": "/a b"}), r#"{"path":"/a b"}"#.to_owned()),
        (json!({"x": "a\u{9b}2Kb\u{202e}c"}), r#"{"x":"a\u{9b}2Kb\u{202e}c"}"#.to_owned()),
        (json!("x".repeat(3000)), format!("\"{}... (3002 bytes; see --json)", "x".repeat(1999))),
    ] {
        assert_eq!(shown(&given), wanted);
    }
}
