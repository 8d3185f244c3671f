//! Binding the server's socket, with clear words about who is in the way.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};

use anyhow::{Context, Result, anyhow};

/// Where a server goes that was given no port.
pub const DEFAULT_PORT: u16 = 8000;
const N_PORTS_TRIED: u16 = 10;

/// A bound socket and, if it is not the port that was meant, the reason.
pub struct Bound {
    /// Listening already.
    pub listener: TcpListener,
    /// Why another port was taken.
    pub note: Option<String>,
}

/// Binds `port`, or the first free port from [`DEFAULT_PORT`] on when none is given.
///
/// # Errors
/// An explicit port that is taken: the error names its holder. No free port among the ones tried.
pub fn bind(host: IpAddr, port: Option<u16>) -> Result<Bound> {
    match port {
        Some(port) => bind_exact(host, port),
        None => bind_first_free(host, DEFAULT_PORT),
    }
}

fn bind_exact(host: IpAddr, port: u16) -> Result<Bound> {
    match TcpListener::bind(SocketAddr::new(host, port)) {
        Ok(listener) => Ok(Bound { listener, note: None }),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(anyhow!(
            "port {port} is taken by {}; stop that program, or choose another port with --port",
            holder(port)
        )),
        Err(error) => Err(error).with_context(|| format!("cannot listen on {}", SocketAddr::new(host, port))),
    }
}

fn bind_first_free(host: IpAddr, first: u16) -> Result<Bound> {
    for port in first..first.saturating_add(N_PORTS_TRIED) {
        match TcpListener::bind(SocketAddr::new(host, port)) {
            Ok(listener) => {
                let note = (port != first)
                    .then(|| format!("port {first} is taken by {}; using {port} instead", holder(first)));
                return Ok(Bound { listener, note });
            }
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            Err(error) => {
                return Err(error).with_context(|| format!("cannot listen on {}", SocketAddr::new(host, port)));
            }
        }
    }
    let last = first.saturating_add(N_PORTS_TRIED - 1);
    Err(anyhow!("ports {first} to {last} are all taken; choose another with --port"))
}

/// The program that listens on `port`, in words.
fn holder(port: u16) -> String {
    match listeners::get_process_by_port(port, listeners::Protocol::TCP) {
        Ok(process) => format!("{} (pid {})", process.name, process.pid),
        Err(_) => "another program".to_owned(),
    }
}

#[cfg(test)]
#[path = "port_tests.rs"]
mod tests;
