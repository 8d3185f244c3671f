//! What can go wrong with a call, free of any vendor's words; each dialect prints it in its own shape.

use axum::http::StatusCode;

use crate::near;

/// Most characters of an answer's message, and of a field's path: both repeat what was sent.
const N_MESSAGE_CHARS_MAX: usize = 2000;
const N_PARAM_CHARS_MAX: usize = 200;

/// Why a call is refused or has failed. The text names the cause and the next action.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ApiError {
    /// The Host header is absent or names a machine that this server is not.
    #[error(
        "the host {host:?} is not a name of this server: call it as localhost or 127.0.0.1, \
         or add the name to the server's allowed hosts"
    )]
    Host {
        /// As sent; empty if absent.
        host: String,
    },
    /// A web page of another site tries to call.
    #[error(
        "calls from the web page {origin:?} are refused: call from a program, from a page on localhost, \
         or add the page's host to the server's allowed hosts"
    )]
    Origin {
        /// As sent.
        origin: String,
    },
    /// No key came along.
    #[error("this server asks for an API key: send it as `Authorization: Bearer KEY` or `x-api-key: KEY`")]
    KeyMissing,
    /// A key came along and is not the right one.
    #[error("the API key is wrong: check the key in the client's settings against the server's")]
    KeyWrong,
    /// No such path.
    #[error("there is nothing at {path}: {}", near::advice(path))]
    NotFound {
        /// As asked.
        path: String,
    },
    /// The path exists, the method does not.
    #[error("{path} does not take {method}: see the Allow header for what it takes")]
    Method {
        /// As asked.
        method: String,
        /// As asked.
        path: String,
    },
    /// The body is not declared as JSON.
    #[error("the content type {given:?} is not accepted: send JSON with `Content-Type: application/json`")]
    ContentType {
        /// As sent; empty if absent.
        given: String,
    },
    /// The body is compressed.
    #[error("the content encoding {given:?} is not accepted: send the body uncompressed")]
    Encoding {
        /// As sent.
        given: String,
    },
    /// A key stands in the address, where logs and histories would keep it.
    #[error("the address holds a key in `{name}`: send it as `Authorization: Bearer KEY` or `x-api-key: KEY` instead")]
    KeyInAddress {
        /// The query's parameter.
        name: String,
    },
    /// One address tries too many wrong keys.
    #[error("more than {n_per_minute} wrong API keys came from here in a minute: try again in {retry_after_s} s")]
    TooManyWrongKeys {
        /// The limit.
        n_per_minute: u32,
        /// When to try again.
        retry_after_s: u64,
    },
    /// The key is right, but not for this.
    #[error("the API key may not do this: use a key with the scope \"manage\"")]
    KeyScope,
    /// The body is longer than the server takes.
    #[error("the body is larger than {n_bytes_max} bytes: send less, or raise the server's body limit")]
    BodyTooLarge {
        /// The limit.
        n_bytes_max: usize,
    },
    /// The body did not arrive in time.
    #[error("the body did not arrive within {timeout_s} s: send it in one go")]
    BodyTimeout {
        /// The limit.
        timeout_s: u64,
    },
    /// The connection broke while the body was read.
    #[error("the body could not be read ({detail}): send the call again")]
    BodyLost {
        /// What the connection said.
        detail: String,
    },
    /// The body is not UTF-8.
    #[error("the body is not UTF-8: byte {offset} starts no valid character; encode the JSON as UTF-8")]
    NotUtf8 {
        /// Where the first bad sequence starts.
        offset: usize,
    },
    /// The body is not JSON.
    #[error("the body is not valid JSON: {detail}")]
    Json {
        /// What is wrong and where (line and column from 1).
        detail: String,
    },
    /// A field has a value that cannot be used.
    #[error("`{param}` {detail}")]
    Invalid {
        /// Path of the field, such as `messages[2].content`.
        param: String,
        /// The rest of the sentence.
        detail: String,
    },
    /// A field asks for what this server or this model does not do.
    #[error("`{param}` is not supported: {detail}")]
    Unsupported {
        /// Path of the field.
        param: String,
        /// Why, and what to do instead.
        detail: String,
    },
    /// No model of that name is served.
    #[error("the model {name:?} is not served here: use {}", served_names(served))]
    UnknownModel {
        /// As asked.
        name: String,
        /// What is served.
        served: Vec<String>,
    },
    /// No model is loaded at all.
    #[error("no model is loaded: load one, then call again")]
    NoModel,
    /// The conversation cannot be written as a prompt.
    #[error("the prompt cannot be made: {detail}")]
    Prompt {
        /// The template's or tokenizer's word.
        detail: String,
    },
    /// The prompt alone fills the context.
    #[error(
        "the prompt has {n_prompt} tokens, but the model's context holds {n_context} tokens with the answer: \
         shorten the prompt or use a model with a longer context"
    )]
    TooLong {
        /// Tokens of the prompt.
        n_prompt: usize,
        /// Tokens that the context holds.
        n_context: usize,
    },
    /// Too much is waiting already.
    #[error("the server is busy and its queue is full: try again in {retry_after_s} s")]
    QueueFull {
        /// When to try again.
        retry_after_s: u64,
    },
    /// The model is on its way.
    #[error("the model {name:?} is still loading: try again in {retry_after_s} s")]
    Loading {
        /// Which one.
        name: String,
        /// When to try again.
        retry_after_s: u64,
    },
    /// The model is here, but the memory does not hold it.
    #[error("the model {name:?} cannot be loaded: {detail}")]
    NoRoom {
        /// Which one.
        name: String,
        /// The sum, and what to do.
        detail: String,
    },
    /// The model is here, but it cannot be loaded.
    #[error("the model {name:?} cannot be loaded: {detail}")]
    LoadFailed {
        /// Which one.
        name: String,
        /// Why.
        detail: String,
    },
    /// The machine is short of memory.
    #[error("this machine is short of memory: close other programs, or try again in {retry_after_s} s")]
    ShortOfMemory {
        /// When to try again.
        retry_after_s: u64,
    },
    /// One client calls too often.
    #[error("this client makes more than {n_per_minute} calls a minute: try again in {retry_after_s} s")]
    TooOften {
        /// The limit.
        n_per_minute: u32,
        /// When to try again.
        retry_after_s: u64,
    },
    /// The answer took longer than the caller or the server allows.
    #[error("the answer was not done within {timeout_s} s: ask for fewer tokens, or allow more time")]
    Timeout {
        /// The limit.
        timeout_s: f64,
    },
    /// An endpoint of the dialect that is not built.
    #[error("{path} is not available: {detail}")]
    NotBuilt {
        /// As asked.
        path: String,
        /// What to do instead.
        detail: &'static str,
    },
    /// No stored object of that id.
    #[error("{what} {id:?} is not kept here: {advice}")]
    NotKept {
        /// Its kind.
        what: &'static str,
        /// As asked.
        id: String,
        /// What to do instead.
        advice: &'static str,
    },
    /// The server is managed from its own machine only.
    #[error("this server is managed only from the machine it runs on: call it there, as localhost")]
    Elsewhere,
    /// The call was cancelled by whoever manages the server.
    #[error("the call was cancelled on the server: send it again if it is still wanted")]
    Cancelled,
    /// Something that whoever manages the server asked for cannot be done.
    #[error("{detail}")]
    Wish {
        /// What kind of obstacle there is.
        problem: Problem,
        /// The cause and the next action.
        detail: String,
    },
    /// The engine is going away.
    #[error("the server is shutting down: try again when it is back")]
    Stopping,
    /// The engine takes no more requests.
    #[error("the model has stopped ({reason}): load it again or restart the server")]
    EngineStopped {
        /// What the engine said.
        reason: String,
    },
    /// The engine failed.
    #[error("generation failed: {detail}")]
    Failed {
        /// What the engine said.
        detail: String,
    },
}

