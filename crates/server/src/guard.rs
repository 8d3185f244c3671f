//! Who may call: Host and Origin checks against DNS rebinding and foreign web pages, and the API key.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, Method, header};
use axum::middleware::Next;
use axum::response::Response;
use subtle::{Choice, ConstantTimeEq};

use crate::{ApiError, HostAddresses, ServerOptions, ServerState, dialects};

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// Paths that answer without a key: they tell nothing but that the server is up.
const OPEN_PATHS: [&str; 2] = ["/", "/health"];

/// Lets a call through or answers it with the refusal in its dialect's shape.
pub async fn guard(State(state): State<ServerState>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let (method, path) = (parts.method.clone(), parts.uri.path().to_owned());
    let response = match check(&state.options, &parts) {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(error) => dialects::error_response(&path, &error),
    };
    tracing::debug!(%method, path, status = response.status().as_u16(), "answered");
    response
}

/// # Errors
/// The first rule that the call breaks: Host, then Origin, then key.
pub fn check(options: &ServerOptions, parts: &Parts) -> Result<(), ApiError> {
    check_host(options, parts)?;
    if !matches!(parts.method, Method::GET | Method::HEAD) {
        check_origin(options, &parts.headers)?;
    }
    if OPEN_PATHS.contains(&parts.uri.path()) { Ok(()) } else { check_key(options, &parts.headers) }
}

fn check_host(options: &ServerOptions, parts: &Parts) -> Result<(), ApiError> {
    let mut hosts = parts.headers.get_all(header::HOST).iter();
    let host = hosts.next().map_or("", |value| value.to_str().unwrap_or("?"));
    let in_line = parts.uri.authority().map_or(host, |authority| authority.as_str());
    let is_address = |name: &str| options.host_addresses == HostAddresses::Any && name.parse::<IpAddr>().is_ok();
    let is_ours =
        |authority: &str| host_name(authority).is_some_and(|name| is_address(name) || answers_to(options, name));
    if is_ours(host) && is_ours(in_line) && hosts.next().is_none() {
        return Ok(());
    }
    Err(ApiError::Host { host: host.to_owned() })
}

fn check_origin(options: &ServerOptions, headers: &HeaderMap) -> Result<(), ApiError> {
    for origin in headers.get_all(header::ORIGIN) {
        let origin = origin.to_str().unwrap_or("?");
        let name = origin.split_once("://").and_then(|(_, authority)| host_name(authority));
        if !name.is_some_and(|name| answers_to(options, name)) {
            return Err(ApiError::Origin { origin: origin.to_owned() });
        }
    }
    Ok(())
}

/// The name or address in `name:port`, `1.2.3.4:port` or `[::1]:port`; `None` if it is none of these.
fn host_name(authority: &str) -> Option<&str> {
    let (name, port) = match authority.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => authority.find(':').map_or((authority, ""), |colon| authority.split_at(colon)),
    };
    let is_port = port.is_empty() || port.strip_prefix(':').is_some_and(|p| p.parse::<u16>().is_ok());
    (is_port && !name.is_empty()).then_some(name)
}

fn answers_to(options: &ServerOptions, name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    name == "localhost"
        || name.ends_with(".localhost")
        || name.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
        || name.parse::<Ipv6Addr>().is_ok_and(|address| address.is_loopback())
        || options.allowed_hosts.iter().any(|host| host.eq_ignore_ascii_case(&name))
}

/// Every key that is sent must be right: an empty or second, wrong one closes the door.
fn check_key(options: &ServerOptions, headers: &HeaderMap) -> Result<(), ApiError> {
    let Some(expected) = options.api_key.as_deref() else { return Ok(()) };
    let bearers = headers.get_all(header::AUTHORIZATION).iter().map(|value| bearer(value.as_bytes()));
    let keys = headers.get_all(API_KEY).iter().map(|value| value.as_bytes());
    let mut n_keys = 0;
    let mut right = Choice::from(u8::from(!expected.is_empty()));
    for key in bearers.chain(keys) {
        n_keys += 1;
        right &= key.ct_eq(expected.as_bytes());
    }
    match n_keys {
        0 => Err(ApiError::KeyMissing),
        _ if bool::from(right) => Ok(()),
        _ => Err(ApiError::KeyWrong),
    }
}

/// The key of `Bearer KEY`; empty, which is never right, for any other scheme.
fn bearer(value: &[u8]) -> &[u8] {
    match value.split_at_checked(7) {
        Some((scheme, key)) if scheme.eq_ignore_ascii_case(b"Bearer ") => key.trim_ascii(),
        _ => b"",
    }
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;
