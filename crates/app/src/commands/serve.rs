//! `tokbar serve`.

use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::pin;

use anyhow::{Context, Result, bail};
use tokbar_server::{HostAddresses, Keys, Models, ServerOptions, ServerState};

use crate::cli::ServeArgs;
use crate::lifecycle::{self, Loaded};
use crate::port::{self, Bound};
use crate::{say, wiring};

/// Binds first, so that a taken port costs no load, and answers from then on, with the news that the model is loading;
/// serves until it is told to stop.
pub fn run(args: &ServeArgs) -> Result<()> {
    check_exposure(args)?;
    let Bound { listener, note } = port::bind(args.host, args.port)?;
    if let Some(note) = note {
        tell(note);
    }
    let address = listener.local_addr().context("the socket has no address")?;
    let models = Models::loading(args.model.model.clone());
    let served = wiring::block_on(async {
        listener.set_nonblocking(true).context("the socket cannot be made async")?;
        let listener = tokio::net::TcpListener::from_std(listener).context("the socket cannot be made async")?;
        let (stop, stop_now) = (wiring::stop_signal(1)?, wiring::stop_signal(2)?);
        let state = ServerState::new(models.clone(), options(args));
        let mut serving = pin!(tokbar_server::serve(listener, state, stop));
        let mut stop_now = pin!(stop_now);
        let model = args.model.clone();
        tokio::select! {
            loaded = wiring::in_background(move || lifecycle::load(&model))? => {
                let loaded = loaded??;
                let news = news(address, &loaded, args.api_key.is_some());
                drop(models.replace(vec![loaded.into_served(args.names.clone())]));
                tell(news);
            }
            () = &mut serving => return Ok(()),
            () = &mut stop_now => return Ok(()),
        }
        tokio::select! {
            () = serving => {}
            () = stop_now => {}
        }
        Ok(())
    });
    models.all().iter().for_each(|model| model.engine.shutdown());
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
        keys: args.api_key.as_deref().map(Keys::single),
        ..ServerOptions::default()
    }
}

/// What is served where, and a line to try it.
fn news(address: SocketAddr, loaded: &Loaded, has_key: bool) -> String {
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
    format!(
        "Serving {}\nReady: {base_url}\nTry it:\ncurl {base_url}/{path} -H 'Content-Type: application/json'{key} \\\n  -d '{request}'",
        loaded.name
    )
}

/// A server whose terminal is gone still serves.
fn tell(text: impl Display) {
    if let Err(error) = say::line(text) {
        tracing::debug!(%error, "standard output is gone");
    }
}
