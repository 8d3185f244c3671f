//! What an answer was not held to although the call asks for it: told in a header, as bodies are the vendors'.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::http::HeaderValue;
use axum::response::Response;

use crate::generation::Generation;

/// The header's name.
const HEADER: &str = "x-tokbar-notice";
/// Longest header.
const BYTES_MAX: usize = 2048;

/// Tells of an answer that was led to its end.
const CURTAILED: &str = "max_tokens left no room for a longer answer in this form, so it was led to its end";

/// Whether the tokens that it may have curtailed an answer; known once it has ended.
pub type Curtailed = Arc<AtomicBool>;

/// What is to be told of an answer.
pub struct Notices {
    texts: Vec<String>,
    curtailed: Vec<Curtailed>,
}

/// The notices of a call's sequences, each once.
pub fn of(generations: &[Generation]) -> Notices {
    let mut texts: Vec<String> = Vec::new();
    for notice in generations.iter().flat_map(Generation::notices) {
        if !texts.contains(notice) {
            texts.push(notice.clone());
        }
    }
    Notices { texts, curtailed: generations.iter().filter_map(Generation::curtailed).collect() }
}

/// Another one before those of a call's sequences.
pub fn with(first: Option<String>, generations: &[Generation]) -> Notices {
    let Notices { texts, curtailed } = of(generations);
    Notices { texts: first.into_iter().chain(texts).collect(), curtailed }
}

/// Adds the header to an answer, if there is anything to tell so far.
pub fn attach(mut answer: Response, notices: Notices) -> Response {
    let Notices { texts: mut notices, curtailed } = notices;
    if curtailed.iter().any(|curtailed| curtailed.load(Ordering::Acquire)) {
        notices.push(CURTAILED.to_owned());
    }
    if notices.is_empty() {
        return answer;
    }
    tracing::warn!(?notices, "an answer is held to less than was asked for");
    let visible = |character: char| if (' '..='~').contains(&character) { character } else { '?' };
    let text: String = notices.join("; ").chars().map(visible).take(BYTES_MAX).collect();
    if let Ok(value) = HeaderValue::from_str(&text) {
        answer.headers_mut().insert(HEADER, value);
    }
    answer
}
