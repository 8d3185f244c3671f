use super::*;

#[test]
fn schemas_come_out_in_one_draft_with_what_they_leave_open_said() {
    for (given, expected) in [
        (json!({"type": "boolean", "title": "x", "x-extra": 1}), json!({"type": "boolean"})),
        (json!({"type": "string", "nullable": true}), json!({"type": ["string", "null"]})),
        (
            json!({"type": "number", "minimum": 1, "exclusiveMinimum": true, "maximum": 9}),
            json!({"type": "number", "exclusiveMinimum": 1, "maximum": 9}),
        ),
        (
            json!({"type": "array", "items": [{"type": "null"}], "additionalItems": false}),
            json!({"type": "array", "prefixItems": [{"type": "null"}], "items": false}),
        ),
        (
            json!({"properties": {"a": {"$ref": "#/definitions/b~1c"}}, "definitions": {"b/c": {"type": "null"}}}),
            json!({"properties": {"a": {"$ref": "#/$defs/d0"}}, "additionalProperties": false,
                "$defs": {"d0": {"type": "null"}}}),
        ),
        (
            json!({"type": "object", "propertyNames": {"enum": ["a"]}, "additionalProperties": {"type": "null"}}),
            json!({"type": "object", "additionalProperties": false, "properties": {"a": {"type": "null"}}}),
        ),
    ] {
        let Ready { mut schema, reports } = ready(&given).unwrap();
        if let Some(definitions) = schema.get_mut("$defs").and_then(Value::as_object_mut) {
            definitions.remove("any");
            if definitions.is_empty() {
                schema.as_object_mut().unwrap().remove("$defs");
            }
        }
        assert_eq!(schema, expected, "{given}");
        assert!(reports.is_empty(), "{given}: {reports:?}");
    }
}

#[test]
fn what_is_not_enforced_is_reported_with_its_place() {
    for (given, part) in [
        (json!({"type": "array", "uniqueItems": true}), "`uniqueItems` is not enforced (at the top)"),
        (json!({"properties": {"a": {"not": {"const": 1}}}}), "`not` is not enforced (/properties/a)"),
        (json!({"type": "string", "pattern": "^(?=a)b"}), "`pattern` is not enforced"),
        (json!({"type": "string", "format": "semver"}), "the format \"semver\""),
        (json!({"$ref": "https://example.org/schema.json"}), "leads out of the schema"),
        (json!({"type": "string", "maxLength": 10_000_000}), "`maxLength` is not enforced"),
    ] {
        let reports = ready(&given).unwrap().reports;
        assert!(reports.len() == 1 && reports[0].contains(part), "{given}: {reports:?}");
    }
}

#[test]
fn what_is_no_schema_is_refused() {
    let mut deep = json!({"type": "null"});
    (0..200).for_each(|_| deep = json!({ "items": deep }));
    for (given, part) in [
        (json!([]), "must be a schema"),
        (json!({"type": "dict"}), "`type` must be one"),
        (json!({"properties": []}), "at /properties"),
        (json!({"properties": {"a": {"pattern": "[a"}}}), "at /properties/a"),
        (json!({"anyOf": []}), "at least one schema"),
        (json!({"items": {"$ref": "#/missing"}}), "points at nothing"),
        (json!({"minLength": -1}), "whole number"),
        (deep, "nested"),
    ] {
        let error = ready(&given).unwrap_err().to_string();
        assert!(error.contains(part), "{given}: {error}");
    }
}
