use serde_json::json;

use super::widest;

#[test]
fn the_widest_part_counts_what_it_requires() {
    let person = json!({"type": "object", "required": ["name", "age"],
        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}, "more": {"type": "string"}}});
    let alone = widest(&person);
    assert_eq!(alone, r#"{"name": "", "age": 0}"#.len() + 2);
    let people = json!({"type": "object", "properties": {"people": {"type": "array", "items": {"$ref": "#/$defs/p"}}},
        "$defs": {"p": person}});
    assert_eq!(widest(&people), alone);
    assert_eq!(widest(&json!({"type": "array", "items": {"anyOf": [{"type": "null"}, {"const": "long enough"}]}})), 13);
}

#[test]
fn schemas_that_lead_back_to_themselves_are_measured_too() {
    let tree = json!({"type": "object", "required": ["a", "b"], "properties":
        {"a": {"$ref": "#"}, "b": {"$ref": "#"}}});
    assert!(widest(&tree) > 10);
}
