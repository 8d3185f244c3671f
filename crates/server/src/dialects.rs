//! One module per vendor's HTTP shape. A dialect maps its wire onto neutral types and events back; none imports another.
//! Where two vendors claim one path, this module tells their clients apart.

pub mod anthropic;
pub mod ollama;
pub mod openai;

use axum::Router;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::{ApiError, ServerState};

/// The paths of all dialects.
pub fn routes() -> Router<ServerState> {
    Router::new()
        .merge(anthropic::routes())
        .merge(ollama::routes())
        .merge(openai::routes())
        .route("/v1/models", get(list_models))
        .route("/v1/models/{*id}", get(retrieve_model))
}

/// An error in the shape of the dialect that owns `path`; OpenAI's where none does.
pub fn error_response(path: &str, error: &ApiError) -> Response {
    if path.starts_with(anthropic::PATHS) {
        anthropic::error::response(error)
    } else if path.starts_with(ollama::PATHS) {
        ollama::error::response(error)
    } else {
        openai::error::response(error)
    }
}

/// An error in the shape of the dialect that owns `path`, or else of the client that sent `headers`.
pub fn error_for(path: &str, headers: &HeaderMap, error: &ApiError) -> Response {
    if is_anthropic(headers) && !path.starts_with(ollama::PATHS) {
        anthropic::error::response(error)
    } else {
        error_response(path, error)
    }
}

/// Anthropic's clients name their version with every call.
fn is_anthropic(headers: &HeaderMap) -> bool {
    headers.contains_key("anthropic-version")
}

async fn list_models(State(state): State<ServerState>, headers: HeaderMap) -> Response {
    if is_anthropic(&headers) { anthropic::models::list(&state).await } else { openai::models::list(&state).await }
}

async fn retrieve_model(
    State(state): State<ServerState>,
    headers: HeaderMap,
    id: Result<Path<String>, PathRejection>,
) -> Response {
    let is_anthropic = is_anthropic(&headers);
    let Ok(Path(id)) = id else {
        let error = ApiError::invalid("model", "must be UTF-8 text in percent encoding");
        return if is_anthropic { anthropic::error::response(&error) } else { openai::error::response(&error) };
    };
    if is_anthropic {
        anthropic::models::retrieve(&state, &id).await.into_response()
    } else {
        openai::models::retrieve(&state, &id).await.into_response()
    }
}
