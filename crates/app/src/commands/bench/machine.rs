//! Where a benchmark ran.

use serde::{Deserialize, Serialize};

/// Enough to tell two machines apart in a file of results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Such as `macos`.
    pub os: String,
    /// Such as `aarch64`.
    pub arch: String,
    /// That this process may use.
    pub n_cpus: usize,
    /// Version of this program.
    pub client: String,
}

impl Machine {
    /// This one.
    pub fn this() -> Self {
        Self {
            os: std::env::consts::OS.to_owned(),
            arch: std::env::consts::ARCH.to_owned(),
            n_cpus: std::thread::available_parallelism().map_or(1, usize::from),
            client: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}
