//! All endpoints: the dialects and our own, one guard before them all.

use axum::Router;
use axum::http::{HeaderMap, Method, Uri};
use axum::middleware::from_fn_with_state;
use axum::response::Response;

use crate::guard::guard;
use crate::{ApiError, ServerState, control, dialects, web};

/// The whole HTTP surface. Wrong paths and methods are answered in the dialect that owns the path.
pub fn router(state: ServerState) -> Router {
    Router::new()
        .merge(control::routes())
        .merge(dialects::routes())
        .merge(web::routes())
        .fallback(no_path)
        .method_not_allowed_fallback(no_method)
        .layer(from_fn_with_state(state.clone(), guard))
        .with_state(state)
}

async fn no_path(uri: Uri, headers: HeaderMap) -> Response {
    dialects::error_for(uri.path(), &headers, &ApiError::NotFound { path: uri.path().to_owned() })
}

async fn no_method(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let error = ApiError::Method { method: method.to_string(), path: uri.path().to_owned() };
    dialects::error_for(uri.path(), &headers, &error)
}
