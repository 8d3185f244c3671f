//! Noticing that the machine slept: the clock on the wall went on while the program's own stood still.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

/// Shorter gaps are a busy machine, or a clock that is set right.
const SLEPT_LEAST: Duration = Duration::from_secs(20);
/// A server on this machine takes a connection at once.
const PATIENCE: Duration = Duration::from_secs(2);

/// Watches both clocks.
#[derive(Debug, Default)]
pub struct Wake {
    last: Option<(Duration, Duration)>,
}

impl Wake {
    /// Takes note of `own`, which stands still in sleep, and `wall`, which does not. Tells how long the machine slept since
    /// the last call, if it did.
    pub fn observe(&mut self, own: Duration, wall: Duration) -> Option<Duration> {
        let (own_before, wall_before) = self.last.replace((own, wall))?;
        let slept = wall.saturating_sub(wall_before).saturating_sub(own.saturating_sub(own_before));
        (slept >= SLEPT_LEAST).then_some(slept)
    }
}

/// Whether a server that listens at `address` still takes connections.
pub fn answers(address: SocketAddr) -> bool {
    let ip = if address.ip().is_unspecified() { IpAddr::V4(Ipv4Addr::LOCALHOST) } else { address.ip() };
    TcpStream::connect_timeout(&SocketAddr::new(ip, address.port()), PATIENCE).is_ok()
}

#[cfg(test)]
#[path = "wake_tests.rs"]
mod tests;
