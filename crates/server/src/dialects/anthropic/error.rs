//! Errors as Anthropic writes them: `{"type": "error", "error": {type, message}}`.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::{ApiError, failure};

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

/// The whole answer.
pub fn response(error: &ApiError) -> Response {
    failure::response(error, body(error))
}

/// The JSON body; also the data of a stream's `error` event.
pub fn body(error: &ApiError) -> Value {
    json!({ "type": "error", "error": { "type": kind(error), "message": message(error) } })
}

/// Clients shorten the conversation when they read "prompt is too long" with these two numbers.
fn message(error: &ApiError) -> String {
    match error {
        ApiError::TooLong { n_prompt, n_context } => {
            format!("prompt is too long: {n_prompt} tokens > {n_context} maximum; {error}")
        }
        _ => error.message(),
    }
}

fn kind(error: &ApiError) -> &'static str {
    match error.status() {
        StatusCode::UNAUTHORIZED => "authentication_error",
        StatusCode::FORBIDDEN => "permission_error",
        StatusCode::NOT_FOUND => "not_found_error",
        StatusCode::PAYLOAD_TOO_LARGE => "request_too_large",
        StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
        StatusCode::SERVICE_UNAVAILABLE => "overloaded_error",
        StatusCode::GATEWAY_TIMEOUT => "timeout_error",
        status if status.is_server_error() => "api_error",
        _ => "invalid_request_error",
    }
}
