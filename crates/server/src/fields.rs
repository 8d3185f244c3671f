//! A JSON object read field by field, so that every error names the field and what stood there.

use std::ops::RangeInclusive;

use serde_json::{Map, Value};

use crate::ApiError;

/// The fields of one object that are not taken yet. `null` counts as absent everywhere.
#[derive(Debug)]
pub struct Fields {
    path: String,
    map: Map<String, Value>,
}

impl Fields {
    /// Opens the object at `path`; the whole body has the empty path.
    ///
    /// # Errors
    /// When `value` is no object.
    pub fn new(path: impl Into<String>, value: Value) -> Result<Self, ApiError> {
        let path = path.into();
        match value {
            Value::Object(map) => Ok(Self { path, map }),
            other if path.is_empty() => {
                Err(ApiError::Json { detail: format!("a JSON object is expected, not {}", kind(&other)) })
            }
            other => Err(must_be(path, "an object", &other)),
        }
    }

    /// The full path of a field of this object.
    pub fn path(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// Takes a field as it is.
    pub fn take(&mut self, name: &str) -> Option<Value> {
        self.map.get_mut(name).map(Value::take).filter(|value| !value.is_null())
    }

    /// Looks at a field without taking it.
    pub fn peek(&self, name: &str) -> Option<&Value> {
        self.map.get(name).filter(|value| !value.is_null())
    }

    /// # Errors
    /// When the field is no string.
    pub fn string(&mut self, name: &str) -> Result<Option<String>, ApiError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(must_be(self.path(name), "a string", &other)),
        }
    }

    /// # Errors
    /// When the field is absent or no string.
    pub fn required_string(&mut self, name: &str) -> Result<String, ApiError> {
        self.string(name)?.ok_or_else(|| ApiError::invalid(self.path(name), "is required and must be a string"))
    }

    /// # Errors
    /// When the field is neither `true` nor `false`.
    pub fn flag(&mut self, name: &str) -> Result<Option<bool>, ApiError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(other) => Err(must_be(self.path(name), "true or false", &other)),
        }
    }

    /// # Errors
    /// When the field is no number that fits an `f32`.
    pub fn number(&mut self, name: &str) -> Result<Option<f32>, ApiError> {
        let Some(value) = self.take(name) else { return Ok(None) };
        match value.as_f64().map(|number| number as f32).filter(|number| number.is_finite()) {
            Some(number) => Ok(Some(number)),
            None if value.is_number() => {
                let detail = format!("must be a number between {} and {}, not {value}", f32::MIN, f32::MAX);
                Err(ApiError::invalid(self.path(name), detail))
            }
            None => Err(must_be(self.path(name), "a number", &value)),
        }
    }

    /// A whole number; `100.0` counts as one.
    ///
    /// # Errors
    /// When the field is no whole number or outside `range`.
    pub fn integer(&mut self, name: &str, range: RangeInclusive<i64>) -> Result<Option<i64>, ApiError> {
        let Some(value) = self.take(name) else { return Ok(None) };
        match whole(&value) {
            Some(number) if range.contains(&number) => Ok(Some(number)),
            Some(number) => {
                let detail = format!("must be between {} and {}, not {number}", range.start(), range.end());
                Err(ApiError::invalid(self.path(name), detail))
            }
            None if value.is_number() => {
                let detail =
                    format!("must be a whole number between {} and {}, not {value}", range.start(), range.end());
                Err(ApiError::invalid(self.path(name), detail))
            }
            None => Err(must_be(self.path(name), "a whole number", &value)),
        }
    }

    /// # Errors
    /// When the field is no array.
    pub fn list(&mut self, name: &str) -> Result<Option<Vec<Value>>, ApiError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items)),
            Some(other) => Err(must_be(self.path(name), "an array", &other)),
        }
    }

    /// # Errors
    /// When the field is no object.
    pub fn object(&mut self, name: &str) -> Result<Option<Fields>, ApiError> {
        let path = self.path(name);
        self.take(name).map(|value| Fields::new(path, value)).transpose()
    }

    /// One string or several, as `stop` takes them.
    ///
    /// # Errors
    /// When the field is neither, or an item is no string.
    pub fn strings(&mut self, name: &str) -> Result<Vec<String>, ApiError> {
        let items = match self.take(name) {
            None => return Ok(Vec::new()),
            Some(Value::Array(items)) => items,
            Some(Value::String(text)) => return Ok(vec![text]),
            Some(other) => return Err(must_be(self.path(name), "a string or an array of strings", &other)),
        };
        let path = self.path(name);
        let string = |(idx, item)| match item {
            Value::String(text) => Ok(text),
            other => Err(must_be(format!("{path}[{idx}]"), "a string", &other)),
        };
        items.into_iter().enumerate().map(string).collect()
    }

    /// What is left, in the order sent.
    pub fn into_map(self) -> Map<String, Value> {
        self.map
    }
}

/// The value as a whole number, if it is one.
pub fn whole(value: &Value) -> Option<i64> {
    let from_float = |number: f64| (number.fract() == 0.0 && number.abs() < 9e15).then_some(number as i64);
    value.as_i64().or_else(|| value.as_f64().and_then(from_float))
}

/// The error of a value of the wrong type.
pub fn must_be(path: String, expected: &str, found: &Value) -> ApiError {
    ApiError::invalid(path, format!("must be {expected}, not {}", kind(found)))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
