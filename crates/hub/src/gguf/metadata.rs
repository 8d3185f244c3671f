//! Typed access to the key-value part of a GGUF file.

use std::collections::BTreeMap;

use super::error::ImportError;

/// One metadata value. Integers of every width widen to 64 bits, floats to f64.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Unsigned integer.
    Unsigned(u64),
    /// Signed integer.
    Signed(i64),
    /// f32 or f64.
    Float(f64),
    /// Boolean.
    Bool(bool),
    /// UTF-8 text.
    Text(String),
    /// Elements of one type.
    Array(Vec<Value>),
}

impl Value {
    fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Unsigned(n) => Some(*n),
            Self::Signed(n) => u64::try_from(*n).ok(),
            _ => None,
        }
    }

    fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Float(x) => Some(*x),
            Self::Unsigned(n) => Some(*n as f64),
            Self::Signed(n) => Some(*n as f64),
            _ => None,
        }
    }
}

/// The metadata of a file. Getters without `need` answer `None` for an absent key; a key of the wrong type is an error.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metadata(pub BTreeMap<String, Value>);

impl Metadata {
    /// Text under `key`.
    pub fn text(&self, key: &str) -> Result<Option<&str>, ImportError> {
        self.typed(key, "is not text", |value| match value {
            Value::Text(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// Boolean under `key`.
    pub fn flag(&self, key: &str) -> Result<Option<bool>, ImportError> {
        self.typed(key, "is not a boolean", |value| match value {
            Value::Bool(flag) => Some(*flag),
            _ => None,
        })
    }

    /// Count under `key`.
    pub fn count(&self, key: &str) -> Result<Option<u64>, ImportError> {
        self.typed(key, "is not a count", Value::as_u64)
    }

    /// Finite number under `key`.
    pub fn number(&self, key: &str) -> Result<Option<f64>, ImportError> {
        self.typed(key, "is not a finite number", |value| value.as_f64().filter(|x| x.is_finite()))
    }

    /// Array of text under `key`.
    pub fn texts(&self, key: &str) -> Result<Option<Vec<&str>>, ImportError> {
        self.array(key, "is not an array of text", |value| match value {
            Value::Text(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// Array of numbers under `key`.
    pub fn numbers(&self, key: &str) -> Result<Option<Vec<f64>>, ImportError> {
        self.array(key, "is not an array of numbers", Value::as_f64)
    }

    /// Count under `key`, or the single value of an array whose elements all agree (some converters write one per layer).
    pub fn uniform_count(&self, key: &str) -> Result<Option<u64>, ImportError> {
        let Some(Value::Array(_)) = self.0.get(key) else { return self.count(key) };
        let counts = self.array(key, "is not an array of counts", Value::as_u64)?.unwrap_or_default();
        match counts.split_first() {
            Some((first, rest)) if rest.iter().all(|n| n == first) => Ok(Some(*first)),
            Some(_) => Err(ImportError::UnsupportedFeature { feature: format!("a different `{key}` in each layer") }),
            None => Err(problem(key, "is empty")),
        }
    }

    /// What `get` found under `key`, or an error that it is missing.
    pub fn need<T>(&self, key: &str, found: Option<T>) -> Result<T, ImportError> {
        found.ok_or_else(|| problem(key, "is missing"))
    }

    fn typed<'a, T>(
        &'a self,
        key: &str,
        complaint: &str,
        get: impl Fn(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, ImportError> {
        let Some(value) = self.0.get(key) else { return Ok(None) };
        get(value).map(Some).ok_or_else(|| problem(key, complaint))
    }

    fn array<'a, T>(
        &'a self,
        key: &str,
        complaint: &str,
        get: impl Fn(&'a Value) -> Option<T>,
    ) -> Result<Option<Vec<T>>, ImportError> {
        self.typed(key, complaint, |value| match value {
            Value::Array(values) => values.iter().map(&get).collect(),
            _ => None,
        })
    }
}

fn problem(key: &str, problem: &str) -> ImportError {
    ImportError::Metadata { key: key.to_owned(), problem: problem.to_owned() }
}
