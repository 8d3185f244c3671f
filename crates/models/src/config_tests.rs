use super::{ConfigFile, finite, read_json};
use serde_json::json;

#[test]
fn numbers_that_only_python_writes_are_read() {
    let cases = [
        (r#"{"a": [0.0, Infinity]}"#, Some(r#"{"a": [0.0, 1.7976931348623157e308]}"#)),
        (r#"{"a": -Infinity, "b": NaN}"#, Some(r#"{"a": -1.7976931348623157e308, "b": null}"#)),
        (r#"{"Infinity": "a \" NaN", "N": "I"}"#, None),
        (r#"["\\", NaN, "NaN"]"#, Some(r#"["\\", null, "NaN"]"#)),
        (r#"{"open: NaN"#, None),
        ("", None),
    ];
    for (text, expected) in cases {
        assert_eq!(finite(text).as_deref(), expected, "{text}");
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.json");
    std::fs::write(&path, r#"{"limit": [0.5, Infinity]}"#).unwrap();
    assert_eq!(read_json(&path).unwrap(), json!({"limit": [0.5, f64::MAX]}));
    std::fs::write(&path, r#"{"limit": [0.5, Infinity}"#).unwrap();
    assert!(read_json(&path).unwrap_err().to_string().contains("it is not JSON"));
}

#[test]
fn a_value_with_several_names_has_one() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("config.json"), r#"{"b": 2, "c": 3, "d": 4}"#).unwrap();
    let file = ConfigFile::read(dir.path()).unwrap();
    assert_eq!(file.with_one_name(&["a", "b", "c"]).value, json!({"a": 2, "d": 4}));
    assert_eq!(file.with_one_name(&["x", "y"]).value, file.value);
}
