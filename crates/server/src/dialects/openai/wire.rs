//! Answers as OpenAI writes them.

use serde::{Serialize, Serializer};
use tokbar_chat::FinishReason;

/// What all chunks of an answer share.
#[derive(Clone, Debug, Serialize)]
pub struct Head {
    /// Names the call.
    pub id: String,
    /// The kind of answer or chunk.
    pub object: &'static str,
    /// Unix seconds.
    pub created: i64,
    /// The served id.
    pub model: String,
}

/// An answer or a chunk of one.
#[derive(Debug, Serialize)]
pub struct Answer<'a, C> {
    /// Same in all chunks.
    #[serde(flatten)]
    pub head: &'a Head,
    /// None in a usage chunk.
    pub choices: &'a [C],
    /// Absent in chunks of streams that end without counts; null in those before the last of streams with counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Option<Usage>>,
}

/// Counts of a call.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Usage {
    /// Of all prompts, each once.
    pub prompt_tokens: usize,
    /// Of all choices.
    pub completion_tokens: usize,
    /// Both.
    pub total_tokens: usize,
    /// How the prompt's tokens came.
    pub prompt_tokens_details: PromptDetails,
    /// How the answer's tokens came.
    pub completion_tokens_details: CompletionDetails,
}

/// How the prompt's tokens came.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PromptDetails {
    /// Taken from the cache of earlier calls.
    pub cached_tokens: usize,
}

/// How the answer's tokens came.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CompletionDetails {
    /// Drafts, of a prediction or of the server's own, that became part of the answer.
    pub accepted_prediction_tokens: usize,
    /// Drafts that did not. Unlike at OpenAI they are no part of `completion_tokens`.
    pub rejected_prediction_tokens: usize,
}

/// One choice of a chat answer.
#[derive(Debug, Serialize)]
pub struct ChatChoice {
    /// From 0.
    pub index: usize,
    /// The answer.
    pub message: ChatMessage,
    /// If asked for.
    pub logprobs: Option<ChatLogprobs>,
    /// Why it ended.
    pub finish_reason: &'static str,
}

/// The model's message.
#[derive(Debug, Serialize)]
pub struct ChatMessage {
    /// Always `assistant`.
    pub role: &'static str,
    /// The visible text; null beside calls alone.
    pub content: Option<String>,
    /// The thinking, if there was any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_content: Option<String>,
    /// Calls, if there were any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<MessageCall>,
    /// Always null: a local model's refusal is plain text.
    pub refusal: Option<String>,
}

impl Default for ChatMessage {
    fn default() -> Self {
        Self { role: "assistant", content: None, reasoning_content: None, tool_calls: Vec::new(), refusal: None }
    }
}

impl ChatMessage {
    /// A message of nothing at all has empty text rather than none, which clients take for a failure.
    pub fn close(&mut self) {
        if self.tool_calls.is_empty() {
            self.content.get_or_insert_default();
        }
    }
}

/// A call of a whole message.
#[derive(Debug, Serialize)]
pub struct MessageCall {
    /// Names the call.
    pub id: String,
    /// Always `function`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// What is called.
    pub function: FunctionText,
}

/// A function with its arguments.
#[derive(Debug, Serialize)]
pub struct FunctionText {
    /// Its name.
    pub name: String,
    /// JSON in a string.
    pub arguments: String,
}

/// One choice of a chat chunk.
#[derive(Debug, Serialize)]
pub struct ChunkChoice {
    /// From 0.
    pub index: usize,
    /// What is new.
    pub delta: Delta,
    /// If asked for.
    pub logprobs: Option<ChatLogprobs>,
    /// In the last chunk of the choice.
    pub finish_reason: Option<&'static str>,
}

/// What a chat chunk adds.
#[derive(Debug, Default, Serialize)]
pub struct Delta {
    /// In the first chunk of a choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<&'static str>,
    /// More visible text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// More thinking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_content: Option<String>,
    /// A new call, or more of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<[CallDelta; 1]>,
}

/// A new call, which has id, type and name; or more arguments of one.
#[derive(Debug, Serialize)]
pub struct CallDelta {
    /// Which call of the message.
    pub index: usize,
    /// Names the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Always `function`.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
    /// What is called.
    pub function: FunctionDelta,
}

/// A function's name, or more of its arguments.
#[derive(Debug, Serialize)]
pub struct FunctionDelta {
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// More JSON.
    pub arguments: String,
}

/// Scores of a chat choice.
#[derive(Debug, Default, Serialize)]
pub struct ChatLogprobs {
    /// One per token.
    pub content: Vec<ChatLogprob>,
    /// Always null.
    pub refusal: Option<Vec<ChatLogprob>>,
}

/// Score of one token, and of the likeliest in its place.
#[derive(Debug, Serialize)]
pub struct ChatLogprob {
    /// This one.
    #[serde(flatten)]
    pub token: TokenLogprob,
    /// Best first.
    pub top_logprobs: Vec<TokenLogprob>,
}

/// A token with its score.
#[derive(Debug, Serialize)]
pub struct TokenLogprob {
    /// Its text; broken UTF-8 as U+FFFD.
    pub token: String,
    /// Natural logarithm.
    pub logprob: f32,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// One choice of a completion, whole or a chunk.
#[derive(Debug, Serialize)]
pub struct TextChoice {
    /// From 0, prompt by prompt.
    pub index: usize,
    /// The text, or what is new of it.
    pub text: String,
    /// If asked for.
    pub logprobs: Option<TextLogprobs>,
    /// Null in all chunks but the last of the choice.
    pub finish_reason: Option<&'static str>,
}

/// Scores of a completion: four columns of one row per token.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TextLogprobs {
    /// Texts.
    pub tokens: Vec<String>,
    /// Natural logarithms; null for the first token of the prompt.
    pub token_logprobs: Vec<Option<f32>>,
    /// The likeliest tokens in its place, and itself.
    pub top_logprobs: Vec<Option<TopLogprobs>>,
    /// Characters before it.
    pub text_offset: Vec<usize>,
}

/// Texts with scores, written as an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TopLogprobs(pub Vec<(String, f32)>);

impl Serialize for TopLogprobs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(text, logprob)| (text, logprob)))
    }
}

/// OpenAI's word for why a choice ended.
pub fn finish_reason(reason: &FinishReason) -> &'static str {
    match reason {
        FinishReason::Stop => "stop",
        FinishReason::Length => "length",
        FinishReason::ToolCalls => "tool_calls",
    }
}
