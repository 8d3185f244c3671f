//! The answer to a call that failed: what is the same around the body that each dialect prints.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use crate::ApiError;

/// Notes a failure of ours in the log and gives the whole answer, with Retry-After where a new try makes sense.
pub fn response(error: &ApiError, body: Value) -> Response {
    if error.status().is_server_error() {
        tracing::warn!(%error, "a call failed");
    }
    let mut response = (error.status(), Json(body)).into_response();
    let headers = response.headers_mut();
    if let Some(seconds) = error.retry_after_s() {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    if error.status() == StatusCode::UNAUTHORIZED {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}
