//! Keywords of JSON Schema, one by one.

use serde_json::{Map, Value, json};

use super::{Closes, SchemaError, Walk, pattern};

/// Names of types.
const TYPES: [&str; 7] = ["null", "boolean", "object", "array", "number", "integer", "string"];

/// Formats that the grammar engine knows.
const FORMATS: [&str; 10] =
    ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid", "uri"];

/// Keywords that restrict values in ways that no grammar of ours does.
const UNENFORCED: [&str; 16] = [
    "not",
    "if",
    "then",
    "else",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "contains",
    "minContains",
    "maxContains",
    "uniqueItems",
    "unevaluatedProperties",
    "unevaluatedItems",
    "$dynamicRef",
    "$recursiveRef",
    "extends",
];

/// Largest length or count that is enforced. Larger ones cost a state for each step and bind nothing that is written.
const COUNT_MAX: u64 = 20_000;

/// The schema around a keyword, where it stands, and how deep.
type Around<'m> = (&'m Map<String, Value>, &'m str, usize);

impl Walk<'_> {
    /// Writes a keyword to `out` as the engine takes it. Unknown keywords say nothing of values, and are left out.
    pub(super) fn keyword(
        &mut self,
        (key, value): (&str, &Value),
        (map, path, depth): Around<'_>,
        out: &mut Map<String, Value>,
    ) -> Result<(), SchemaError> {
        let at = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
        let written = match key {
            "type" => Some(kinds(value, path)?),
            "properties" => Some(self.map_of_schemas(value, (&at, depth))?),
            "patternProperties" => self.pattern_properties(value, (&at, depth))?,
            "anyOf" | "oneOf" | "allOf" | "prefixItems" => Some(self.list_of_schemas(value, (&at, depth))?),
            "items" if value.is_array() => {
                out.insert("prefixItems".to_owned(), self.list_of_schemas(value, (&at, depth))?);
                map.get("additionalItems").map(|rest| self.schema(rest, path, depth)).transpose()?
            }
            "items" | "additionalProperties" => Some(self.schema(value, &at, depth)?),
            "required" => names(value, path)?,
            "enum" => Some(values(value, path)?),
            "const" => Some(value.clone()),
            "minimum" | "maximum" => bound(value, (key, path), map)?,
            "exclusiveMinimum" => exclusive_bound(value, ("minimum", path), map)?,
            "exclusiveMaximum" => exclusive_bound(value, ("maximum", path), map)?,
            "multipleOf" => self.multiple_of(value, path)?,
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => {
                self.count(value, (key, path))?
            }
            "pattern" => self.pattern(value, path)?,
            "format" => self.format(value, path)?,
            "$ref" => self.reference(value, path)?,
            _ if UNENFORCED.contains(&key) && value != &Value::Bool(false) => {
                self.report(path, &format!("`{key}` is not enforced"));
                None
            }
            "unevaluatedProperties" if !map.contains_key("additionalProperties") && self.closes == Closes::Unsaid => {
                out.insert("additionalProperties".to_owned(), Value::Bool(false));
                None
            }
            _ => None,
        };
        if let Some(written) = written {
            out.insert(key.to_owned(), written);
        }
        Ok(())
    }

    fn map_of_schemas(&mut self, value: &Value, (path, depth): (&str, usize)) -> Result<Value, SchemaError> {
        let Value::Object(map) = value else {
            return Err(SchemaError::new(path, "must be an object of schemas"));
        };
        let mut out = Map::new();
        for (name, schema) in map {
            out.insert(name.clone(), self.schema(schema, &format!("{path}/{name}"), depth)?);
        }
        Ok(Value::Object(out))
    }

    fn list_of_schemas(&mut self, value: &Value, (path, depth): (&str, usize)) -> Result<Value, SchemaError> {
        let Some(schemas) = value.as_array().filter(|schemas| !schemas.is_empty()) else {
            return Err(SchemaError::new(path, "must be an array of at least one schema"));
        };
        let mut out = Vec::with_capacity(schemas.len());
        for (idx, schema) in schemas.iter().enumerate() {
            out.push(self.schema(schema, &format!("{path}/{idx}"), depth)?);
        }
        Ok(Value::Array(out))
    }

    fn pattern_properties(&mut self, value: &Value, at: (&str, usize)) -> Result<Option<Value>, SchemaError> {
        let Value::Object(mut out) = self.map_of_schemas(value, at)? else { return Ok(None) };
        let mut unusable = Vec::new();
        for name in out.keys() {
            if let Some(reason) = pattern::check(name).map_err(|detail| SchemaError::new(at.0, detail))? {
                unusable.push((name.clone(), reason));
            }
        }
        for (name, reason) in unusable {
            out.remove(&name);
            self.report(at.0, &format!("the pattern {name:?} is not enforced: {reason}"));
        }
        Ok(Some(Value::Object(out)))
    }

    fn pattern(&mut self, value: &Value, path: &str) -> Result<Option<Value>, SchemaError> {
        let Some(text) = value.as_str() else { return Err(SchemaError::new(path, "`pattern` must be a string")) };
        let unusable = pattern::check(text).map_err(|detail| SchemaError::new(path, detail))?;
        match unusable {
            Some(reason) => {
                self.report(path, &format!("`pattern` is not enforced: {reason}"));
                Ok(None)
            }
            None => Ok(Some(value.clone())),
        }
    }

    fn format(&mut self, value: &Value, path: &str) -> Result<Option<Value>, SchemaError> {
        let Some(name) = value.as_str() else { return Err(SchemaError::new(path, "`format` must be a string")) };
        if FORMATS.contains(&name) {
            return Ok(Some(value.clone()));
        }
        // Sizes of numbers and the like, which OpenAPI writes as formats, restrict no text.
        if !["int32", "int64", "float", "double", "password", "binary", "byte"].contains(&name) {
            self.report(path, &format!("the format {name:?} is not enforced"));
        }
        Ok(None)
    }

    fn multiple_of(&mut self, value: &Value, path: &str) -> Result<Option<Value>, SchemaError> {
        match value.as_f64() {
            Some(number) if number > 0.0 && (1e-6..=1e9).contains(&number) => Ok(Some(value.clone())),
            Some(number) if number > 0.0 => {
                self.report(path, "`multipleOf` is not enforced");
                Ok(None)
            }
            _ => Err(SchemaError::new(path, "`multipleOf` must be a number above 0")),
        }
    }

    fn count(&mut self, value: &Value, (key, path): (&str, &str)) -> Result<Option<Value>, SchemaError> {
        let whole = value.as_u64().or_else(|| {
            value.as_f64().filter(|number| number.fract() == 0.0 && *number >= 0.0).map(|number| number as u64)
        });
        match whole {
            Some(count) if count <= COUNT_MAX => Ok(Some(json!(count))),
            Some(count) if key.starts_with("min") => {
                Err(SchemaError::new(path, format!("`{key}` is {count}, but may be {COUNT_MAX}")))
            }
            Some(_) => {
                self.report(path, &format!("`{key}` is not enforced: it is above {COUNT_MAX}"));
                Ok(None)
            }
            None => Err(SchemaError::new(path, format!("`{key}` must be a whole number from 0 on"))),
        }
    }

    /// `propertyNames`, as far as it can be told by names or patterns.
    pub(super) fn property_names(
        &mut self,
        map: &Map<String, Value>,
        (path, depth): (&str, usize),
        out: &mut Map<String, Value>,
    ) -> Result<(), SchemaError> {
        let Some(rule) = map.get("propertyNames") else { return Ok(()) };
        let rule = self.schema(rule, &format!("{path}/propertyNames"), depth)?;
        let of_rest = out.get("additionalProperties").cloned().unwrap_or_else(|| self.any());
        let allowed = rule.get("enum").and_then(Value::as_array).cloned();
        let allowed = allowed.or_else(|| rule.get("const").map(|name| vec![name.clone()]));
        let length = (rule.get("minLength").and_then(Value::as_u64), rule.get("maxLength").and_then(Value::as_u64));
        let pattern = rule.get("pattern").and_then(Value::as_str).map(str::to_owned).or(match length {
            (None, None) => None,
            (low, high) => {
                Some(format!("^.{{{},{}}}$", low.unwrap_or(0), high.map(|high| high.to_string()).unwrap_or_default()))
            }
        });
        if out.contains_key("patternProperties") {
            self.report(path, "`propertyNames` is not enforced beside `patternProperties`");
        } else if let Some(allowed) = allowed {
            let mut properties = out.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
            properties.retain(|name, _| allowed.iter().any(|allowed| allowed == name));
            for name in allowed.iter().filter_map(Value::as_str) {
                properties.entry(name).or_insert(of_rest.clone());
            }
            out.insert("properties".to_owned(), Value::Object(properties));
            out.insert("additionalProperties".to_owned(), Value::Bool(false));
        } else if let Some(pattern) = pattern.filter(|_| of_rest != Value::Bool(false)) {
            out.insert("patternProperties".to_owned(), json!({ pattern: of_rest }));
            out.insert("additionalProperties".to_owned(), Value::Bool(false));
        } else if rule.as_object().is_some_and(|rule| rule.keys().any(|key| key != "type")) {
            self.report(path, "`propertyNames` is not enforced");
        }
        Ok(())
    }
}

