//! The UI's pages at `/`: files that were built in, under a policy that lets nothing else in. Must not know what they do.

use axum::Router;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::{ApiError, ServerState, dialects};

/// Paths with a leading slash, and contents; empty when the UI was not built before the program.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/ui.rs"));
const INDEX: &str = "/index.html";
/// What a page may do: run and style itself from its own files, and call this server. The app's window has its own
/// scheme besides.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
                      font-src 'self'; connect-src 'self' ipc: http://ipc.localhost; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";
/// Under it all names hold a hash of their content.
pub const ASSETS: &str = "/assets/";

/// The files that pages ask for; `/` itself is shared with programs, see [`page`].
pub fn routes() -> Router<ServerState> {
    Router::new().route("/assets/{*name}", get(asset))
}

/// The page, for a browser; `None` for programs, and where no UI is built in.
pub fn page(headers: &HeaderMap) -> Option<Response> {
    let accepted = headers.get(header::ACCEPT)?.to_str().ok()?;
    if !accepted.contains("text/html") {
        return None;
    }
    let mut response = answer(INDEX, file(FILES, INDEX)?);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    Some(response)
}

/// Whether pages can be shown.
pub fn is_built_in() -> bool {
    file(FILES, INDEX).is_some()
}

async fn asset(uri: Uri) -> Response {
    let Some(content) = file(FILES, uri.path()) else {
        let error = ApiError::NotFound { path: uri.path().to_owned() };
        return (StatusCode::NOT_FOUND, dialects::error_response(uri.path(), &error)).into_response();
    };
    let mut response = answer(uri.path(), content);
    let forever = HeaderValue::from_static("public, max-age=31536000, immutable");
    response.headers_mut().insert(header::CACHE_CONTROL, forever);
    response
}

fn file(files: &[(&'static str, &'static [u8])], path: &str) -> Option<&'static [u8]> {
    files.iter().find(|(name, _)| *name == path).map(|(_, content)| *content)
}

fn answer(path: &str, content: &'static [u8]) -> Response {
    let headers = [(header::CONTENT_TYPE, content_type(path)), (header::X_CONTENT_TYPE_OPTIONS, "nosniff")];
    (headers, content).into_response()
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "woff2" => "font/woff2",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
#[path = "web_tests.rs"]
mod tests;
