//! The Hugging Face Hub as this user reaches it: cache, address, mirrors, token, and the switch against any network.

use std::fs::File;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use directories::BaseDirs;
use tokbar_hub::download::{self, DownloadError, DownloadOptions, Pace, Progress};
use tokbar_hub::resolve::cache_dir;

use crate::power::{Wakefulness, Work};
use crate::{environment, power, progress};

/// A token is short.
const N_TOKEN_BYTES_MAX: u64 = 4096;

/// How a download goes.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    /// Bytes here and in all.
    pub progress: Progress,
    /// Bytes per second lately.
    pub bytes_per_s: Option<f64>,
    /// Time left, steadily.
    pub left: Option<Duration>,
}

/// The cache of this user, if they have a home.
pub fn cache() -> Option<PathBuf> {
    cache_dir(environment::var_os("HF_HUB_CACHE"), environment::var_os("HF_HOME"), home())
}

/// Hugging Face's own switch against any use of the network.
pub fn is_offline() -> bool {
    let value = environment::var("HF_HUB_OFFLINE").unwrap_or_default().to_ascii_lowercase();
    matches!(value.as_str(), "1" | "on" | "true" | "yes")
}

/// Where to download from and to, as the environment says.
///
/// # Errors
/// When the user has no home and names no cache.
pub fn options() -> Result<DownloadOptions> {
    let cache = cache().context("this user has no home folder; name a cache with HF_HUB_CACHE")?;
    let mut options = DownloadOptions { token: token(), ..DownloadOptions::new(cache) };
    if let Some(endpoint) = given("HF_ENDPOINT") {
        options.endpoint = endpoint;
    }
    let mirrors = given("TOKBAR_HF_MIRRORS").unwrap_or_default();
    let mirrors = mirrors.split(',').map(str::trim).filter(|mirror| !mirror.is_empty());
    options.mirrors = mirrors.map(str::to_owned).collect();
    Ok(options)
}

/// Refuses where the network may not be used.
///
/// # Errors
/// Then.
pub fn check_online(what: &str) -> Result<()> {
    if is_offline() {
        bail!("HF_HUB_OFFLINE forbids to {what}; `tokbar ls` shows the models that are here");
    }
    Ok(())
}

/// Downloads the model `id`; `shown` hears of it after every piece, and may break off.
///
/// # Errors
/// When the download fails; what has come stays, and the next call goes on.
pub fn pull(
    id: &str,
    options: &DownloadOptions,
    shown: &mut dyn FnMut(Shown) -> ControlFlow<()>,
) -> Result<PathBuf, DownloadError> {
    tracing::debug!(id, endpoint = options.endpoint, "downloading");
    let (start, mut pace) = (Instant::now(), Pace::default());
    let mut wakefulness = Wakefulness::new(power::assertion());
    wakefulness.observe(Duration::ZERO, Work::Some);
    let dir = download::download(id, options, &mut |progress| {
        pace.observe(start.elapsed(), progress.n_bytes_done);
        let n_left = progress.n_bytes.saturating_sub(progress.n_bytes_done);
        shown(Shown { progress, bytes_per_s: pace.bytes_per_s(), left: pace.left(n_left) })
    })?;
    Ok(dir)
}

/// As [`pull`], with a bar on a terminal.
///
/// # Errors
/// As [`pull`].
pub fn pull_with_bar(id: &str, options: &DownloadOptions) -> Result<PathBuf> {
    let bar = progress::download();
    let pulled = pull(id, options, &mut |shown| {
        progress::show_download(&bar, &shown);
        ControlFlow::Continue(())
    });
    bar.finish_and_clear();
    Ok(pulled?)
}

/// `HF_TOKEN`, or what the Hub's own command line keeps.
fn token() -> Option<String> {
    given("HF_TOKEN").or_else(|| {
        let home = || given("HF_HOME").map(PathBuf::from).or_else(|| Some(home()?.join(".cache/huggingface")));
        let path = given("HF_TOKEN_PATH").map(PathBuf::from).or_else(|| Some(home()?.join("token")))?;
        read_token(&path)
    })
}

fn read_token(path: &Path) -> Option<String> {
    if !path.is_file() {
        return None;
    }
    let mut text = String::new();
    File::open(path).ok()?.take(N_TOKEN_BYTES_MAX).read_to_string(&mut text).ok()?;
    Some(text.trim().to_owned()).filter(|token| !token.is_empty())
}

fn home() -> Option<PathBuf> {
    BaseDirs::new().map(|dirs| dirs.home_dir().to_owned())
}

fn given(name: &str) -> Option<String> {
    environment::var(name)
}
