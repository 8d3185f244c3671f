//! Long prompts may go to a server in the cloud, if a person wants that: who goes, what comes back, and how it is marked.
//!
//! Off unless somebody is there who sends. What fails there is answered here, with a word about it.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::stream::{self, BoxStream, StreamExt};
use serde_json::{Value, json};
use tokbar_chat::Prompt;

use crate::control::CloudDialect;
use crate::lifecycle::Later;
use crate::{ApiError, ServedModel, ServerState, generate, sse};

/// Where a client says that a call stays here.
const ROUTE: HeaderName = HeaderName::from_static("x-tokbar-route");
/// Where an answer says that it came from elsewhere.
const ROUTED: HeaderName = HeaderName::from_static("x-tokbar-routed");
/// The same wish in a body, taken out before anybody reads on.
const FIELD: &str = "tokbar_route";
const STAY: &str = "local";
/// Longest answer that comes at once.
const N_BYTES_MAX: usize = 32 << 20;
/// Longest wait for the head of an answer.
const PATIENCE: Duration = Duration::from_secs(120);
/// Headers of a call that mean something there, too.
const PASSED: [&str; 2] = ["anthropic-version", "anthropic-beta"];

/// Sends calls to the cloud.
pub trait Upstream: Send + Sync {
    /// On what terms, now; `None` while nothing is sent.
    fn terms(&self) -> Option<CloudTerms>;

    /// Sends a call, and completes with the head of the answer.
    ///
    /// # Errors
    /// When the cloud cannot be reached.
    fn send(&self, call: CloudCall) -> Later<CloudAnswer>;
}

/// Which calls go to the cloud, and to whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloudTerms {
    /// What it speaks.
    pub dialect: CloudDialect,
    /// The model there.
    pub model: String,
    /// Tokens that would have to be computed here, from which on a call goes there.
    pub n_tokens: usize,
}

/// A call for the cloud.
#[derive(Clone, Debug, PartialEq)]
pub struct CloudCall {
    /// What it is sent as.
    pub dialect: CloudDialect,
    /// Headers beside the usual ones.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Value,
}

/// An answer of the cloud.
pub struct CloudAnswer {
    /// Its status.
    pub status: u16,
    /// What it is.
    pub content_type: String,
    /// Its bytes as they come, or why they end.
    pub body: BoxStream<'static, Result<Bytes, String>>,
}

/// A call that may go to the cloud.
pub struct Asked {
    upstream: Arc<dyn Upstream>,
    terms: CloudTerms,
    headers: HeaderMap,
    body: Value,
}

/// What became of a call.
pub enum Outcome {
    /// The cloud answers.
    Routed(Box<Response>),
    /// It stays here; with a word where it was to go.
    Stays(Option<String>),
}

/// Takes the client's wish out of the body, and keeps what would be sent; `None` for a call that stays anyway.
pub fn asked(state: &ServerState, dialect: CloudDialect, headers: &HeaderMap, body: &mut Value) -> Option<Asked> {
    let in_body = body.as_object_mut().and_then(|body| body.remove(FIELD));
    let upstream = state.parts.cloud.clone()?;
    let terms = upstream.terms().filter(|terms| terms.dialect == dialect)?;
    let in_header = headers.get(ROUTE).is_some_and(|route| route.as_bytes().eq_ignore_ascii_case(STAY.as_bytes()));
    let stays = in_header || in_body.as_ref().and_then(Value::as_str) == Some(STAY);
    (!stays).then(|| Asked { upstream, terms, headers: headers.clone(), body: body.clone() })
}

/// Sends a call on if its prompt is long enough.
///
/// # Errors
/// When the prompt cannot be made.
pub async fn offer(
    state: &ServerState,
    asked: Option<Asked>,
    model: &Arc<ServedModel>,
    prompt: Option<&Prompt>,
) -> Result<Outcome, ApiError> {
    let (Some(asked), Some(prompt)) = (asked, prompt) else { return Ok(Outcome::Stays(None)) };
    let n_tokens = generate::uncached(state, model, prompt.clone()).await?;
    if n_tokens < asked.terms.n_tokens {
        return Ok(Outcome::Stays(None));
    }
    let reason = format!("{n_tokens} tokens to compute, {} or more go to the cloud", asked.terms.n_tokens);
    let (name, dialect) = (asked.terms.model.clone(), asked.terms.dialect);
    tracing::info!(model = name, n_tokens, "a call goes to the cloud");
    let mark = Mark { model: name, reason, dialect };
    match tokio::time::timeout(PATIENCE, asked.send()).await {
        Ok(Ok(answer)) if (200..300).contains(&answer.status) => {
            Ok(Outcome::Routed(Box::new(mark.answer(answer).await)))
        }
        Ok(Ok(answer)) => Ok(stays(&format!("it answered with status {}", answer.status))),
        Ok(Err(error)) => Ok(stays(&error.to_string())),
        Err(_) => Ok(stays("it did not answer in time")),
    }
}

