//! Paths that Ollama has and this server does not.

use axum::http::Uri;

use super::error::Failure;
use crate::ApiError;

/// Embeddings, and the keeping of models.
pub const PATHS: [&str; 8] = [
    "/api/embed",
    "/api/embeddings",
    "/api/pull",
    "/api/push",
    "/api/create",
    "/api/copy",
    "/api/delete",
    "/api/blobs/{digest}",
];

/// Tells what to do instead.
pub async fn refuse(uri: Uri) -> Failure {
    let detail = match uri.path() {
        "/api/embed" | "/api/embeddings" => "embeddings are not built; use a server that has an embedding model",
        _ => "models are kept with the `tokbar` command on the machine of the server",
    };
    ApiError::NotBuilt { path: uri.path().to_owned(), detail }.into()
}
