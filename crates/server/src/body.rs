//! From a request's body to a JSON value: bounded in type, size, time, encoding and depth.

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, header};
use futures::StreamExt;
use serde_json::Value;

use crate::{ApiError, ServerOptions};

/// Reads the body as JSON.
///
/// # Errors
/// Names what is wrong with the content type, the length, the pace, the encoding or the JSON. Nesting is bounded by the
/// parser (127 levels).
pub async fn read_json(options: &ServerOptions, request: Request) -> Result<Value, ApiError> {
    let (parts, body) = request.into_parts();
    check_content_type(&parts.headers)?;
    let reading = read(options.n_body_bytes_max, &parts.headers, body);
    let bytes = tokio::time::timeout(options.body_timeout, reading)
        .await
        .map_err(|_| ApiError::BodyTimeout { timeout_s: options.body_timeout.as_secs() })??;
    parse(&bytes)
}

fn check_content_type(headers: &HeaderMap) -> Result<(), ApiError> {
    let given = headers.get(header::CONTENT_TYPE).map_or("", |value| value.to_str().unwrap_or("?"));
    let essence = given.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
    let is_json = essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json"));
    if is_json { Ok(()) } else { Err(ApiError::ContentType { given: given.to_owned() }) }
}

/// Collects at most `n_max` bytes. A longer body is read on, unkept, for once its limit more: clients that write all
/// before they read would otherwise see a broken connection instead of the answer.
async fn read(n_max: usize, headers: &HeaderMap, body: Body) -> Result<Vec<u8>, ApiError> {
    let too_large = ApiError::BodyTooLarge { n_bytes_max: n_max };
    let declared = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    let is_declared_too_large = declared.is_some_and(|n| n > n_max as u64);
    if is_declared_too_large && headers.contains_key(header::EXPECT) {
        return Err(too_large);
    }
    let mut bytes = Vec::new();
    let mut n_read = 0;
    let mut frames = body.into_data_stream();
    while let Some(frame) = frames.next().await {
        let frame = frame.map_err(|error| ApiError::BodyLost { detail: error.to_string() })?;
        n_read += frame.len();
        if n_read > 2 * n_max {
            return Err(too_large);
        }
        if n_read <= n_max && !is_declared_too_large {
            bytes.extend_from_slice(&frame);
        } else {
            bytes = Vec::new();
        }
    }
    if n_read > n_max { Err(too_large) } else { Ok(bytes) }
}

fn parse(bytes: &[u8]) -> Result<Value, ApiError> {
    let text = std::str::from_utf8(bytes).map_err(|error| ApiError::NotUtf8 { offset: error.valid_up_to() })?;
    if text.trim_ascii().is_empty() {
        return Err(ApiError::Json { detail: "it is empty; send a JSON object".to_owned() });
    }
    serde_json::from_str(text).map_err(|error| ApiError::Json { detail: error.to_string() })
}

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;
