//! What an answer was not held to although the call asks for it: told in a header, as bodies are the vendors'.

use axum::http::HeaderValue;
use axum::response::Response;

use crate::generation::Generation;

/// The header's name.
const HEADER: &str = "x-tokbar-notice";
/// Longest header.
const BYTES_MAX: usize = 2048;

/// The notices of a call's sequences, each once.
pub fn of(generations: &[Generation]) -> Vec<String> {
    let mut notices: Vec<String> = Vec::new();
    for notice in generations.iter().flat_map(Generation::notices) {
        if !notices.contains(notice) {
            notices.push(notice.clone());
        }
    }
    notices
}

/// Another one before those of a call's sequences.
pub fn with(first: Option<String>, generations: &[Generation]) -> Vec<String> {
    first.into_iter().chain(of(generations)).collect()
}

/// Adds the header to an answer, if there is anything to tell.
pub fn attach(mut answer: Response, notices: &[String]) -> Response {
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
