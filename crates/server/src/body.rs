//! From a request's body to a JSON value: bounded in type, size, time, encoding and depth, and in memory over all calls.

use std::error::Error;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, header};
use futures::StreamExt;
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{ApiError, ServerState, json};

/// Bodies up to this are parsed in place; longer ones would hold up other calls.
const N_BYTES_IN_PLACE: usize = 64 << 10;
/// Deepest nesting of a body.
const DEPTH_MAX: usize = 127;
/// Most values of a body: enough for a long context as token ids.
const N_VALUES_MAX: usize = 1 << 20;
/// Memory is set aside in pieces of this size.
const N_BYTES_PER_PERMIT: usize = 1 << 10;

/// Memory for all bodies that are being read.
#[derive(Clone, Debug)]
pub struct BodyRoom {
    permits: Arc<Semaphore>,
}

impl BodyRoom {
    /// For so many bytes in all.
    pub fn new(n_bytes: usize) -> Self {
        let n_permits = (n_bytes / N_BYTES_PER_PERMIT).min(Semaphore::MAX_PERMITS);
        Self { permits: Arc::new(Semaphore::new(n_permits)) }
    }

    /// `None` when the room is used up.
    fn take(&self, n_bytes: usize) -> Option<OwnedSemaphorePermit> {
        let n_permits = u32::try_from(n_bytes.div_ceil(N_BYTES_PER_PERMIT)).ok()?;
        Arc::clone(&self.permits).try_acquire_many_owned(n_permits).ok()
    }
}

/// Reads the body of a call to a model as JSON, and has that model loaded if it is not yet.
///
/// # Errors
/// As [`read_body`], and when there is no room for the model.
pub async fn read_json(state: &ServerState, request: Request) -> Result<Value, ApiError> {
    let body = read_body(state, request).await?;
    let name = ["model", "name"].iter().find_map(|field| body.get(field)?.as_str());
    state.models.want(name).await?;
    Ok(body)
}

/// Reads the body as JSON.
///
/// # Errors
/// Names what is wrong with the content type, the length, the pace, the encoding or the JSON.
pub async fn read_body(state: &ServerState, request: Request) -> Result<Value, ApiError> {
    let (parts, body) = request.into_parts();
    check_content_type(&parts.headers)?;
    check_encoding(&parts.headers)?;
    let timeout = state.options.body_timeout;
    let read = tokio::time::timeout(timeout, read(state, &parts.headers, body)).await;
    // What was set aside stays so until the text is parsed.
    let (bytes, _room) = read.map_err(|_| ApiError::BodyTimeout { timeout_s: timeout.as_secs() })??;
    if bytes.len() <= N_BYTES_IN_PLACE { parse(&bytes) } else { state.text_jobs.run(move || parse(&bytes)).await? }
}

fn check_content_type(headers: &HeaderMap) -> Result<(), ApiError> {
    let given = headers.get(header::CONTENT_TYPE).map_or("", |value| value.to_str().unwrap_or("?"));
    let essence = given.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
    let is_json = essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json"));
    if is_json { Ok(()) } else { Err(ApiError::ContentType { given: given.to_owned() }) }
}

/// A compressed body could be any number of times larger than it looks.
fn check_encoding(headers: &HeaderMap) -> Result<(), ApiError> {
    let mut given = headers.get_all(header::CONTENT_ENCODING).iter().map(|value| value.to_str().unwrap_or("?").trim());
    match given.rfind(|given| !given.is_empty() && !given.eq_ignore_ascii_case("identity")) {
        Some(given) => Err(ApiError::Encoding { given: given.to_owned() }),
        None => Ok(()),
    }
}

/// Collects a body up to the limit. A longer one is read on, unkept, for once the limit more: clients that write all
/// before they read would otherwise see a broken connection instead of the answer.
async fn read(
    state: &ServerState,
    headers: &HeaderMap,
    body: Body,
) -> Result<(Vec<u8>, Option<OwnedSemaphorePermit>), ApiError> {
    let n_max = state.options.n_body_bytes_max;
    let too_large = ApiError::BodyTooLarge { n_bytes_max: n_max };
    let declared = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    let is_declared_too_large = declared.is_some_and(|n| n > n_max as u64);
    if is_declared_too_large && headers.contains_key(header::EXPECT) {
        return Err(too_large);
    }
    let (mut bytes, mut room, mut n_read) = (Vec::new(), None, 0);
    let mut frames = body.into_data_stream();
    while let Some(frame) = frames.next().await {
        let frame = frame.map_err(|error| ApiError::BodyLost { detail: cause(&error) })?;
        n_read += frame.len();
        if n_read > 2 * n_max {
            return Err(too_large);
        }
        if n_read > n_max || is_declared_too_large {
            (bytes, room) = (Vec::new(), None);
            continue;
        }
        let full = ApiError::QueueFull { retry_after_s: state.options.retry_after_s };
        let more = state.body_room.take(frame.len()).ok_or(full)?;
        match &mut room {
            Some(room) => OwnedSemaphorePermit::merge(room, more),
            None => room = Some(more),
        }
        bytes.extend_from_slice(&frame);
    }
    if n_read > n_max { Err(too_large) } else { Ok((bytes, room)) }
}

/// What lies under a library's word for it.
fn cause(error: &dyn Error) -> String {
    error.source().map_or_else(|| error.to_string(), cause)
}

fn parse(bytes: &[u8]) -> Result<Value, ApiError> {
    let text = std::str::from_utf8(bytes).map_err(|error| ApiError::NotUtf8 { offset: error.valid_up_to() })?;
    // Some programs open their texts with a mark of the encoding.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim_ascii().is_empty() {
        return Err(ApiError::Json { detail: "it is empty; send a JSON object".to_owned() });
    }
    check_shape(text)?;
    json::read(text).map_err(|error| ApiError::Json { detail: error.to_string() })
}

/// Values take many times the memory of their text: their number is bounded before they are made. Depth is, too, so that
/// both limits hold whatever the parser does.
fn check_shape(text: &str) -> Result<(), ApiError> {
    let (mut depth, mut n_values, mut is_string, mut is_escaped) = (0_usize, 0_usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_string => is_escaped = true,
            b'"' => is_string = !is_string,
            _ if is_string => {}
            b'{' | b'[' => (depth, n_values) = (depth + 1, n_values + 1),
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' => n_values += 1,
            _ => {}
        }
        if depth > DEPTH_MAX {
            let detail = format!("it is nested deeper than {DEPTH_MAX} levels (recursion limit); send it flatter");
            return Err(ApiError::Json { detail });
        }
        if n_values > N_VALUES_MAX {
            return Err(ApiError::Json { detail: format!("it has more than {N_VALUES_MAX} values; send fewer") });
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;
