//! Ollama: `/api/chat`, `/api/generate`, `/api/tags`, `/api/show`, `/api/ps`, `/api/version`.

mod absent;
mod answer;
mod chat;
pub mod error;
mod generate;
mod listing;
mod messages;
mod options;
mod printer;

use axum::Router;
use axum::routing::{any, get, post};

use crate::ServerState;

/// Where the dialect's paths start.
pub const PATHS: &str = "/api/";

/// All paths of the dialect.
pub fn routes() -> Router<ServerState> {
    let router = Router::new()
        .route("/api/chat", post(chat::create))
        .route("/api/generate", post(generate::create))
        .route("/api/tags", get(listing::tags))
        .route("/api/ps", get(listing::running))
        .route("/api/show", post(listing::show))
        .route("/api/version", get(listing::version));
    absent::PATHS.iter().fold(router, |router, path| router.route(path, any(absent::refuse)))
}
