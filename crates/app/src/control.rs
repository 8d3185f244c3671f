//! Asking a running server of this machine, as its manager.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use serde_json::Value;

use crate::cli::AskArgs;
use crate::config_dir;
use crate::lifecycle::mark::{self, Running};

/// A server on this machine answers soon, but for what takes it as long as a model takes.
const PATIENCE: Duration = Duration::from_secs(5);
/// Unloading waits for calls that run.
const PATIENCE_CHANGE: Duration = Duration::from_secs(1000);
const N_BYTES_MAX: u64 = 16 << 20;

/// Folder of marks, in this user's settings.
pub const RUNNING: &str = "running";

/// The servers of this user that run now.
///
/// # Errors
/// When the user has no home folder.
pub fn servers() -> Result<Vec<Running>> {
    Ok(mark::running(&marks()?))
}

/// Where servers leave their marks.
///
/// # Errors
/// When the user has no home folder.
pub fn marks() -> Result<PathBuf> {
    Ok(config_dir::place()?.join(RUNNING))
}

/// A server that runs, and what opens it.
#[derive(Clone, Debug)]
pub struct Door {
    /// Host and port.
    pub address: String,
    /// A key that manages it.
    key: Option<String>,
}

/// Where to ask: the address given, or those of all servers that run. Without a key that was given, the key of the launch
/// serves.
///
/// # Errors
/// When none runs.
pub fn doors(args: &AskArgs) -> Result<Vec<Door>> {
    let mut doors: Vec<Door> = servers()?
        .into_iter()
        .map(|server| Door { address: reachable(&server.address), key: Some(server.token) })
        .collect();
    if let Some(server) = &args.server {
        let address = server.trim_start_matches("http://").trim_end_matches('/').to_owned();
        let port = |address: &str| address.rsplit(':').next().map(str::to_owned);
        let is_it =
            |door: &&Door| door.address == address || is_local(&address) && port(&door.address) == port(&address);
        let key = doors.iter().find(is_it).and_then(|door| door.key.clone());
        doors = vec![Door { address, key }];
    }
    if doors.is_empty() {
        bail!(
            "no server of yours runs on this machine; start one with `tokbar serve MODEL`, or name one with --server"
        );
    }
    doors.iter_mut().for_each(|door| door.key = args.api_key.clone().or(door.key.take()).filter(|key| !key.is_empty()));
    Ok(doors)
}

/// Whether an address names this machine.
fn is_local(address: &str) -> bool {
    address.starts_with("localhost:") || address.starts_with("127.0.0.1:")
}

/// An address that listens everywhere is reached here.
fn reachable(address: &str) -> String {
    match address.parse::<SocketAddr>() {
        Ok(socket) if socket.ip().is_unspecified() => {
            SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), socket.port()).to_string()
        }
        _ => address.to_owned(),
    }
}

/// What a server answers to its manager's question.
///
/// # Errors
/// When it is not there, refuses, or is no server of ours.
pub fn get(door: &Door, path: &str) -> Result<Value> {
    fetch(door, &format!("/control/v1{path}"))
}

/// What a server answers at a path of any dialect.
///
/// # Errors
/// As [`get`].
pub fn fetch(door: &Door, path: &str) -> Result<Value> {
    let mut request = agent(PATIENCE).get(format!("http://{}{path}", door.address));
    if let Some(key) = &door.key {
        request = request.header("Authorization", format!("Bearer {key}"));
    }
    read(&door.address, request.call())
}

/// What a server answers to its manager's wish.
///
/// # Errors
/// As [`get`].
pub fn post(door: &Door, path: &str, body: &Value) -> Result<Value> {
    send(door, &format!("/control/v1{path}"), body)
}

/// What a server answers to what is sent to a path of any dialect.
///
/// # Errors
/// As [`get`].
pub fn send(door: &Door, path: &str, body: &Value) -> Result<Value> {
    let mut request = agent(PATIENCE_CHANGE).post(format!("http://{}{path}", door.address));
    if let Some(key) = &door.key {
        request = request.header("Authorization", format!("Bearer {key}"));
    }
    read(&door.address, request.header("Content-Type", "application/json").send(body.to_string()))
}

/// No proxy: the server is on this machine, or named by its address.
fn agent(patience: Duration) -> ureq::Agent {
    let config = ureq::Agent::config_builder().http_status_as_error(false).proxy(None).timeout_global(Some(patience));
    config.build().new_agent()
}

fn read(address: &str, answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> Result<Value> {
    let response = answer.with_context(|| format!("no server answers at {address}"))?;
    let status = response.status();
    let text = response.into_body().into_with_config().limit(N_BYTES_MAX).read_to_vec()?;
    let json: Option<Value> = serde_json::from_slice(&text).ok();
    match (status.is_success(), json) {
        (true, Some(json)) => Ok(json),
        (_, Some(json)) if json["error"]["message"].is_string() => {
            Err(anyhow!("{}", json["error"]["message"].as_str().unwrap_or_default()))
        }
        _ => bail!("what answers at {address} is no Tokbar server (status {status})"),
    }
}
