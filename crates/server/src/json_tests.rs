use super::*;

#[test]
fn values_are_those_of_the_library() {
    let cases = [
        "null",
        "true",
        "-0",
        "-0.0",
        "1e300",
        "18446744073709551615",
        "18446744073709551616",
        "-9223372036854775808",
        "1.0000000000000002",
        r#""\u00e9\ud83d\ude00\n""#,
        r#"[[], {}, [{"b": [1, 2], "a": null, "": ""}], "x"]"#,
        "",
        "[1",
        "{} {}",
        "1e999",
        r#""\ud800""#,
        "{1: 2}",
        "[1,]",
    ];
    for text in cases {
        let (ours, theirs) = (read(text), serde_json::from_str::<Value>(text));
        let said = |result: serde_json::Result<Value>| result.map_err(|error| error.to_string());
        assert_eq!(said(ours), said(theirs), "{text}");
    }
    assert!(read(&"[".repeat(10_000)).is_err());
}

#[test]
fn fields_that_stand_twice_are_refused_unless_they_say_the_same() {
    let same = read(r#"{"a": [1, {"b": 2}], "c": 3, "a": [1, {"b": 2}]}"#).unwrap();
    assert_eq!(same.to_string(), r#"{"a":[1,{"b":2}],"c":3}"#);
    for text in [r#"{"a": 1, "a": 2}"#, r#"[{"x": {"a": null, "b": 1, "a": 0}}]"#, r#"{"\u0061": 1, "a": 2}"#] {
        let error = read(text).unwrap_err().to_string();
        assert!(error.contains(r#"the field "a" stands twice in one object"#), "{error}");
        assert!(error.contains("line 1 column"), "{error}");
    }
}
