//! Weaker forms of a schema, for when the grammar engine refuses the schema as a whole.

use serde_json::{Map, Value, json};

/// Number of rungs that [`looser`] has.
pub(crate) const LOOSER_MAX: usize = 3;

const TEXT: &[&str] = &["pattern", "format", "patternProperties"];
const BOUNDS: &[&str] = &[
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
];

/// A schema that admits all that `schema` admits and more, with what it gives up. Every rung gives up more.
pub(crate) fn looser(schema: &Value, rung: usize) -> (Value, &'static str) {
    match rung {
        0 => (without(schema, &[TEXT]), "`pattern`, `format` and `patternProperties`"),
        1 => (without(schema, &[TEXT, BOUNDS]), "`pattern`, `format`, lengths, counts and bounds"),
        _ => (kind_alone(schema), "all but the type at the top"),
    }
}

fn without(schema: &Value, keys: &[&[&str]]) -> Value {
    match schema {
        Value::Object(map) => {
            let is_open = keys.contains(&TEXT) && map.contains_key("patternProperties");
            let mut out = Map::new();
            for (key, value) in map {
                let value = match key.as_str() {
                    "enum" | "const" | "required" | "type" | "$ref" => value.clone(),
                    "properties" | "$defs" => named(value, keys),
                    _ if keys.iter().any(|keys| keys.contains(&key.as_str())) => continue,
                    "additionalProperties" if is_open => Value::Bool(true),
                    _ => without(value, keys),
                };
                out.insert(key.clone(), value);
            }
            Value::Object(out)
        }
        Value::Array(items) => items.iter().map(|item| without(item, keys)).collect(),
        other => other.clone(),
    }
}

/// A map from names, which are no keywords, to schemas.
fn named(value: &Value, keys: &[&[&str]]) -> Value {
    let Value::Object(map) = value else { return value.clone() };
    map.iter().map(|(name, schema)| (name.clone(), without(schema, keys))).collect()
}

fn kind_alone(schema: &Value) -> Value {
    match schema.get("type") {
        Some(kind) => json!({ "type": kind }),
        None if schema.get("properties").is_some() => json!({ "type": "object" }),
        None => json!({}),
    }
}
