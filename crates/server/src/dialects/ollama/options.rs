//! What `/api/chat` and `/api/generate` share: the model's name, `options`, `think`, `keep_alive`, `format`.
//!
//! Options in no list here (`num_ctx`, `num_gpu`, `num_thread`, `num_keep`, `repeat_last_n`, ...) tune Ollama's own
//! engine, and are ignored.

use std::sync::Arc;

use serde_json::{Map, Value};
use tokbar_chat::{AnswerForm, StopStrings};
use tokbar_engine::SamplingOptions;

use crate::fields::{Fields, must_be};
use crate::{ApiError, ServedModel, ServerState};

/// Samplers that are not built in, with the value at which they do nothing.
const SAMPLERS: [(&str, f64); 3] = [("mirostat", 0.0), ("typical_p", 1.0), ("tfs_z", 1.0)];
/// The tag that Ollama gives to names without one.
const TAG: &str = ":latest";
/// Units of durations as Go writes them.
const UNITS: [&str; 7] = ["ns", "us", "µs", "ms", "s", "m", "h"];

/// How tokens are chosen and when the answer ends.
pub struct Options {
    /// How tokens are chosen.
    pub sampling: SamplingOptions,
    /// Most tokens of the answer.
    pub max_tokens: usize,
    /// End the answer.
    pub stop: StopStrings,
}

/// The model of a call, which Ollama's clients name with or without a tag.
///
/// # Errors
/// When the field is absent or no model has that name.
pub fn model(state: &ServerState, fields: &mut Fields) -> Result<Arc<ServedModel>, ApiError> {
    find(state, &name(fields)?)
}

/// The name alone.
///
/// # Errors
/// When it is absent.
pub fn name(fields: &mut Fields) -> Result<String, ApiError> {
    match fields.string("model")? {
        Some(name) => Ok(name),
        None => fields.required_string("name").map_err(|_| ApiError::invalid("model", "is required")),
    }
}

/// The model of that name.
///
/// # Errors
/// When there is none.
pub fn find(state: &ServerState, name: &str) -> Result<Arc<ServedModel>, ApiError> {
    state.models.find(Some(name)).or_else(|error| match bare(name) {
        Some(bare) => state.models.find(Some(bare)).map_err(|_| error),
        None => Err(error),
    })
}

/// A name without the tag that Ollama's clients add.
pub fn bare(name: &str) -> Option<&str> {
    name.strip_suffix(TAG)
}

/// # Errors
/// Names the option at fault.
pub fn options(model: &ServedModel, fields: &mut Fields) -> Result<Options, ApiError> {
    let own = model.defaults.options();
    let mut options = match fields.object("options")? {
        Some(options) => options,
        None => Fields::new("options", Value::Object(Map::new()))?,
    };
    for (name, off) in SAMPLERS {
        if options.number(name)?.is_some_and(|value| f64::from(value) != off) {
            let detail = "this sampler is not built in; leave it out or use temperature, top_p, top_k or min_p";
            return Err(ApiError::unsupported(options.path(name), detail));
        }
    }
    let top_k = options.integer("top_k", -1..=i64::from(u32::MAX))?;
    let seed = options.integer("seed", i64::MIN..=i64::MAX)?;
    let sampling = SamplingOptions {
        temperature: options.number("temperature")?.unwrap_or(own.temperature),
        top_k: top_k.map_or(own.top_k, |top_k| usize::try_from(top_k).unwrap_or(0)),
        top_p: options.number("top_p")?.unwrap_or(own.top_p),
        min_p: options.number("min_p")?.unwrap_or(own.min_p),
        repetition_penalty: options.number("repeat_penalty")?.unwrap_or(own.repetition_penalty),
        presence_penalty: options.number("presence_penalty")?.unwrap_or(own.presence_penalty),
        frequency_penalty: options.number("frequency_penalty")?.unwrap_or(own.frequency_penalty),
        seed: seed.map_or(own.seed, i64::cast_unsigned),
        ..own
    };
    let n_predict = options.integer("num_predict", -2..=i64::from(u32::MAX))?;
    // Negative: as much as fits.
    let max_tokens = n_predict.map_or(model.defaults.max_tokens, |n| usize::try_from(n).unwrap_or(usize::MAX));
    let stop = StopStrings::new(options.strings("stop")?)
        .map_err(|error| ApiError::invalid("options.stop", format!("cannot be used: {error}")))?;
    Ok(Options { sampling, max_tokens, stop })
}

