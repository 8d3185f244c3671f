//! Anthropic: `/v1/messages`, `/v1/messages/count_tokens`, and its listing of models.

mod blocks;
mod count;
pub mod error;
mod messages;
pub mod models;
mod printer;
mod request;
mod system;
mod tools;
mod wire;

use axum::Router;
use axum::http::Uri;
use axum::routing::{any, post};

use crate::{ApiError, ServerState};

/// Where the dialect's own paths start.
pub const PATHS: &str = "/v1/messages";

/// All paths of the dialect but the listing of models, which it shares with OpenAI's.
pub fn routes() -> Router<ServerState> {
    Router::new()
        .route("/v1/messages", post(messages::create))
        .route("/v1/messages/count_tokens", post(count::create))
        .route("/v1/messages/batches", any(no_batches))
        .route("/v1/messages/batches/{*rest}", any(no_batches))
}

async fn no_batches(uri: Uri) -> error::Failure {
    let detail = "batches are not built; send the messages one by one, several at once if you like";
    ApiError::NotBuilt { path: uri.path().to_owned(), detail }.into()
}
