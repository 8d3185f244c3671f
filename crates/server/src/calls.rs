//! One line of the log per call: its id, method, path and outcome. Queries, bodies and keys stay out of it.

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method};
use axum::response::Response;
use tokio::time::Instant;

use crate::guard::Caller;
use crate::ids;

/// The header under which OpenAI's clients look for the id.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The one of Anthropic's.
const PLAIN_REQUEST_ID: HeaderName = HeaderName::from_static("request-id");
/// Longest id that a client may choose.
const N_ID_MAX: usize = 128;

/// A call that is being answered.
pub struct Call {
    id: HeaderValue,
    method: Method,
    path: String,
    started: Instant,
}

impl Call {
    /// Takes the client's id if it is a plain one, else makes one.
    pub fn new(parts: &Parts) -> Self {
        let id = given(&parts.headers).unwrap_or_else(|| ids::unique("req_"));
        // An id is made of visible ASCII.
        let id = HeaderValue::from_str(&id).unwrap_or_else(|_| HeaderValue::from_static("req_"));
        Self { id, method: parts.method.clone(), path: parts.uri.path().to_owned(), started: Instant::now() }
    }

    /// Its id.
    pub fn id(&self) -> &str {
        self.id.to_str().unwrap_or("req_")
    }

    /// Notes who calls.
    pub fn caller(&self, caller: &Caller) {
        tracing::debug!(id = ?self.id, key = caller.0.as_deref().unwrap_or("none"), "admitted");
    }

    /// Notes the outcome and gives the answer its id. A stream's answer starts here and goes on.
    pub fn answered(self, response: &mut Response) {
        let Self { id, method, path, started } = self;
        let ms = started.elapsed().as_millis();
        tracing::debug!(?id, %method, path, status = response.status().as_u16(), ms, "answered");
        response.headers_mut().insert(REQUEST_ID, id.clone());
        response.headers_mut().insert(PLAIN_REQUEST_ID, id);
    }
}

fn given(headers: &HeaderMap) -> Option<String> {
    let id = headers.get(REQUEST_ID)?.to_str().ok()?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    ((1..=N_ID_MAX).contains(&id.len()) && id.chars().all(is_plain)).then(|| id.to_owned())
}
