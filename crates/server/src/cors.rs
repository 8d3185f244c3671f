//! Web pages that may read answers: only origins that are listed, each named in full, and never with credentials.

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::ServerOptions;

/// The call's origin, if it is listed.
pub fn origin(options: &ServerOptions, headers: &HeaderMap) -> Option<HeaderValue> {
    let origin = headers.get(header::ORIGIN)?;
    let is_listed = options.allowed_origins.iter().any(|allowed| allowed.as_bytes() == origin.as_bytes());
    is_listed.then(|| origin.clone())
}

/// Whether a browser asks if a page may make a call.
pub fn is_preflight(parts: &Parts) -> bool {
    parts.method == Method::OPTIONS
        && parts.headers.contains_key(header::ORIGIN)
        && parts.headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// Tells a browser what pages of listed origins may send.
pub fn preflight() -> Response {
    let allowed = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, PATCH, DELETE"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "*, authorization, content-type, x-api-key"),
        (header::ACCESS_CONTROL_MAX_AGE, "600"),
    ];
    (StatusCode::NO_CONTENT, allowed).into_response()
}

/// Lets pages of a listed origin read the answer.
pub fn mark(origin: Option<HeaderValue>, headers: &mut HeaderMap) {
    let Some(origin) = origin else { return };
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::VARY, HeaderValue::from_static("Origin"));
}
