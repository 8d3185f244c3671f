//! Updates of a call's sequences as one stream, and that stream as the frames of an answer. Knows no vendor's words.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::Response;
use futures::stream::{self, BoxStream, StreamExt};
use tokio::time::Instant;

use crate::ApiError;
use crate::generation::{Generation, Update};

/// Updates with the index of their sequence.
pub type Updates = BoxStream<'static, (usize, Update)>;

/// Turns updates into frames.
pub trait Printer: Send + 'static {
    /// Appends what comes before the first update; it is sent while the prompt is still computed.
    fn open(&mut self, _frames: &mut Vec<u8>) {}

    /// Appends the frames of an update that is no failure.
    fn print(&mut self, idx: usize, update: Update, frames: &mut Vec<u8>);

    /// Appends what fills a silence; clients must be able to skip it.
    fn keep_alive(&mut self, frames: &mut Vec<u8>);

    /// Appends what follows the last sequence's finish.
    fn end(&mut self, frames: &mut Vec<u8>);

    /// Appends what tells of a failure; nothing follows it.
    fn fail(&mut self, error: &ApiError, frames: &mut Vec<u8>);
}

/// All sequences, interleaved as they come. After `timeout` from now a failure ends the stream.
pub fn updates(generations: Vec<Generation>, timeout: Option<Duration>) -> Updates {
    let streams = generations.into_iter().enumerate().map(|(idx, generation)| generation.into_stream(idx));
    limited(stream::select_all(streams).boxed(), timeout)
}

fn limited(updates: Updates, timeout: Option<Duration>) -> Updates {
    let Some((timeout, deadline)) = timeout.and_then(|limit| Some((limit, Instant::now().checked_add(limit)?))) else {
        return updates;
    };
    let next = move |updates: Option<Updates>| async move {
        let mut updates = updates?;
        match tokio::time::timeout_at(deadline, updates.next()).await {
            Ok(update) => update.map(|update| (update, Some(updates))),
            Err(_) => Some(((0, Update::Failed(ApiError::Timeout { timeout_s: timeout.as_secs_f64() })), None)),
        }
    };
    stream::unfold(Some(updates), next).boxed()
}

/// Where a stream of frames stands.
enum Stage<P> {
    Fresh(Updates, P),
    Running(Updates, P),
    Over,
}

/// The frames of a whole answer; a silence of `period` is filled. Dropping it cancels all sequences.
pub fn frames<P: Printer>(updates: Updates, printer: P, period: Duration) -> BoxStream<'static, Bytes> {
    let next = move |stage: Stage<P>| async move {
        let mut frames = Vec::new();
        let stage = match stage {
            Stage::Over => return None,
            Stage::Fresh(updates, mut printer) => {
                printer.open(&mut frames);
                Stage::Running(updates, printer)
            }
            Stage::Running(mut updates, mut printer) => {
                let update = tokio::time::timeout(period, updates.next()).await;
                let goes_on = print(&mut printer, update.ok(), &mut frames);
                if goes_on { Stage::Running(updates, printer) } else { Stage::Over }
            }
        };
        Some((Bytes::from(frames), stage))
    };
    stream::unfold(Stage::Fresh(updates, printer), next).filter(|frame| std::future::ready(!frame.is_empty())).boxed()
}

/// Prints what came; `None` is a silence, `Some(None)` the end. False when nothing follows.
fn print(printer: &mut impl Printer, update: Option<Option<(usize, Update)>>, frames: &mut Vec<u8>) -> bool {
    match update {
        None => printer.keep_alive(frames),
        Some(Some((_, Update::Failed(failure)))) => {
            tracing::warn!(error = %failure, "a stream failed");
            printer.fail(&failure, frames);
            return false;
        }
        Some(Some((idx, update))) => printer.print(idx, update, frames),
        Some(None) => {
            printer.end(frames);
            return false;
        }
    }
    true
}

/// Answers with frames as they come, under headers that keep proxies from buffering.
pub fn response(frames: BoxStream<'static, Bytes>, content_type: &'static str) -> Response {
    let mut response = Response::new(Body::from_stream(frames.map(Ok::<_, std::convert::Infallible>)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