/// Why a wish of whoever manages the server is not granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// What it is about is not there.
    Missing,
    /// It must be agreed to first.
    NeedsConsent,
    /// What it is about is in use, or in a state that does not allow it.
    Busy,
    /// The network is switched off, or another machine refuses.
    Upstream,
    /// This machine refuses: the disk, the permissions, a file.
    Machine,
}

impl Problem {
    /// Its word in answers.
    pub fn code(self) -> &'static str {
        match self {
            Self::Missing => "not_found",
            Self::NeedsConsent => "needs_consent",
            Self::Busy => "busy",
            Self::Upstream => "upstream_failed",
            Self::Machine => "machine_refuses",
        }
    }

    fn status(self) -> StatusCode {
        match self {
            Self::Missing => StatusCode::NOT_FOUND,
            Self::NeedsConsent | Self::Busy => StatusCode::CONFLICT,
            Self::Upstream | Self::Machine => StatusCode::FAILED_DEPENDENCY,
        }
    }
}

impl ApiError {
    /// A wish that is not granted.
    pub fn wish(problem: Problem, detail: impl Into<String>) -> Self {
        Self::Wish { problem, detail: detail.into() }
    }

    /// A value that cannot be used; `detail` completes the sentence that starts with the field's name.
    pub fn invalid(param: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::Invalid { param: param.into(), detail: detail.into() }
    }

