//! What a person chose once, as the host starts with it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use tokbar_server::control::{Lan, Settings};
use tokbar_server::{HostAddresses, Keys, ServerOptions};

use super::HostOptions;
use crate::cli::{CacheDirArgs, KvArgs, KvBitsArg, ModelArgs, SpeculationArg};
use crate::lifecycle::{KeeperOptions, Recipe};
use crate::pressure::CALM;
use crate::size;

/// Where it listens: beyond this machine only if that was chosen.
pub fn address(settings: &Settings) -> IpAddr {
    match settings.server.lan {
        Lan::Off => Ipv4Addr::LOCALHOST.into(),
        Lan::WithKey | Lan::Open => Ipv4Addr::UNSPECIFIED.into(),
    }
}

/// Who is let in, and how often. Where a key is asked for and none was made, nobody is, but for the window.
pub fn server(options: &HostOptions, keys: Keys) -> ServerOptions {
    let server = &options.settings.server;
    let asks = !keys.0.is_empty() || (server.lan == Lan::WithKey && !options.host.is_loopback());
    ServerOptions {
        host_addresses: if options.host.is_loopback() { HostAddresses::Loopback } else { HostAddresses::Any },
        allowed_origins: server.allowed_origins.clone(),
        keys: asks.then_some(keys),
        n_calls_per_minute: (server.calls_per_minute > 0).then_some(server.calls_per_minute),
        ..ServerOptions::default()
    }
}

/// How models are kept.
pub fn keeping(options: &HostOptions, address: SocketAddr) -> KeeperOptions {
    let models = &options.settings.models;
    let minutes = models.idle_timeout_min.clamp(0.0, 1e6);
    KeeperOptions {
        idle_timeout: (minutes > 0.0).then(|| Duration::from_secs_f64(60.0 * minutes)),
        memory_budget: models.memory_budget_bytes,
        switches: true,
        is_pinned: false,
        address,
        pressure_from: options.pressure_from.clone(),
        pressure_calm: CALM,
        safe: None,
    }
}

/// How models are loaded.
pub fn recipe(settings: &Settings) -> Recipe {
    let (models, cache) = (&settings.models, &settings.cache);
    let mut model = ModelArgs::named("");
    model.max_rows = models.max_rows.clamp(1, 256);
    model.kv_bits = match models.kv_bits {
        Some(4) => Some(KvBitsArg::Four),
        Some(_) => Some(KvBitsArg::Eight),
        None => None,
    };
    model.draft.speculation = match models.speculation.as_str() {
        "off" => SpeculationArg::Off,
        "ngram" => SpeculationArg::Ngram,
        _ => SpeculationArg::Auto,
    };
    let kv = KvArgs { dir: cache_dir(settings), no_disk_cache: !cache.on_disk, ..KvArgs::default() };
    Recipe { model, kv, names: Vec::new(), id: None }
}

/// Where the KV cache on disk is; `TOKBAR_CACHE_DIR` and `TOKBAR_CACHE_RESERVE` count where nothing was chosen, as they do
/// for commands.
pub fn cache_dir(settings: &Settings) -> CacheDirArgs {
    let given = || std::env::var_os("TOKBAR_CACHE_DIR").filter(|dir| !dir.is_empty()).map(PathBuf::from);
    CacheDirArgs {
        cache_dir: settings.cache.dir.as_ref().map(PathBuf::from).or_else(given),
        cache_size: settings.cache.max_bytes,
        cache_reserve: settings.cache.reserve_bytes.or_else(given_reserve),
    }
}

/// What the environment says; a size that is none is told and does not count, as the app starts all the same.
fn given_reserve() -> Option<u64> {
    let text = std::env::var("TOKBAR_CACHE_RESERVE").ok().filter(|text| !text.is_empty())?;
    let told = |problem: &String| tracing::warn!("TOKBAR_CACHE_RESERVE is {text:?} and does not count: {problem}");
    size::parse_or_zero(&text).inspect_err(told).ok()
}

#[cfg(test)]
#[path = "chosen_tests.rs"]
mod tests;
