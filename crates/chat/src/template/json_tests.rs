use minijinja::{Environment, context};
use serde_json::json;

use super::*;

fn render(expression: &str) -> Result<String, Error> {
    let mut environment = Environment::new();
    environment.add_filter("tojson", tojson);
    environment.set_fuel(Some(100_000));
    let value = super::super::context::variable(&json!({
        "b": [1, -2.5, true, null], "a": {"x": "<é\n\"\\\u{1f600}\u{1}>", "e": {}, "l": []},
    }));
    environment.render_str(&format!("{{{{ {expression} }}}}"), context! { value })
}

#[test]
fn matches_pythons_json_dumps() {
    let cases = [
        ("value|tojson", r#"{"b": [1, -2.5, true, null], "a": {"x": "<é\n\"\\😀\u0001>", "e": {}, "l": []}}"#),
        ("value.a.x|tojson(ensure_ascii=true)", r#""<\u00e9\n\"\\\ud83d\ude00\u0001>""#),
        ("value.a.x|tojson(true)", r#""<\u00e9\n\"\\\ud83d\ude00\u0001>""#),
        ("value.b|tojson(indent=2)", "[\n  1,\n  -2.5,\n  true,\n  null\n]"),
        ("value.a|tojson(indent='>')", "{\n>\"x\": \"<é\\n\\\"\\\\😀\\u0001>\",\n>\"e\": {},\n>\"l\": []\n}"),
        ("{'k': [1, 2]}|tojson(separators=(',', ':'))", r#"{"k":[1,2]}"#),
        ("{'b': 1, 'a': 2}|tojson(sort_keys=true)", r#"{"a": 2, "b": 1}"#),
        ("{'b': 1, 'a': 2}|tojson", r#"{"b": 1, "a": 2}"#),
        ("{1: 'x', true: none}|tojson", r#"{"1": null}"#),
        (
            "[1.0, 1e16, 1e-5, 0.1, 123456789.125, 1e15]|tojson",
            "[1.0, 1e+16, 1e-05, 0.1, 123456789.125, 1000000000000000.0]",
        ),
        ("value.b[1:]|tojson", "[-2.5, true, null]"),
        ("'\\u007f\\u2028'|tojson", "\"\u{7f}\u{2028}\""),
        ("value.a|tojson(indent=none)", r#"{"x": "<é\n\"\\😀\u0001>", "e": {}, "l": []}"#),
        ("[[], {}]|tojson(indent=0)", "[\n[],\n{}\n]"),
    ];
    for (expression, expected) in cases {
        assert_eq!(render(expression).unwrap(), expected, "{expression}");
    }
}

#[test]
fn what_is_not_json_is_refused() {
    for (expression, reason) in [
        ("missing|tojson", "type undefined is not JSON"),
        ("range|tojson", "is not JSON"),
        ("value|tojson(indent=1000)", "indent must be"),
        ("value|tojson(nonsense=1)", "nonsense"),
        ("value|tojson(separators=[','])", "pair of strings"),
    ] {
        let error = render(expression).unwrap_err().to_string();
        assert!(error.contains(reason), "{expression}: {error}");
    }
}