    /// A wish that is not honoured; `detail` says why and what to do.
    pub fn unsupported(param: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::Unsupported { param: param.into(), detail: detail.into() }
    }

    /// The HTTP status that every dialect uses.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Host { .. } | Self::Origin { .. } | Self::KeyScope | Self::Elsewhere => StatusCode::FORBIDDEN,
            Self::Cancelled => StatusCode::GONE,
            Self::Wish { problem, .. } => problem.status(),
            Self::KeyInAddress { .. } => StatusCode::BAD_REQUEST,
            Self::KeyMissing | Self::KeyWrong => StatusCode::UNAUTHORIZED,
            Self::NotFound { .. } | Self::UnknownModel { .. } | Self::NotKept { .. } => StatusCode::NOT_FOUND,
            Self::Method { .. } => StatusCode::METHOD_NOT_ALLOWED,
            Self::ContentType { .. } | Self::Encoding { .. } => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::BodyTooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::BodyTimeout { .. } => StatusCode::REQUEST_TIMEOUT,
            Self::BodyLost { .. } | Self::NotUtf8 { .. } | Self::Json { .. } => StatusCode::BAD_REQUEST,
            Self::Invalid { .. } | Self::Unsupported { .. } => StatusCode::BAD_REQUEST,
            Self::Prompt { .. } | Self::TooLong { .. } => StatusCode::BAD_REQUEST,
            Self::QueueFull { .. } | Self::TooOften { .. } | Self::TooManyWrongKeys { .. } => {
                StatusCode::TOO_MANY_REQUESTS
            }
            Self::Timeout { .. } => StatusCode::GATEWAY_TIMEOUT,
            Self::NotBuilt { .. } => StatusCode::NOT_IMPLEMENTED,
            Self::NoRoom { .. } => StatusCode::INSUFFICIENT_STORAGE,
            Self::LoadFailed { .. } => StatusCode::INTERNAL_SERVER_ERROR,
            Self::ShortOfMemory { .. } => StatusCode::SERVICE_UNAVAILABLE,
            Self::NoModel | Self::Loading { .. } | Self::Stopping | Self::EngineStopped { .. } => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Self::Failed { .. } => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// What the caller is told, however long the call was that it repeats.
    pub fn message(&self) -> String {
        shortened(&self.to_string(), N_MESSAGE_CHARS_MAX)
    }

    /// The field at fault, if one is.
    pub fn param(&self) -> Option<String> {
        match self {
            Self::Invalid { param, .. } | Self::Unsupported { param, .. } => Some(shortened(param, N_PARAM_CHARS_MAX)),
            Self::UnknownModel { .. } => Some("model".to_owned()),
            _ => None,
        }
    }

    /// Seconds after which a new try makes sense, for the Retry-After header.
    pub fn retry_after_s(&self) -> Option<u64> {
        match self {
            Self::QueueFull { retry_after_s }
            | Self::Loading { retry_after_s, .. }
            | Self::ShortOfMemory { retry_after_s }
            | Self::TooManyWrongKeys { retry_after_s, .. }
            | Self::TooOften { retry_after_s, .. } => Some(*retry_after_s),
            Self::NoModel | Self::Stopping => Some(5),
            _ => None,
        }
    }
}

fn served_names(served: &[String]) -> String {
    let names: Vec<String> = served.iter().map(|name| format!("{name:?}")).collect();
    if names.is_empty() {
        "a loaded model (none is)".to_owned()
    } else {
        format!("\"default\" or {}", names.join(", "))
    }
}

/// The start and the end of a text that is longer: the cause stands first in a message, the next action last.
fn shortened(text: &str, n_chars_max: usize) -> String {
    let n_chars = text.chars().count();
    if n_chars <= n_chars_max {
        return text.to_owned();
    }
    let n_half = n_chars_max / 2;
    let (start, end) = (text.chars().take(n_half), text.chars().skip(n_chars - n_half));
    start.chain([' ', '…', ' ']).chain(end).collect()
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
