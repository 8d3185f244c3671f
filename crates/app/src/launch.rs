//! The key of one launch, and the end that somebody may ask for over it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use tokbar_server::{Key, KeyScope};
use tokio::sync::Notify;

use crate::key_file;

/// What its holder is called in logs.
const NAME: &str = "this launch";

/// A secret that manages one server for as long as it runs.
#[derive(Clone)]
pub struct Launch {
    token: String,
}

impl Launch {
    /// A new one.
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub fn new() -> Result<Self> {
        Ok(Self { token: key_file::secret()? })
    }

    /// The secret.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// What the server asks for.
    pub fn key(&self) -> Key {
        Key::new(NAME, KeyScope::Manage, &self.token)
    }

    /// The page that manages the server at `address`. Browsers keep what follows `#` to themselves.
    pub fn page(&self, address: SocketAddr) -> String {
        format!("http://{}/#token={}", host(address), self.token)
    }
}

/// Host and port as programs on this machine reach `address`.
pub fn host(address: SocketAddr) -> String {
    match address.ip() {
        ip if ip == Ipv4Addr::LOCALHOST || ip.is_unspecified() => format!("localhost:{}", address.port()),
        _ => address.to_string(),
    }
}

/// Where other machines reach a server that listens at `address`; empty for one that they do not reach.
pub fn lan(address: SocketAddr) -> Vec<IpAddr> {
    let ip = address.ip();
    if ip.is_loopback() {
        return Vec::new();
    }
    if !ip.is_unspecified() {
        return vec![ip];
    }
    // Nothing is sent: the system only chooses the address that it would send from.
    let chosen = UdpSocket::bind("0.0.0.0:0").and_then(|socket| {
        socket.connect("192.0.2.1:9")?;
        socket.local_addr()
    });
    chosen.map(|address| address.ip()).into_iter().filter(|ip| !ip.is_loopback() && !ip.is_unspecified()).collect()
}

/// Somebody's wish that the server end; cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Ending {
    asked: Arc<(AtomicBool, Notify)>,
}

impl Ending {
    /// It is to end.
    pub fn ask(&self) {
        self.asked.0.store(true, Ordering::Release);
        self.asked.1.notify_one();
    }

    /// Whether it is to end.
    pub fn is_asked(&self) -> bool {
        self.asked.0.load(Ordering::Acquire)
    }

    /// Completes when it is to end; one waits at a time.
    pub async fn asked(&self) {
        self.asked.1.notified().await;
    }
}
