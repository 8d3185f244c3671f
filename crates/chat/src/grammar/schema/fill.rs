//! Says what a schema leaves open, where the grammar engine's own reading of it would let a model go astray.

use serde_json::{Map, Value, json};

/// Where the definition of any value stands.
const ANY: &str = "any";
/// Largest number: 64-bit integers fit, and no run of digits goes on for ever or past what JSON readers take.
const NUMBER_MAX: i64 = 9_000_000_000_000_000_000;

/// A schema of any value; [`definition`] is what it refers to.
pub(super) fn any() -> Value {
    json!({ "$ref": "#/$defs/any" })
}

/// Any value, with bounded numbers.
pub(super) fn definition() -> (String, Value) {
    let number = json!({ "type": "number", "minimum": -NUMBER_MAX, "maximum": NUMBER_MAX });
    let any = json!({ "anyOf": [
        { "type": ["null", "boolean", "string"] },
        number,
        { "type": "array", "items": any() },
        { "type": "object", "additionalProperties": any() },
    ] });
    (ANY.to_owned(), any)
}

/// Closes objects that say what they hold, if `closes`, and bounds numbers.
pub(super) fn fill(out: &mut Map<String, Value>, closes: Closes) {
    let is = |kind: &str| match out.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(|of| of == kind),
        Some(of) => of == kind,
        None => false,
    };
    if out.contains_key("enum") || out.contains_key("const") {
        return;
    }
    let (is_object, is_array, is_number) = (is("object"), is("array"), is("number") || is("integer"));
    // Many write an empty map where they mean that they do not say.
    let has = |key: &str| out.get(key).and_then(Value::as_object).is_some_and(|members| !members.is_empty());
    let has_members = has("properties") || has("patternProperties");
    let is_object = is_object || (out.contains_key("properties") && !out.contains_key("type"));
    if is_object && closes == Closes::Unsaid {
        let rest = if has_members { Value::Bool(false) } else { any() };
        out.entry("additionalProperties").or_insert(rest);
    }
    if is_array && closes == Closes::Unsaid {
        out.entry("items").or_insert_with(any);
    }
    if is_number {
        for (bound, exclusive, limit) in
            [("minimum", "exclusiveMinimum", -NUMBER_MAX), ("maximum", "exclusiveMaximum", NUMBER_MAX)]
        {
            if !out.contains_key(bound) && !out.contains_key(exclusive) {
                out.insert(bound.to_owned(), json!(limit));
            }
        }
    }
}

/// Which objects are closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closes {
    /// Those that do not say.
    Unsaid,
    /// Those that say so.
    Said,
}
