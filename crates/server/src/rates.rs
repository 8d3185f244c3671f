//! How often one client may do a thing: a bucket per client that fills up again as time goes by.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;

/// Clients remembered; a full bucket need not be.
const N_CLIENTS_MAX: usize = 4096;

/// Who calls.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Client {
    /// Whoever holds the key of this name.
    Key(String),
    /// Whoever is at this address; of IPv6, in this network of 64 bits.
    Address(IpAddr),
}

impl Client {
    /// The client at an address.
    pub fn at(address: IpAddr) -> Self {
        match address {
            IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
                Some(v4) => Self::Address(IpAddr::V4(v4)),
                None => Self::Address(IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX)))),
            },
            v4 => Self::Address(v4),
        }
    }
}

/// Buckets of all clients; cheap to clone.
#[derive(Clone, Debug)]
pub struct Rates {
    n_per_minute: Option<u32>,
    buckets: Arc<Mutex<HashMap<Client, Bucket>>>,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    n_left: f64,
    at: Instant,
}

impl Rates {
    /// So many a minute and at once; `None` is no limit.
    pub fn new(n_per_minute: Option<u32>) -> Self {
        Self { n_per_minute, buckets: Arc::default() }
    }

    /// The limit.
    pub fn n_per_minute(&self) -> u32 {
        self.n_per_minute.unwrap_or(u32::MAX)
    }

    /// Counts one call at `now`.
    ///
    /// # Errors
    /// When there were too many: seconds until the next may be.
    pub fn take(&self, client: Client, now: Instant) -> Result<(), u64> {
        let Some(n_max) = self.n_per_minute.map(f64::from) else { return Ok(()) };
        let per_second = n_max / 60.0;
        let filled = |bucket: &Bucket| {
            let seconds = now.saturating_duration_since(bucket.at).as_secs_f64();
            (bucket.n_left + seconds * per_second).min(n_max)
        };
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= N_CLIENTS_MAX && !buckets.contains_key(&client) {
            buckets.retain(|_, bucket| filled(bucket) < n_max);
            if buckets.len() >= N_CLIENTS_MAX {
                let mut times: Vec<Instant> = buckets.values().map(|bucket| bucket.at).collect();
                let (_, median, _) = times.select_nth_unstable(N_CLIENTS_MAX / 2);
                let median = *median;
                buckets.retain(|_, bucket| bucket.at > median);
            }
        }
        let bucket = buckets.entry(client).or_insert(Bucket { n_left: n_max, at: now });
        *bucket = Bucket { n_left: filled(bucket), at: now };
        if bucket.n_left < 1.0 {
            return Err(((1.0 - bucket.n_left) / per_second).ceil().max(1.0) as u64);
        }
        bucket.n_left -= 1.0;
        Ok(())
    }
}

#[cfg(test)]
#[path = "rates_tests.rs"]
mod tests;
