//! Server-sent events: framing, keep-alive comments, and headers that keep proxies from buffering.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::Response;
use futures::stream::{self, BoxStream, Stream, StreamExt};
use serde::Serialize;

const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";

/// Answers with a stream of frames; dropping the body drops `frames` at once.
pub fn response(frames: BoxStream<'static, Bytes>, keep_alive: Duration) -> Response {
    let body = with_keep_alive(frames, keep_alive).map(Ok::<_, std::convert::Infallible>);
    let mut response = Response::new(Body::from_stream(body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

/// Appends one `data:` frame.
pub fn data(value: &impl Serialize, frames: &mut Vec<u8>) {
    frames.extend_from_slice(b"data: ");
    // Our own types with string keys: nothing in them can fail to serialize.
    serde_json::to_writer(&mut *frames, value).expect("an answer is plain JSON");
    frames.extend_from_slice(b"\n\n");
}

/// Fills silences of `period` with a comment, which clients skip.
fn with_keep_alive(frames: BoxStream<'static, Bytes>, period: Duration) -> impl Stream<Item = Bytes> {
    stream::unfold(frames, move |mut frames| async move {
        match tokio::time::timeout(period, frames.next()).await {
            Ok(frame) => frame.map(|frame| (frame, frames)),
            Err(_) => Some((Bytes::from_static(KEEP_ALIVE), frames)),
        }
    })
}

#[cfg(test)]
#[path = "sse_tests.rs"]
mod tests;
