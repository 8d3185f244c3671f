//! What one event of a streamed chat says, from servers that all write it a little differently.

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// One event.
#[derive(Debug, Default, PartialEq)]
pub struct Chunk {
    /// New text of any kind: answer, thinking, or a call.
    pub text: String,
    /// The part of it that is the answer.
    pub content: String,
    /// Why the answer ended.
    pub finish: Option<String>,
    /// Counts.
    pub usage: Option<Usage>,
}

/// What the server counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The prompt.
    pub n_prompt: Option<usize>,
    /// Of it, taken from a cache.
    pub n_cached: Option<usize>,
    /// The answer.
    pub n_output: Option<usize>,
    /// Drafted tokens that were right.
    pub n_accepted: Option<usize>,
    /// Drafted tokens that were wrong.
    pub n_rejected: Option<usize>,
}

impl Chunk {
    /// Reads the data of an event.
    ///
    /// # Errors
    /// What is no JSON, and what the server says went wrong.
    pub fn read(data: &str) -> Result<Self> {
        let value: Value = serde_json::from_str(data).with_context(|| format!("an event is no JSON: {}", cut(data)))?;
        if let Some(error) = value.get("error").filter(|error| !error.is_null()) {
            bail!("the server says: {}", cut(&error_text(error)));
        }
        let choice = &value["choices"][0];
        let delta = &choice["delta"];
        let content = text(&delta["content"]).to_owned();
        let thinking = [text(&delta["reasoning_content"]), text(&delta["reasoning"])];
        let mut all = thinking.into_iter().find(|text| !text.is_empty()).unwrap_or_default().to_owned();
        all.push_str(&content);
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            all.push_str(text(&call["function"]["name"]));
            all.push_str(text(&call["function"]["arguments"]));
        }
        let finish = choice["finish_reason"].as_str().map(str::to_owned);
        Ok(Self { text: all, content, finish, usage: usage(&value) })
    }
}

/// Counts of a chunk or a whole answer; `timings` is where llama.cpp's server keeps them.
pub fn usage(answer: &Value) -> Option<Usage> {
    let (usage, timings) = (&answer["usage"], &answer["timings"]);
    if !usage.is_object() && !timings.is_object() {
        return None;
    }
    let count = |value: &Value| value.as_u64().and_then(|n| usize::try_from(n).ok());
    let prediction = &usage["completion_tokens_details"];
    let (n_drafted, n_right) = (count(&timings["draft_n"]), count(&timings["draft_n_accepted"]));
    Some(Usage {
        n_prompt: count(&usage["prompt_tokens"]),
        n_cached: count(&usage["prompt_tokens_details"]["cached_tokens"]),
        n_output: count(&usage["completion_tokens"]),
        n_accepted: count(&prediction["accepted_prediction_tokens"]).or(n_right),
        n_rejected: count(&prediction["rejected_prediction_tokens"])
            .or_else(|| Some(n_drafted?.saturating_sub(n_right?))),
    })
}

/// The message of an error object, or the whole of it.
pub fn error_text(error: &Value) -> String {
    let message = error["message"].as_str().or_else(|| error.as_str());
    message.map_or_else(|| error.to_string(), str::to_owned)
}

/// What fits a line of a terminal or two.
pub fn cut(text: &str) -> String {
    const N_CHARS_MAX: usize = 300;
    let mut short: String = text.trim().chars().take(N_CHARS_MAX).collect();
    if text.trim().chars().nth(N_CHARS_MAX).is_some() {
        short.push_str("...");
    }
    short
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
#[path = "chunk_tests.rs"]
mod tests;
