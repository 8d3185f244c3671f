//! DRY, as llama.cpp and text-generation-webui name its parameters.

use serde_json::Value;
use tokbar_chat::Tokenizer;
use tokbar_engine::Dry;

use crate::ApiError;
use crate::fields::{Fields, must_be};

/// What every server that knows DRY has.
const BASE: f32 = 1.75;
const ALLOWED_LENGTH: usize = 2;
const BREAKERS: [&str; 4] = ["\n", ":", "\"", "*"];

/// Most sequence breakers, and the longest in bytes.
const N_BREAKERS_MAX: usize = 32;
const BREAKER_BYTES_MAX: usize = 64;

/// DRY, if it is on. Ranges of numbers are checked by the engine.
///
/// # Errors
/// Names the field of the wrong type, or the breakers when they are too many or too long.
pub fn dry(fields: &mut Fields, tokenizer: &Tokenizer) -> Result<Option<Dry>, ApiError> {
    let multiplier = fields.number("dry_multiplier")?.unwrap_or(0.0);
    let base = fields.number("dry_base")?.unwrap_or(BASE);
    let allowed_length = fields.integer("dry_allowed_length", 0..=i64::from(i32::MAX))?;
    let last_n = fields.integer("dry_penalty_last_n", -1..=i64::from(i32::MAX))?;
    let breakers = breakers(fields)?;
    if multiplier == 0.0 || last_n == Some(0) {
        return Ok(None);
    }
    let texts = breakers.unwrap_or_else(|| BREAKERS.map(str::to_owned).to_vec());
    Ok(Some(Dry {
        multiplier,
        base,
        allowed_length: allowed_length.and_then(|n| usize::try_from(n).ok()).unwrap_or(ALLOWED_LENGTH),
        // -1 looks at everything.
        last_n: last_n.and_then(|n| usize::try_from(n).ok()),
        breakers: tokenizer.breakers(&texts),
    }))
}

/// An array of strings, or one in a string of JSON.
fn breakers(fields: &mut Fields) -> Result<Option<Vec<String>>, ApiError> {
    let name = "dry_sequence_breakers";
    let path = fields.path(name);
    let texts = match fields.take(name) {
        None => return Ok(None),
        Some(Value::String(text)) => match serde_json::from_str(&text) {
            Ok(Value::Array(items)) => items,
            _ => vec![Value::String(text)],
        },
        Some(Value::Array(items)) => items,
        Some(other) => return Err(must_be(path, "an array of strings", &other)),
    };
    let text = |(idx, text): (usize, Value)| match text {
        Value::String(text) if !text.is_empty() && text.len() <= BREAKER_BYTES_MAX => Ok(text),
        Value::String(text) => {
            let detail = format!("must have between 1 and {BREAKER_BYTES_MAX} bytes, not {}", text.len());
            Err(ApiError::invalid(format!("{path}[{idx}]"), detail))
        }
        other => Err(must_be(format!("{path}[{idx}]"), "a string", &other)),
    };
    if texts.len() > N_BREAKERS_MAX {
        let detail = format!("has {} texts, but may have {N_BREAKERS_MAX}; send fewer", texts.len());
        return Err(ApiError::invalid(path, detail));
    }
    texts.into_iter().enumerate().map(text).collect::<Result<_, _>>().map(Some)
}
