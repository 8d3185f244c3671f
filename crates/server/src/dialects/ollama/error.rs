//! Errors as Ollama writes them: `{"error": "..."}`.

use axum::Json;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::ApiError;

/// What handlers return: prints itself.
#[derive(Debug)]
pub struct Failure(pub ApiError);

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Self {
        Self(error)
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        response(&self.0)
    }
}

/// Notes a failure of ours in the log and gives the whole answer, with Retry-After where a new try makes sense.
pub fn response(error: &ApiError) -> Response {
    if error.status().is_server_error() {
        tracing::warn!(%error, "a call failed");
    }
    let mut response = (error.status(), Json(body(error))).into_response();
    if let Some(seconds) = error.retry_after_s() {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// The JSON body; also the last line of a stream that breaks.
pub fn body(error: &ApiError) -> Value {
    json!({ "error": error.to_string() })
}
