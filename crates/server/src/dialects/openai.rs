//! OpenAI: `/v1/models`, `/v1/chat/completions`, `/v1/completions`.

pub mod chat;
pub mod completions;
pub mod error;
mod events;
mod ids;
mod logprobs;
mod messages;
mod models;
mod parameters;
mod prompts;
mod ranking;
mod refused;
mod stream;
mod text_pieces;
mod wire;

use axum::Router;
use axum::routing::{get, post};

use crate::ServerState;

/// All paths of the dialect.
pub fn routes() -> Router<ServerState> {
    Router::new()
        .route("/v1/models", get(models::list))
        .route("/v1/models/{*id}", get(models::retrieve))
        .route("/v1/chat/completions", post(chat::create))
        .route("/v1/completions", post(completions::create))
}
