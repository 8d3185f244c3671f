//! `/control/v1/logs`: what the program writes of itself, as it comes. Logs hold no prompts.

use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::Uri;
use axum::response::Response;
use axum::routing::get;
use futures::stream::{self, StreamExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use super::ask::{query, refuse};
use crate::worker::Closing;
use crate::{ApiError, ServerState, sse, stream as frames};

/// Lines that are told of the past, at most.
const N_TAIL_MAX: usize = 5000;
const N_TAIL: usize = 200;

/// Keeps the latest lines.
pub trait Logbook: Send + Sync {
    /// The last `n` lines at `level` or graver, and those to come.
    fn tail(&self, n: usize, level: LogLevel) -> (Vec<LogLine>, Receiver<LogLine>);
}

/// How grave a line is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    /// Something failed.
    Error,
    /// Something is not as it should be.
    Warn,
    /// What is going on.
    #[default]
    Info,
    /// Closely.
    Debug,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LogLine {
    /// When, in UTC.
    pub at: String,
    /// How grave.
    pub level: LogLevel,
    /// Which part of the program.
    pub target: String,
    /// What.
    pub message: String,
}

/// Which lines.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ForLines {
    /// The least grave; `info` by default.
    #[serde(default)]
    pub level: LogLevel,
    /// Lines of the past, up to 5000; 200 by default.
    #[serde(default)]
    pub tail: Option<usize>,
    /// Whether lines to come are told, too; yes by default.
    #[serde(default)]
    pub follow: Option<bool>,
}

/// The route.
pub fn routes() -> Router<ServerState> {
    Router::new().route("/control/v1/logs", get(lines))
}

async fn lines(State(state): State<ServerState>, uri: Uri) -> Response {
    let wanted: ForLines = match query(&uri) {
        Ok(wanted) => wanted,
        Err(error) => return refuse(&error),
    };
    let Some(book) = &state.parts.logbook else {
        let detail = "this server keeps no log; start it with `tokbar serve` or the app";
        return refuse(&ApiError::NotBuilt { path: "/control/v1/logs".to_owned(), detail });
    };
    let (past, to_come) = book.tail(wanted.tail.unwrap_or(N_TAIL).min(N_TAIL_MAX), wanted.level);
    let past = past.into_iter().map(|line| frame(&line));
    // A frame at once, so that the head of the answer is sent even where there is no line.
    let past = stream::iter(std::iter::once(Bytes::from_static(sse::COMMENT)).chain(past));
    if wanted.follow == Some(false) {
        return frames::response(past.boxed(), sse::CONTENT_TYPE);
    }
    let follow =
        Follow { to_come, level: wanted.level, period: state.options.keep_alive, closing: state.closing.clone() };
    frames::response(past.chain(stream::unfold(follow, Follow::next)).boxed(), sse::CONTENT_TYPE)
}

/// Lines to come.
struct Follow {
    to_come: Receiver<LogLine>,
    level: LogLevel,
    period: Duration,
    closing: Closing,
}

impl Follow {
    async fn next(mut self) -> Option<(Bytes, Self)> {
        loop {
            let line = tokio::select! {
                line = tokio::time::timeout(self.period, self.to_come.recv()) => line,
                () = self.closing.begun() => return None,
            };
            let frame = match line {
                Ok(Ok(line)) if line.level > self.level => continue,
                Ok(Ok(line)) => frame(&line),
                Ok(Err(RecvError::Lagged(_))) => continue,
                Ok(Err(RecvError::Closed)) => return None,
                Err(_) => Bytes::from_static(sse::COMMENT),
            };
            return Some((frame, self));
        }
    }
}

fn frame(line: &LogLine) -> Bytes {
    let mut bytes = Vec::new();
    sse::event("line", line, &mut bytes);
    Bytes::from(bytes)
}