/// The switches of the chat template that `think` sets.
///
/// # Errors
/// When `think` is neither a truth value nor a level, or the model does not think.
pub fn thinking(model: &ServedModel, fields: &mut Fields) -> Result<Map<String, Value>, ApiError> {
    let mut kwargs = Map::new();
    let thinks = match fields.take("think") {
        None => return Ok(kwargs),
        Some(Value::Bool(thinks)) => thinks,
        Some(Value::String(level)) if ["low", "medium", "high"].contains(&level.as_str()) => {
            kwargs.insert("reasoning_effort".to_owned(), Value::String(level));
            true
        }
        Some(other) => return Err(must_be("think".to_owned(), "true, false, \"low\", \"medium\" or \"high\"", &other)),
    };
    if thinks && !model.capabilities().contains(&"thinking") {
        return Err(ApiError::unsupported("think", format!("{:?} does not think; leave it out", model.id)));
    }
    kwargs.insert("enable_thinking".to_owned(), Value::Bool(thinks));
    Ok(kwargs)
}

/// Checks `keep_alive`, which has no effect: the model stays as long as the server runs.
///
/// # Errors
/// When it is no duration, or asks to drop the model in a call that asks for nothing else.
pub fn keep_alive(fields: &mut Fields, is_empty: &dyn Fn() -> bool) -> Result<(), ApiError> {
    let is_zero = match fields.take("keep_alive") {
        None => return Ok(()),
        Some(Value::Number(number)) => number.as_f64() == Some(0.0),
        Some(Value::String(text)) if is_duration(&text) => !text.contains(|c: char| ('1'..='9').contains(&c)),
        Some(Value::String(text)) => {
            let detail = format!("must be a duration such as \"5m\" or a number of seconds, not {text:?}");
            return Err(ApiError::invalid("keep_alive", detail));
        }
        Some(other) => return Err(must_be("keep_alive".to_owned(), "a duration or a number of seconds", &other)),
    };
    if is_zero && is_empty() {
        let detail = "the model stays loaded as long as the server runs; stop the server to free its memory";
        return Err(ApiError::unsupported("keep_alive", detail));
    }
    Ok(())
}

/// `-1`, `300`, `5m`, `1h30m`, `1.5s`.
fn is_duration(text: &str) -> bool {
    let mut rest = text.trim_start_matches(['-', '+']);
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let after = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        if after.len() == rest.len() {
            return false;
        }
        let unit = after.find(|c: char| c.is_ascii_digit() || c == '.').map_or(after, |at| &after[..at]);
        // A bare number counts seconds.
        let is_bare = unit.is_empty() && after.is_empty();
        if !is_bare && !UNITS.contains(&unit) {
            return false;
        }
        rest = &after[unit.len()..];
    }
    true
}

/// The form of the answer that `format` asks for.
///
/// # Errors
/// When it is neither `"json"` nor a schema.
pub fn form(fields: &mut Fields) -> Result<Option<AnswerForm>, ApiError> {
    match fields.take("format") {
        None => Ok(None),
        Some(Value::String(word)) if word.is_empty() => Ok(None),
        Some(Value::String(word)) if word == "json" => Ok(Some(AnswerForm::JsonObject)),
        Some(schema @ Value::Object(_)) => Ok(Some(AnswerForm::JsonSchema(schema))),
        Some(Value::String(word)) => {
            Err(ApiError::invalid("format", format!("must be \"json\" or a JSON schema, not {word:?}")))
        }
        Some(other) => Err(must_be("format".to_owned(), "\"json\" or a JSON schema", &other)),
    }
}

/// # Errors
/// When a field asks for what is not done.
pub fn refuse(fields: &mut Fields) -> Result<(), ApiError> {
    if fields.flag("logprobs")?.unwrap_or(false) || fields.integer("top_logprobs", 0..=i64::MAX)?.unwrap_or(0) > 0 {
        return Err(ApiError::unsupported("logprobs", "use /v1/chat/completions, which has them"));
    }
    Ok(())
}

#[cfg(test)]
#[path = "options_tests.rs"]
mod tests;
