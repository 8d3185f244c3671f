//! Paths that OpenAI has and this server does not.

use axum::http::Uri;

use super::error::Failure;
use crate::ApiError;

/// Other kinds of models, and stores of things.
pub const PATHS: [&str; 16] = [
    "/v1/embeddings",
    "/v1/audio/{*rest}",
    "/v1/images/{*rest}",
    "/v1/videos",
    "/v1/videos/{*rest}",
    "/v1/moderations",
    "/v1/rerank",
    "/v1/realtime/{*rest}",
    "/v1/files",
    "/v1/files/{*rest}",
    "/v1/batches",
    "/v1/batches/{*rest}",
    "/v1/assistants",
    "/v1/conversations",
    "/v1/conversations/{*rest}",
    "/v1/responses/compact",
];

/// Tells what to do instead.
pub async fn refuse(uri: Uri) -> Failure {
    let path = uri.path();
    let detail = match path {
        "/v1/embeddings" => "embeddings are not built; use a server that has an embedding model",
        _ if path.starts_with("/v1/audio") => "audio is not built; use a server that has a speech model",
        _ if path.starts_with("/v1/conv") => "conversations are not kept; use previous_response_id, or send all items",
        _ => "this server chats, completes and answers only; the endpoints are listed at /",
    };
    ApiError::NotBuilt { path: path.to_owned(), detail }.into()
}
