//! Parameters that both endpoints share.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use tokbar_chat::StopStrings;
use tokbar_engine::SamplingOptions;

use super::dry;
use crate::fields::{Fields, must_be, whole};
use crate::{ApiError, ServedModel, ServerState, ids};

/// How tokens are chosen; ranges are checked by the engine. Log-probabilities are set by the endpoint.
///
/// # Errors
/// Names the field of the wrong type.
pub fn sampling(fields: &mut Fields, model: &ServedModel) -> Result<SamplingOptions, ApiError> {
    let defaults = &model.defaults;
    Ok(SamplingOptions {
        temperature: fields.number("temperature")?.unwrap_or(defaults.temperature),
        top_k: top_k(fields)?.unwrap_or(defaults.top_k),
        top_p: fields.number("top_p")?.unwrap_or(defaults.top_p),
        min_p: fields.number("min_p")?.unwrap_or(defaults.min_p),
        xtc_probability: fields.number("xtc_probability")?.unwrap_or(0.0),
        xtc_threshold: fields.number("xtc_threshold")?.unwrap_or(SamplingOptions::default().xtc_threshold),
        repetition_penalty: fields.number("repetition_penalty")?.unwrap_or(defaults.repetition_penalty),
        presence_penalty: fields.number("presence_penalty")?.unwrap_or(0.0),
        frequency_penalty: fields.number("frequency_penalty")?.unwrap_or(0.0),
        dry: dry::dry(fields, &model.text.tokenizer)?,
        logit_bias: logit_bias(fields)?,
        seed: fields.integer("seed", i64::MIN..=i64::MAX)?.map_or_else(ids::random, i64::cast_unsigned),
        n_logprobs: None,
    })
}

/// -1 and 0 mean all.
fn top_k(fields: &mut Fields) -> Result<Option<usize>, ApiError> {
    let top_k = fields.integer("top_k", -1..=i64::from(u32::MAX))?;
    Ok(top_k.map(|top_k| usize::try_from(top_k).unwrap_or(0)))
}

/// Tokens that one call may bias.
const N_BIASES_MAX: usize = 1024;

/// An object from token id to bias.
fn logit_bias(fields: &mut Fields) -> Result<BTreeMap<u32, f32>, ApiError> {
    let path = fields.path("logit_bias");
    let Some(biases) = fields.object("logit_bias")? else { return Ok(BTreeMap::new()) };
    let biases = biases.into_map();
    if biases.len() > N_BIASES_MAX {
        let detail = format!("has {} tokens, but may have {N_BIASES_MAX}; send fewer", biases.len());
        return Err(ApiError::invalid(path, detail));
    }
    let bias = |(token, bias): (String, Value)| {
        let id = token.parse::<u32>().map_err(|_| {
            ApiError::invalid(path.clone(), format!("must have token ids as keys, and {token:?} is none"))
        })?;
        match bias.as_f64() {
            Some(bias) => Ok((id, bias.clamp(-100.0, 100.0) as f32)),
            None => Err(must_be(format!("{path}.{token}"), "a number", &bias)),
        }
    };
    biases.into_iter().map(bias).collect()
}

/// # Errors
/// When `stop` is no string and no array of strings, or its strings are too many or too long.
pub fn stop(fields: &mut Fields) -> Result<StopStrings, ApiError> {
    StopStrings::new(fields.strings("stop")?)
        .map_err(|error| ApiError::invalid("stop", format!("cannot be used: {error}")))
}

/// Most tokens of the answer; -1 means as many as fit.
///
/// # Errors
/// When the field is no whole number or below `n_min`.
pub fn max_tokens(fields: &mut Fields, name: &str, n_min: i64) -> Result<Option<usize>, ApiError> {
    if fields.peek(name).and_then(whole) == Some(-1) {
        return Ok(Some(usize::MAX));
    }
    let n_tokens = fields.integer(name, n_min..=i64::from(u32::MAX))?;
    Ok(n_tokens.and_then(|n_tokens| usize::try_from(n_tokens).ok()))
}

/// Text that the answer may repeat: `prediction: {type: "content", content}`, where the content is a string or text parts.
///
/// # Errors
/// When it is of another type.
pub fn prediction(fields: &mut Fields) -> Result<Option<String>, ApiError> {
    let Some(mut prediction) = fields.object("prediction")? else { return Ok(None) };
    let kind = prediction.required_string("type")?;
    if kind != "content" {
        let detail = format!("must be \"content\", not {kind:?}");
        return Err(ApiError::invalid(prediction.path("type"), detail));
    }
    let path = prediction.path("content");
    match prediction.take("content") {
        Some(Value::String(text)) => Ok(Some(text)),
        Some(Value::Array(parts)) => {
            parts.iter().map(|part| text_part(part, &path)).collect::<Result<_, _>>().map(Some)
        }
        other => Err(must_be(path, "a string or an array of text parts", &other.unwrap_or(Value::Null))),
    }
}

fn text_part<'a>(part: &'a Value, path: &str) -> Result<&'a str, ApiError> {
    let text = part.get("text").and_then(Value::as_str);
    text.ok_or_else(|| must_be(path.to_owned(), "a string or an array of text parts", part))
}

/// A count of choices.
///
/// # Errors
/// When the field is no whole number from 1 on.
pub fn count(fields: &mut Fields, name: &str) -> Result<Option<usize>, ApiError> {
    let count = fields.integer(name, 1..=1024)?;
    Ok(count.and_then(|count| usize::try_from(count).ok()))
}

/// Seconds that the answer may take; the server's own limit holds if it is shorter.
///
/// # Errors
/// When the field is no number above 0.
pub fn timeout(fields: &mut Fields, state: &ServerState) -> Result<Option<Duration>, ApiError> {
    let limit = state.options.call_timeout;
    let Some(seconds) = fields.number("timeout")? else { return Ok(limit) };
    match Duration::try_from_secs_f32(seconds) {
        Ok(own) if !own.is_zero() => Ok(Some(limit.map_or(own, |limit| limit.min(own)))),
        _ => Err(ApiError::invalid("timeout", format!("must be a number of seconds above 0, not {seconds}"))),
    }
}

/// How the answer travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// In one piece.
    Whole,
    /// As events.
    Stream(UsageChunk),
}

/// Whether a stream ends with the counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsageChunk {
    /// `stream_options.include_usage` is true.
    Sent,
    /// It is not.
    Omitted,
}

/// # Errors
/// When `stream` or `stream_options` have the wrong type.
pub fn delivery(fields: &mut Fields) -> Result<Delivery, ApiError> {
    let is_stream = fields.flag("stream")?.unwrap_or(false);
    let wants_usage = match fields.object("stream_options")? {
        Some(mut options) => options.flag("include_usage")?.unwrap_or(false),
        None => false,
    };
    match (is_stream, wants_usage) {
        (false, _) => Ok(Delivery::Whole),
        (true, true) => Ok(Delivery::Stream(UsageChunk::Sent)),
        (true, false) => Ok(Delivery::Stream(UsageChunk::Omitted)),
    }
}

/// `min_tokens` is kept only where it cannot be broken: at 0, or when the answer goes on past EOS.
///
/// # Errors
/// When it asks for more.
pub fn min_tokens(fields: &mut Fields, ignores_eos: &Option<bool>) -> Result<(), ApiError> {
    let n_min = fields.integer("min_tokens", 0..=i64::from(u32::MAX))?.unwrap_or(0);
    if n_min == 0 || *ignores_eos == Some(true) {
        return Ok(());
    }
    Err(ApiError::unsupported("min_tokens", "the model may end earlier; leave it out, or send ignore_eos: true"))
}
