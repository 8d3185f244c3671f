use super::*;

#[test]
fn changes_are_shown_with_their_neighbours() {
    let old = "a\nb\nc\nd\ne\nf\ng\n";
    let new = "a\nb\nc\nX\ne\nf\ng\nh\n";
    assert_eq!(lines(old, new), "  ...\n  b\n  c\n- d\n+ X\n  e\n  f\n  g\n+ h\n");
    assert_eq!(lines(old, old), "");
    assert_eq!(lines("", "a\n"), "+ a\n");
    assert_eq!(lines("a\n", ""), "- a\n");
}

#[test]
fn many_lines_are_no_burden() {
    let old: String = (0..5000).map(|n| format!("a{n}\n")).collect();
    let new: String = (0..5000).map(|n| format!("b{n}\n")).collect();
    assert_eq!(lines(&old, &new).lines().count(), 10_000);
}

#[test]
fn keys_are_not_shown() {
    let text = "+   \"ANTHROPIC_AUTH_TOKEN\": \"tk-abc\",\n- api_key = \"sk-other\"\n+ url: http://tk-abc@x\n+ apiKey: tokbar\n+ env_key = \"TOKBAR_API_KEY\"\n";
    let shown = without_secrets(text, Some("tk-abc"));
    assert!(!shown.contains("tk-abc") && !shown.contains("sk-other"), "{shown}");
    assert!(shown.contains("apiKey: tokbar") && shown.contains("TOKBAR_API_KEY"), "{shown}");
}
