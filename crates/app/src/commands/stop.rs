//! `tokbar stop`: unloads a model of a running server, or stops the server.

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

use crate::cli::StopArgs;
use crate::{control, say};

/// Unloads the model wherever it is loaded, or has all servers of this user end as Ctrl-C does.
pub fn run(args: &StopArgs) -> Result<()> {
    let Some(model) = &args.model else { return stop_servers(args) };
    let mut refused = None;
    for door in control::doors(&args.key)? {
        match control::post(&door, "/models/unload", &json!({"model": model})) {
            Ok(_) if args.json => say::line(json!({"unloaded": model, "server": door.address}))?,
            Ok(_) => say::line(format_args!("{model} is unloaded at {}", door.address))?,
            Err(error) => refused = Some(error),
        }
    }
    refused.map_or(Ok(()), Err)
}

fn stop_servers(args: &StopArgs) -> Result<()> {
    let wanted = args.key.server.as_deref();
    let servers: Vec<_> =
        control::servers()?.into_iter().filter(|server| wanted.is_none_or(|wanted| server.address == wanted)).collect();
    if servers.is_empty() {
        bail!("no server of yours runs on this machine");
    }
    for server in servers {
        // Its mark is locked, so that the process is still the server.
        let pid = i32::try_from(server.pid).context("the mark names no process")?;
        kill(Pid::from_raw(pid), Signal::SIGTERM).with_context(|| format!("cannot stop the process {pid}"))?;
        match args.json {
            true => say::line(json!({"stopped": server.address, "pid": server.pid}))?,
            false => say::line(format_args!("the server at {} is told to stop", server.address))?,
        }
    }
    Ok(())
}
