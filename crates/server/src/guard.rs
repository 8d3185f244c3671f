//! Who may call: Host and Origin checks against DNS rebinding and foreign web pages, API keys, and how often.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, Method, Uri, header};
use axum::middleware::Next;
use axum::response::Response;
use tokio::time::Instant;

use crate::doors::Doors;
use crate::keys::Key;
use crate::rates::Client;
use crate::running::CallerInfo;
use crate::{
    ApiError, HostAddresses, KeyScope, ServerOptions, ServerState, calls, clients, cors, dialects, rounds, web,
};

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// Paths that answer without a key: they tell nothing but that the server is up, and what it can be asked.
const OPEN_PATHS: [&str; 4] = ["/", "/health", "/ready", "/control/v1/openapi.json"];
/// Watching the server counts as no call.
const METRICS_PATH: &str = "/metrics";
/// Paths under which the server is managed.
const MANAGED_PATHS: &str = "/control/";
/// Parameters under which clients put keys into addresses.
const KEY_NAMES: [&str; 7] = ["key", "api_key", "api-key", "apikey", "token", "access_token", "x-api-key"];

/// The address of the machine at the other end.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub SocketAddr);

/// The name of the key that a call came with; `None` where the server asks for none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller(pub Option<String>);

/// Lets a call through or answers it with the refusal in its dialect's shape.
pub async fn guard(State(state): State<ServerState>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let path = parts.uri.path().to_owned();
    let origin = cors::origin(&state.options, &parts.headers);
    let log = calls::Call::new(&parts);
    let mut response = match admit(&state, &parts) {
        Ok(_) if cors::is_preflight(&parts) && origin.is_some() => cors::preflight(),
        Ok(caller) => {
            log.caller(&caller);
            parts.extensions.insert(caller);
            let info = CallerInfo {
                id: log.id().to_owned(),
                kind: clients::kind(&path),
                client: clients::client(&parts.headers),
                since: Instant::now(),
            };
            let headers = parts.headers.clone();
            rounds::scope(&headers, info.scope(next.run(Request::from_parts(parts, body)))).await
        }
        Err(error) => dialects::error_for(&path, &parts.headers, &error),
    };
    cors::mark(origin, response.headers_mut());
    log.answered(&mut response);
    response
}

/// # Errors
/// The first rule that the call breaks: Host, Origin, address, key, rate.
fn admit(state: &ServerState, parts: &Parts) -> Result<Caller, ApiError> {
    let options = &state.options;
    check_host(options, parts)?;
    check_origin(options, parts)?;
    check_address(&parts.uri)?;
    if is_open(parts.uri.path()) || cors::is_preflight(parts) {
        return Ok(Caller(None));
    }
    let now = Instant::now();
    let address = parts.extensions.get::<Peer>().map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |peer| peer.0.ip());
    if is_managed(parts) && !address.to_canonical().is_loopback() {
        return Err(ApiError::Elsewhere);
    }
    let key = check_key(&state.doors, parts).map_err(|error| {
        let wrongs = &state.wrong_keys;
        match (&error, wrongs.take(Client::at(address), now)) {
            (ApiError::KeyWrong, Err(retry_after_s)) => {
                ApiError::TooManyWrongKeys { n_per_minute: wrongs.n_per_minute(), retry_after_s }
            }
            _ => error,
        }
    })?;
    let caller = key.map(|key| key.name.clone());
    let client = caller.clone().map_or_else(|| Client::at(address), Client::Key);
    if parts.uri.path() == METRICS_PATH {
        return Ok(Caller(caller));
    }
    let n_per_minute = state.rates.n_per_minute();
    let too_often = |retry_after_s| ApiError::TooOften { n_per_minute, retry_after_s };
    state.rates.take(client, now).map_err(too_often)?;
    Ok(Caller(caller))
}

/// The UI's files are no secrets, and hold none.
fn is_open(path: &str) -> bool {
    OPEN_PATHS.contains(&path) || path.starts_with(web::ASSETS)
}

fn check_host(options: &ServerOptions, parts: &Parts) -> Result<(), ApiError> {
    let hosts = parts.headers.get_all(header::HOST).iter().map(|value| value.to_str().unwrap_or("?"));
    let hosts: Vec<&str> = hosts.collect();
    let is_address = |name: &str| options.host_addresses == HostAddresses::Any && name.parse::<IpAddr>().is_ok();
    let is_ours =
        |authority: &str| host_name(authority).is_some_and(|name| is_address(name) || answers_to(options, name));
    let &[host] = &hosts[..] else { return Err(ApiError::Host { host: hosts.join(", ") }) };
    let in_line = parts.uri.authority().map(|authority| authority.as_str());
    match [Some(host), in_line].into_iter().flatten().find(|authority| !is_ours(authority)) {
        Some(foreign) => Err(ApiError::Host { host: foreign.to_owned() }),
        None => Ok(()),
    }
}

/// Reading is open to links; what changes anything, or costs anything, is not.
fn check_origin(options: &ServerOptions, parts: &Parts) -> Result<(), ApiError> {
    if matches!(parts.method, Method::GET | Method::HEAD) {
        return Ok(());
    }
    for origin in parts.headers.get_all(header::ORIGIN) {
        let origin = origin.to_str().unwrap_or("?");
        let name = origin.split_once("://").and_then(|(_, authority)| host_name(authority));
        let is_ours = name.is_some_and(|name| answers_to(options, name));
        if !is_ours && !options.allowed_origins.iter().any(|allowed| allowed == origin) {
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

/// Addresses end up in logs and histories: no key may stand there.
fn check_address(uri: &Uri) -> Result<(), ApiError> {
    let names = uri.query().unwrap_or("").split('&').map(|pair| pair.split('=').next().unwrap_or(""));
    match names.map(str::to_ascii_lowercase).find(|name| KEY_NAMES.contains(&name.as_str())) {
        Some(name) => Err(ApiError::KeyInAddress { name }),
        None => Ok(()),
    }
}

fn is_managed(parts: &Parts) -> bool {
    parts.uri.path().starts_with(MANAGED_PATHS)
}

/// Every key that is sent must be right: an empty or second, wrong one closes the door. `None` where none is asked for.
/// Managing takes a key even there.
fn check_key(doors: &Doors, parts: &Parts) -> Result<Option<Key>, ApiError> {
    let keys = doors.keys();
    if keys.is_none() && !is_managed(parts) {
        return Ok(None);
    }
    let mut right: Option<Key> = None;
    for secret in secrets(&parts.headers) {
        let known = || keys.as_ref().and_then(|keys| keys.find(secret).cloned());
        let key = doors.launch(secret).or_else(known).ok_or(ApiError::KeyWrong)?;
        // Of two right keys the lesser counts.
        right = match right {
            Some(known) if known.scope <= key.scope => Some(known),
            _ => Some(key),
        };
    }
    let key = right.ok_or(ApiError::KeyMissing)?;
    if is_managed(parts) && key.scope < KeyScope::Manage {
        return Err(ApiError::KeyScope);
    }
    Ok(Some(key))
}

fn secrets(headers: &HeaderMap) -> impl Iterator<Item = &[u8]> {
    let bearers = headers.get_all(header::AUTHORIZATION).iter().map(|value| bearer(value.as_bytes()));
    bearers.chain(headers.get_all(API_KEY).iter().map(|value| value.as_bytes()))
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
