//! Our own endpoints, of no vendor's dialect.

mod metrics;
mod models;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::json;

use crate::{ServerState, dialects};

const ABOUT: &str = concat!(
    "Tokbar ",
    env!("CARGO_PKG_VERSION"),
    " is running.\n\n",
    "GET  /health               is it up, and what is loaded\n",
    "GET  /ready                is a model loaded\n",
    "GET  /metrics              what the engine does (Prometheus)\n",
    "GET  /v1/models            the models served (OpenAI)\n",
    "POST /v1/chat/completions  chat (OpenAI)\n",
    "POST /v1/completions       continue text (OpenAI)\n",
    "POST /v1/responses         answer items (OpenAI)\n",
    "POST /v1/messages          chat (Anthropic)\n",
    "POST /api/chat             chat (Ollama)\n",
    "POST /api/generate         answer or continue text (Ollama)\n",
);

/// `/`, `/health` and `/ready`, open without a key, `/metrics`, and what manages the server.
pub fn routes() -> Router<ServerState> {
    Router::new()
        .route("/", get(about))
        .route("/health", get(health))
        .route("/ready", get(ready))
        .route("/metrics", get(metrics))
        .merge(models::routes())
}

async fn about() -> Response {
    ([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], ABOUT).into_response()
}

async fn health(State(state): State<ServerState>) -> Response {
    let models = state.models.all();
    Json(json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION"), "n_models": models.len() })).into_response()
}

/// Whether calls can be answered now: for whoever sends them here or elsewhere.
async fn ready(State(state): State<ServerState>) -> Response {
    match state.models.find(None) {
        Ok(model) => Json(json!({ "status": "ready", "model": model.id })).into_response(),
        Err(error) => dialects::error_response("/ready", &error),
    }
}

async fn metrics(State(state): State<ServerState>) -> Response {
    let text = metrics::text(state.models.all().iter().map(AsRef::as_ref));
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}
