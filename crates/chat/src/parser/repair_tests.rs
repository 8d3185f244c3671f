use super::*;

fn check(json: &str, expected: &str) {
    let wants = [
        ("s", Want::Text),
        ("n", Want::Json),
        ("l", Want::List { of_text: false }),
        ("t", Want::List { of_text: true }),
    ];
    let wants: HashMap<_, _> = wants.into_iter().map(|(key, want)| (key.to_owned(), want)).collect();
    let mut repair = Repair::new(wants.clone());
    let mut out = String::new();
    repair.push(json, &mut out);
    repair.finish(&mut out);
    assert_eq!(out, expected, "{json}");
    let mut repair = Repair::new(wants);
    let mut pieces = String::new();
    json.chars().for_each(|character| repair.push(character.encode_utf8(&mut [0; 4]), &mut pieces));
    repair.finish(&mut pieces);
    assert_eq!(pieces, expected, "{json}, by characters");
}

#[test]
fn what_fits_passes_as_it_is() {
    for json in [
        r#"{"s": "a,\"b\"}", "n": 5, "l": [1, {"s": 5}], "t": ["x"], "z": "5", "y": {"n": "5"}}"#,
        r#"{"n": {"n": "5", "l": 1}, "s": null, "l": null}"#,
        r#"{"s":"x"}"#,
        "{}",
        "{ }",
    ] {
        check(json, json);
    }
}

#[test]
fn what_does_not_fit_gets_the_smallest_repair() {
    for (json, expected) in [
        (r#"{"n": "5", "s": 5}"#, r#"{"n": 5, "s": "5"}"#),
        (r#"{"n": "{\"a\": [1]}"}"#, r#"{"n": {"a": [1]}}"#),
        (r#"{"n": "{\"a\": 12345678901234567890123}"}"#, r#"{"n": {"a": 12345678901234567890123}}"#),
        (r#"{"l": "[1, 2]", "s": "x"}"#, r#"{"l": [1, 2], "s": "x"}"#),
        (r#"{"l": 5}"#, r#"{"l": [5]}"#),
        (r#"{"l": {"a": [1], "b": "}"}, "n": 1}"#, r#"{"l": [{"a": [1], "b": "}"}], "n": 1}"#),
        (r#"{"t": "x"}"#, r#"{"t": ["x"]}"#),
        (r#"{"s": true}"#, r#"{"s": "true"}"#),
    ] {
        check(json, expected);
    }
}

#[test]
fn what_cannot_be_repaired_stays() {
    for json in [r#"{"n": "many"}"#, r#"{"l": "x"}"#, r#"{"s": {"a": 1}}"#, r#"{"n": "[1]"}"#] {
        check(json, json);
    }
}
