//! `tokbar serve`.

use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use anyhow::{Context, Result, bail};
use tokbar_server::{HostAddresses, Models, ServerOptions, ServerState};

use crate::cli::ServeArgs;
use crate::lifecycle::{self, Loaded};
use crate::port::{self, Bound};
use crate::{say, wiring};

/// Binds first, so that a taken port costs no load; then loads, says so, and serves until it is told to stop.
pub fn run(args: &ServeArgs) -> Result<()> {
    check_exposure(args)?;
    let Bound { listener, note } = port::bind(args.host, args.port)?;
    if let Some(note) = note {
        tell(note);
    }
    let loaded = lifecycle::load(&args.model)?;
    let engine = loaded.engine.clone();
    let address = listener.local_addr().context("the socket has no address")?;
    let served = wiring::block_on(async {
        listener.set_nonblocking(true).context("the socket cannot be made async")?;
        let listener = tokio::net::TcpListener::from_std(listener).context("the socket cannot be made async")?;
        let (stop, stop_now) = (wiring::stop_signal(1)?, wiring::stop_signal(2)?);
        announce(address, &loaded, args.api_key.is_some());
        let state = ServerState::new(Models::new(vec![loaded.into_served(args.names.clone())]), options(args));
        tokio::select! {
            () = tokbar_server::serve(listener, state, stop) => {}
            () = stop_now => {}
        }
        Ok(())
    });
    engine.shutdown();
    served
}

/// Whoever can reach the server can use the model: beyond this machine that takes a key.
fn check_exposure(args: &ServeArgs) -> Result<()> {
    let key = args.api_key.as_deref();
    if key.is_some_and(str::is_empty) {
        bail!("the API key is empty; give one with --api-key or TOKBAR_API_KEY, or leave it out");
    }
    if !args.host.is_loopback() && key.is_none() {
        bail!("{} can be reached from other machines; set a key with --api-key or TOKBAR_API_KEY", args.host);
    }
    Ok(())
}

fn options(args: &ServeArgs) -> ServerOptions {
    ServerOptions {
        allowed_hosts: args.allow_hosts.clone(),
        host_addresses: if args.host.is_loopback() { HostAddresses::Loopback } else { HostAddresses::Any },
        api_key: args.api_key.clone(),
        ..ServerOptions::default()
    }
}

fn announce(address: SocketAddr, loaded: &Loaded, has_key: bool) {
    let host = match address.ip() {
        ip if ip == Ipv4Addr::LOCALHOST || ip.is_unspecified() => "localhost".to_owned(),
        IpAddr::V6(ip) => format!("[{ip}]"),
        ip => ip.to_string(),
    };
    let base_url = format!("http://{host}:{}/v1", address.port());
    let key = if has_key { " \\\n  -H \"Authorization: Bearer $TOKBAR_API_KEY\"" } else { "" };
    let request = if loaded.text.template.is_some() {
        r#"{"model": "default", "messages": [{"role": "user", "content": "What is the capital of France?"}]}"#
    } else {
        r#"{"model": "default", "prompt": "The capital of France is", "max_tokens": 16}"#
    };
    let path = if loaded.text.template.is_some() { "chat/completions" } else { "completions" };
    tell(format_args!(
        "Serving {}\nReady: {base_url}\nTry it:\ncurl {base_url}/{path} -H 'Content-Type: application/json'{key} \\\n  -d '{request}'",
        loaded.name
    ));
}

/// A server whose terminal is gone still serves.
fn tell(text: impl Display) {
    if let Err(error) = say::line(text) {
        tracing::debug!(%error, "standard output is gone");
    }
}
