//! Why a download failed, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::fit::gigabytes;

/// Why a model was not downloaded.
#[allow(missing_docs)]
#[derive(Debug, thiserror::Error)]
pub enum DownloadError {
    #[error("`{id}` is no model id. Give one such as `mlx-community/Qwen3-0.6B-4bit`.")]
    BadId { id: String },
    #[error("`{revision}` is no revision. Give a branch, a tag or a commit.")]
    BadRevision { revision: String },
    #[error("`{endpoint}` is no address of a Hub. Set HF_ENDPOINT to one that begins with https://, or unset it.")]
    BadEndpoint { endpoint: String },
    #[error(
        "the access token holds characters that no token has. Set HF_TOKEN to a token of your account, or unset it."
    )]
    BadToken,
    #[error(
        "`{id}` is gated. Accept its terms at {link}, set HF_TOKEN to a token of that account, and run the command again."
    )]
    Gated { id: String, link: String },
    #[error(
        "the Hub does not show `{id}`: it is gated or private, or there is no such model. Check the spelling; to get \
         access accept its terms at {link} and set HF_TOKEN to a valid token of that account."
    )]
    Hidden { id: String, link: String },
    #[error("there is no model `{id}` at {endpoint}. Check the spelling; if it is private, set HF_TOKEN.")]
    NoSuchModel { id: String, endpoint: String },
    #[error("`{id}` has no revision `{revision}`. Look for one at {link}.")]
    NoSuchRevision { id: String, revision: String, link: String },
    #[error(
        "{endpoint} refuses: status {status}. Wait a while and run the command again; it goes on where it stopped."
    )]
    Refused { endpoint: String, status: u16, retry_after: Option<Duration> },
    #[error(
        "cannot download from {endpoint}: {problem}. Check the network and, if they are set, HTTPS_PROXY and HF_ENDPOINT; \
         then run the command again; it goes on where it stopped."
    )]
    Network { endpoint: String, problem: String },
    #[error(
        "cannot ask {endpoint}: {problem}. Check the network and, if they are set, HTTPS_PROXY and HF_ENDPOINT. Models that \
         are on this machine run without it."
    )]
    Unreachable { endpoint: String, problem: String },
    #[error(
        "{endpoint} sent nothing for {seconds:.0} seconds. Check the network and run the command again; it goes on where \
         it stopped."
    )]
    Stalled { endpoint: String, seconds: f64 },
    #[error("{endpoint} gave an answer that cannot be used: {problem}. Check HF_ENDPOINT, or try another model.")]
    BadAnswer { endpoint: String, problem: String },
    #[error("the Hub lists a file named {name:?}, which could be written outside its folder. Do not use this model.")]
    BadName { name: String },
    #[error("`{id}` holds no weights that can be used: {problem}. {advice}")]
    NoWeights { id: String, problem: String, advice: String },
    #[error(
        "`{name}` arrived damaged: its hash is not the one that was promised. It was deleted; run the command again."
    )]
    Corrupt { name: String },
    #[error(
        "{dir} needs {} of free space and has {}. Free some, or set HF_HUB_CACHE to another disk.",
        gigabytes(*.needed),
        gigabytes(*.free)
    )]
    DiskFull { dir: PathBuf, needed: u64, free: u64 },
    #[error("another program is downloading `{name}`. Wait until it is done, or stop it, and run the command again.")]
    Busy { name: String },
    #[error("the download was cancelled. Run the command again to go on where it stopped.")]
    Cancelled,
    #[error("cannot {action} {path}: {source}. Check the permissions and the disk of the Hugging Face cache.")]
    Io { action: &'static str, path: PathBuf, source: io::Error },
}

impl DownloadError {
    /// Wraps an error of the file system.
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }

    /// The same of a question, which has nothing to go on with.
    pub(super) fn of_question(self) -> Self {
        match self {
            Self::Network { endpoint, problem } => Self::Unreachable { endpoint, problem },
            Self::Stalled { endpoint, seconds } => {
                Self::Unreachable { endpoint, problem: format!("it sent nothing for {seconds:.0} seconds") }
            }
            other => other,
        }
    }

    /// An answer that no Hub gives.
    pub(super) fn bad_answer(endpoint: &str, problem: impl Into<String>) -> Self {
        Self::BadAnswer { endpoint: endpoint.to_owned(), problem: problem.into() }
    }

    /// Whether another try may succeed.
    pub(super) fn may_pass(&self) -> bool {
        match self {
            Self::Network { .. } | Self::Stalled { .. } => true,
            Self::Refused { status, .. } => matches!(status, 408 | 429 | 500..),
            _ => false,
        }
    }
}