fn kinds(value: &Value, path: &str) -> Result<Value, SchemaError> {
    let is_kind = |kind: &Value| kind.as_str().is_some_and(|kind| TYPES.contains(&kind));
    let is_right = match value {
        Value::Array(kinds) => !kinds.is_empty() && kinds.iter().all(is_kind),
        kind => is_kind(kind),
    };
    let detail = || format!("`type` must be one or several of {}, not {value}", TYPES.join(", "));
    if is_right { Ok(value.clone()) } else { Err(SchemaError::new(path, detail())) }
}

/// Names of properties. A flag, as draft 3 has it, says nothing here.
fn names(value: &Value, path: &str) -> Result<Option<Value>, SchemaError> {
    match value {
        Value::Bool(_) => Ok(None),
        Value::Array(names) if names.iter().all(Value::is_string) => Ok(Some(value.clone())),
        _ => Err(SchemaError::new(path, "`required` must be an array of names")),
    }
}

fn values(value: &Value, path: &str) -> Result<Value, SchemaError> {
    match value {
        Value::Array(values) if !values.is_empty() => Ok(value.clone()),
        _ => Err(SchemaError::new(path, "`enum` must be an array of at least one value")),
    }
}

fn number(value: &Value, (key, path): (&str, &str)) -> Result<Value, SchemaError> {
    if value.is_number() { Ok(value.clone()) } else { Err(SchemaError::new(path, format!("`{key}` must be a number"))) }
}

/// A bound, unless draft 4 makes it an exclusive one.
fn bound(value: &Value, at: (&str, &str), map: &Map<String, Value>) -> Result<Option<Value>, SchemaError> {
    let exclusive = if at.0 == "minimum" { "exclusiveMinimum" } else { "exclusiveMaximum" };
    let number = number(value, at)?;
    Ok((map.get(exclusive) != Some(&Value::Bool(true))).then_some(number))
}

/// An exclusive bound; in draft 4 a flag beside the bound.
fn exclusive_bound(
    value: &Value,
    (plain, path): (&str, &str),
    map: &Map<String, Value>,
) -> Result<Option<Value>, SchemaError> {
    match value {
        Value::Bool(true) => Ok(map.get(plain).cloned().filter(Value::is_number)),
        Value::Bool(false) => Ok(None),
        _ => number(value, ("exclusive bounds", path)).map(Some),
    }
}