fn stays(why: &str) -> Outcome {
    Outcome::Stays(Some(format!("the cloud did not answer this call ({why}), so that it was answered here")))
}

impl Asked {
    async fn send(self) -> Result<CloudAnswer, ApiError> {
        let Self { upstream, terms, headers, mut body } = self;
        body["model"] = json!(terms.model);
        let passed = PASSED.iter().filter_map(|name| Some((*name, headers.get(*name)?.to_str().ok()?.to_owned())));
        upstream.send(CloudCall { dialect: terms.dialect, headers: passed.collect(), body }).await
    }
}

/// What tells that an answer came from elsewhere.
struct Mark {
    model: String,
    reason: String,
    dialect: CloudDialect,
}

impl Mark {
    /// The answer under our headers: a stream passes through as it is, behind a comment; JSON gets a field.
    async fn answer(self, answer: CloudAnswer) -> Response {
        let CloudAnswer { content_type, body, .. } = answer;
        let visible = |text: &str| -> String { text.chars().filter(|c| (' '..='~').contains(c)).take(256).collect() };
        let routed = HeaderValue::from_str(&format!("cloud {}", visible(&self.model)));
        let mut response = if content_type.starts_with("text/event-stream") {
            self.stream(body)
        } else {
            self.whole(body).await.unwrap_or_else(|error| crate::dialects::error_response(self.path(), &error))
        };
        response.headers_mut().insert(ROUTED, routed.unwrap_or(HeaderValue::from_static("cloud")));
        response
    }

    fn path(&self) -> &'static str {
        match self.dialect {
            CloudDialect::OpenAi => "/v1/chat/completions",
            CloudDialect::Anthropic => "/v1/messages",
        }
    }

    async fn whole(&self, mut body: BoxStream<'static, Result<Bytes, String>>) -> Result<Response, ApiError> {
        let failed = |detail: String| ApiError::Failed { detail };
        let mut bytes = Vec::new();
        while let Some(piece) = body.next().await {
            bytes.extend(piece.map_err(|error| failed(format!("the cloud's answer broke off: {error}; try again")))?);
            if bytes.len() > N_BYTES_MAX {
                return Err(failed("the cloud's answer is too long; ask for less".to_owned()));
            }
        }
        let not_json = |error| failed(format!("the cloud's answer is no JSON: {error}; check its address"));
        let mut answer: Value = serde_json::from_slice(&bytes).map_err(not_json)?;
        if let Some(fields) = answer.as_object_mut() {
            let mark = json!({ "routed": "cloud", "model": self.model, "reason": self.reason });
            fields.insert("tokbar".to_owned(), mark);
        }
        Ok((StatusCode::OK, axum::Json(answer)).into_response())
    }

    fn stream(&self, body: BoxStream<'static, Result<Bytes, String>>) -> Response {
        let line: String = self.reason.chars().filter(|c| !c.is_control()).collect();
        let first =
            Bytes::from(format!(": routed to the cloud, {}: {line}\n\n", self.model.replace(['\r', '\n'], " ")));
        let dialect = self.dialect;
        // After a piece that failed nothing follows.
        let pieces = body.scan(false, move |is_over, piece| {
            let piece = (!*is_over).then(|| {
                piece.unwrap_or_else(|error| {
                    *is_over = true;
                    broken(dialect, &error)
                })
            });
            std::future::ready(piece)
        });
        let all = stream::once(std::future::ready(first)).chain(pieces);
        let mut response = Response::new(Body::from_stream(all.map(Ok::<_, std::convert::Infallible>)));
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(sse::CONTENT_TYPE));
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
        response
    }
}

/// What a stream that breaks says in its dialect.
fn broken(dialect: CloudDialect, error: &str) -> Bytes {
    tracing::warn!(error, "a stream of the cloud broke");
    let error = ApiError::Failed { detail: format!("the cloud's answer broke off: {error}; send the call again") };
    let mut frames = b"\n\n".to_vec();
    match dialect {
        CloudDialect::OpenAi => sse::data(&crate::dialects::openai::error::body(&error), &mut frames),
        CloudDialect::Anthropic => {
            sse::event("error", &crate::dialects::anthropic::error::body(&error), &mut frames);
        }
    }
    Bytes::from(frames)
}
