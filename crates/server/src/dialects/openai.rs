//! OpenAI: `/v1/models`, `/v1/chat/completions`, `/v1/completions`.

pub mod chat;
pub mod completions;
pub mod error;
mod events;
mod logprobs;
mod messages;
pub mod models;
mod parameters;
mod prompts;
mod ranking;
mod refused;
mod stream;
mod text_pieces;
mod wire;

use axum::Router;
use axum::routing::post;

use crate::ServerState;

/// All paths of the dialect but the listing of models, which it shares with Anthropic's.
pub fn routes() -> Router<ServerState> {
    Router::new().route("/v1/chat/completions", post(chat::create)).route("/v1/completions", post(completions::create))
}
