//! Limits and keys of the HTTP server.

use std::time::Duration;

use jiff::Zoned;

use crate::{Key, Keys};

/// Which IP addresses in a Host header name this server. An address cannot be rebound to another machine as a name can,
/// so a server that is meant to be reached from elsewhere may take any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostAddresses {
    /// Loopback ones.
    Loopback,
    /// All of them.
    Any,
}

/// How the server guards and bounds itself. `Default` is safe for a loopback address.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Host names that the server answers to besides loopback names and addresses; the hosts of web pages that may
    /// call it, too. Compared without case or port.
    pub allowed_hosts: Vec<String>,
    /// IP addresses that the server answers to. Web pages on other machines may not call it under either.
    pub host_addresses: HostAddresses,
    /// Origins of web pages that may call the server and read its answers, such as `https://app.example`.
    pub allowed_origins: Vec<String>,
    /// Clients must send one of these keys. `None` asks for none; no keys let nobody in.
    pub keys: Option<Keys>,
    /// The key of this launch: it manages the server, whatever `keys` are asked for.
    pub launch: Option<Key>,
    /// Most calls of one client in a minute; `None` is no limit.
    pub n_calls_per_minute: Option<u32>,
    /// Longest request body, in bytes.
    pub n_body_bytes_max: usize,
    /// Most bytes of all bodies that are being read; one more is told to come back.
    pub n_body_bytes_total_max: usize,
    /// Longest time for a request's body to arrive.
    pub body_timeout: Duration,
    /// Longest time for a request's headers to arrive; idle connections close after it, too.
    pub header_timeout: Duration,
    /// Most headers of a request.
    pub n_headers_max: usize,
    /// Most bytes of a request's line and headers.
    pub n_header_bytes_max: usize,
    /// Most connections at once; one more is told to come back.
    pub n_connections_max: usize,
    /// Most sequences that one call may ask for (prompts times choices).
    pub n_sequences_max: usize,
    /// Most prompts rendered and tokenized at once.
    pub n_text_jobs_max: usize,
    /// A silent stream carries something that clients skip this often, so that neither side gives up during a long prefill.
    pub keep_alive: Duration,
    /// Longest time for an answer, from the call on; `None` is as long as it takes.
    pub call_timeout: Option<Duration>,
    /// How long calls in flight may go on after a shutdown is asked for.
    pub shutdown_grace: Duration,
    /// Seconds that a client is asked to wait when the queue is full.
    pub retry_after_s: u64,
    /// The clock, for timestamps in answers and dates in chat templates.
    pub now: fn() -> Zoned,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            allowed_hosts: Vec::new(),
            host_addresses: HostAddresses::Loopback,
            allowed_origins: Vec::new(),
            keys: None,
            launch: None,
            n_calls_per_minute: Some(6000),
            n_body_bytes_max: 32 << 20,
            n_body_bytes_total_max: 256 << 20,
            body_timeout: Duration::from_secs(30),
            header_timeout: Duration::from_secs(30),
            n_headers_max: 100,
            n_header_bytes_max: 64 << 10,
            n_connections_max: 512,
            n_sequences_max: 128,
            n_text_jobs_max: std::thread::available_parallelism().map_or(2, |n| n.get().clamp(2, 8)),
            keep_alive: Duration::from_secs(10),
            call_timeout: None,
            shutdown_grace: Duration::from_secs(10),
            retry_after_s: 2,
            now: Zoned::now,
        }
    }
}
