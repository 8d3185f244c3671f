//! Parameters that would change the output and are not honoured: taken at the value that means "off", else refused by
//! name. Parameters in no list here (`user`, `metadata`, `store`, `service_tier`, `prompt_cache_key`,
//! ...) label a call or hint at speed, and are ignored.

use serde_json::Value;

use crate::ApiError;
use crate::fields::Fields;

/// When a parameter asks for nothing.
enum Off {
    /// At this number.
    Number(f64),
    /// At or below this number.
    AtMost(f64),
    /// At this truth value.
    Flag(bool),
    /// When it is an empty string, array or object.
    Empty,
    /// At one of these words.
    Words(&'static [&'static str]),
    /// As an array of this one word.
    List(&'static str),
}

const SAMPLERS: &str =
    "this sampler is not built in; leave it out or use temperature, top_p, top_k, min_p or a penalty";
const PHRASES: &str = "phrases cannot be banned yet; use logit_bias for single tokens";
const TEXT_ONLY: &str = "the answer is text only; leave it out";

/// Name, its off value, and what to do instead. Sorted by name.
const REFUSED: &[(&str, Off, &str)] = &[
    ("add_generation_prompt", Off::Flag(true), "the template always opens the answer; leave it out"),
    ("audio", Off::Empty, TEXT_ONLY),
    ("bad_words", Off::Empty, PHRASES),
    ("banned_strings", Off::Empty, PHRASES),
    ("banned_tokens", Off::Empty, "use logit_bias with -100 instead"),
    ("cfg_scale", Off::Number(1.0), SAMPLERS),
    ("continue_final_message", Off::Flag(false), "the answer is always a new message; leave it out"),
    ("documents", Off::Empty, "put the documents into the messages"),
    ("dynatemp_range", Off::Number(0.0), SAMPLERS),
    ("epsilon_cutoff", Off::Number(0.0), SAMPLERS),
    ("eta_cutoff", Off::Number(0.0), SAMPLERS),
    ("function_call", Off::Words(&["auto", "none"]), "use tools and tool_choice instead"),
    ("functions", Off::Empty, "use tools instead"),
    ("guidance_scale", Off::Number(1.0), SAMPLERS),
    ("include_stop_str_in_output", Off::Flag(false), "stop strings are never part of the answer; leave it out"),
    ("length_penalty", Off::Number(1.0), SAMPLERS),
    ("mirostat", Off::Number(0.0), SAMPLERS),
    ("mirostat_mode", Off::Number(0.0), SAMPLERS),
    ("modalities", Off::List("text"), TEXT_ONLY),
    ("no_repeat_ngram_size", Off::Number(0.0), SAMPLERS),
    ("prompt_logprobs", Off::Number(0.0), "use /v1/completions with echo and logprobs"),
    ("skip_special_tokens", Off::Flag(true), "special tokens are never part of the answer; leave it out"),
    ("smoothing_factor", Off::Number(0.0), SAMPLERS),
    ("tfs_z", Off::Number(1.0), SAMPLERS),
    ("top_a", Off::Number(0.0), SAMPLERS),
    ("top_n_sigma", Off::AtMost(0.0), SAMPLERS),
    ("truncate_prompt_tokens", Off::AtMost(0.0), "the prompt is never cut silently; send a shorter one"),
    ("typical_p", Off::Number(1.0), SAMPLERS),
    ("use_beam_search", Off::Flag(false), SAMPLERS),
    ("web_search_options", Off::Empty, "this server does not search the web; leave it out"),
];

/// # Errors
/// Names the first parameter that asks for something that is not done.
pub fn check(fields: &Fields) -> Result<(), ApiError> {
    for (name, off, advice) in REFUSED {
        if fields.peek(name).is_some_and(|value| !is_off(off, value)) {
            return Err(ApiError::unsupported(fields.path(name), *advice));
        }
    }
    Ok(())
}

fn is_off(off: &Off, value: &Value) -> bool {
    match off {
        Off::Number(number) => value.as_f64() == Some(*number),
        Off::AtMost(number) => value.as_f64().is_some_and(|value| value <= *number),
        Off::Flag(flag) => value.as_bool() == Some(*flag),
        Off::Empty => is_empty(value),
        Off::Words(words) => value.as_str().is_some_and(|value| words.contains(&value)),
        Off::List(word) => value.as_array().is_some_and(|items| items.iter().all(|item| item == word)),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}
