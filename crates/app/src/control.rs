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

/// Where to ask: the address given, or those of all servers that run.
///
/// # Errors
/// When none runs.
pub fn addresses(args: &AskArgs) -> Result<Vec<String>> {
    if let Some(address) = &args.server {
        return Ok(vec![address.trim_start_matches("http://").trim_end_matches('/').to_owned()]);
    }
    let addresses: Vec<String> = servers()?.into_iter().map(|server| reachable(&server.address)).collect();
    if addresses.is_empty() {
        bail!(
            "no server of yours runs on this machine; start one with `tokbar serve MODEL`, or name one with --server"
        );
    }
    Ok(addresses)
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

/// What a server answers to a question.
///
/// # Errors
/// When it is not there, refuses, or is no server of ours.
pub fn get(address: &str, path: &str, args: &AskArgs) -> Result<Value> {
    let mut request = agent(PATIENCE).get(format!("http://{address}{path}"));
    if let Some(key) = &args.api_key {
        request = request.header("Authorization", format!("Bearer {key}"));
    }
    read(address, request.call())
}

/// What a server answers to a wish.
///
/// # Errors
/// As [`get`].
pub fn post(address: &str, path: &str, body: &Value, args: &AskArgs) -> Result<Value> {
    let mut request = agent(PATIENCE_CHANGE).post(format!("http://{address}{path}"));
    if let Some(key) = &args.api_key {
        request = request.header("Authorization", format!("Bearer {key}"));
    }
    read(address, request.header("Content-Type", "application/json").send(body.to_string()))
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
