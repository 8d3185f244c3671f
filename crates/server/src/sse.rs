//! Server-sent events: framing and the media type.

use serde::Serialize;

/// The media type of a stream of events.
pub const CONTENT_TYPE: &str = "text/event-stream; charset=utf-8";

/// What clients skip.
pub const COMMENT: &[u8] = b": keep-alive\n\n";

/// Appends one frame that is only data.
pub fn data(value: &impl Serialize, frames: &mut Vec<u8>) {
    frames.extend_from_slice(b"data: ");
    json(value, frames);
    frames.extend_from_slice(b"\n\n");
}

/// Appends one frame with the name of its event.
pub fn event(name: &str, value: &impl Serialize, frames: &mut Vec<u8>) {
    frames.extend_from_slice(b"event: ");
    frames.extend_from_slice(name.as_bytes());
    frames.push(b'\n');
    data(value, frames);
}

/// Appends a value as JSON, which has no line breaks.
pub fn json(value: &impl Serialize, frames: &mut Vec<u8>) {
    // Our own types with string keys: nothing in them can fail to serialize.
    serde_json::to_writer(frames, value).expect("an answer is plain JSON");
}

#[cfg(test)]
#[path = "sse_tests.rs"]
mod tests;
