//! How much JSON a schema asks for at least, roughly.

use serde_json::Value;

/// Most schemas looked at, all visits counted.
const N_VISITS_MAX: usize = 100_000;
const DEPTH_MAX: usize = 32;

/// Bytes of the longest of the shortest values that fit a part of a schema: so much room the opening of one more part may
/// take.
pub(crate) fn widest(schema: &Value) -> usize {
    let mut measure = Measure { root: schema, n_left: N_VISITS_MAX };
    measure.widest(schema, 2 * DEPTH_MAX)
}

struct Measure<'a> {
    root: &'a Value,
    n_left: usize,
}

impl<'a> Measure<'a> {
    fn widest(&mut self, part: &'a Value, depth: usize) -> usize {
        if depth == 0 || self.n_left == 0 {
            return 0;
        }
        let own = if part.is_object() { self.least(part, DEPTH_MAX) } else { 0 };
        match part {
            Value::Object(map) => map.values().map(|part| self.widest(part, depth - 1)).fold(own, usize::max),
            Value::Array(items) => items.iter().map(|part| self.widest(part, depth - 1)).fold(own, usize::max),
            _ => own,
        }
    }

    /// Bytes of a short value that fits.
    fn least(&mut self, part: &'a Value, depth: usize) -> usize {
        self.n_left = self.n_left.saturating_sub(1);
        let Some(map) = part.as_object().filter(|_| depth > 0 && self.n_left > 0) else { return 1 };
        if let Some(constant) = map.get("const") {
            return constant.to_string().len();
        }
        if let Some(Value::Array(values)) = map.get("enum") {
            return values.iter().map(|value| value.to_string().len()).min().unwrap_or(1);
        }
        if let Some(target) = map.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix('#')) {
            return self.root.pointer(target).map_or(1, |target| self.least(target, depth - 1));
        }
        if let Some(Value::Array(branches)) = map.get("anyOf").or_else(|| map.get("oneOf")) {
            return branches.iter().map(|branch| self.least(branch, depth - 1)).min().unwrap_or(1);
        }
        let n_min = |key: &str| map.get(key).and_then(Value::as_u64).map_or(0, |n| n.min(10_000) as usize);
        match map.get("type").and_then(Value::as_str) {
            Some("object") => 2 + self.required(map, depth),
            Some("array") => {
                let item = map.get("items").map_or(1, |item| self.least(item, depth - 1));
                2 + n_min("minItems") * (item + 2)
            }
            Some("string") => 2 + n_min("minLength"),
            Some("boolean" | "null") => 4,
            _ if map.contains_key("properties") => 2 + self.required(map, depth),
            _ => 1,
        }
    }

    fn required(&mut self, map: &'a serde_json::Map<String, Value>, depth: usize) -> usize {
        let names = map.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let of = |name: &'a str| map.get("properties").and_then(|properties| properties.get(name));
        let names = names.iter().filter_map(Value::as_str);
        names.map(|name| name.len() + 6 + of(name).map_or(1, |part| self.least(part, depth - 1))).sum()
    }
}

#[cfg(test)]
#[path = "least_tests.rs"]
mod tests;
