//! Errors of this program as the control API tells them.

use tokbar_hub::download::DownloadError;
use tokbar_hub::scan::RemoveError;
use tokbar_server::{ApiError, Problem};

use crate::say;

/// This machine refuses: a file, a folder, a disk.
pub fn machine(error: anyhow::Error) -> ApiError {
    ApiError::wish(Problem::Machine, say::cause(&error))
}

/// No model of that name.
pub fn no_model(name: &str) -> ApiError {
    ApiError::wish(
        Problem::Missing,
        format!("there is no model {name:?} here or in the list of known models: check the name"),
    )
}

/// What a download or a search says.
pub fn hub(error: &DownloadError) -> ApiError {
    let problem = match error {
        DownloadError::BadId { .. } | DownloadError::NoSuchModel { .. } | DownloadError::NoSuchRevision { .. } => {
            Problem::Missing
        }
        DownloadError::Busy { .. } => Problem::Busy,
        DownloadError::DiskFull { .. } | DownloadError::Io { .. } => Problem::Machine,
        _ => Problem::Upstream,
    };
    ApiError::wish(problem, error.to_string())
}

/// What a removal says.
pub fn removal(error: &RemoveError) -> ApiError {
    let problem = match error {
        RemoveError::Ollamas { .. } | RemoveError::Busy { .. } => Problem::Busy,
        RemoveError::Io { .. } => Problem::Machine,
    };
    ApiError::wish(problem, error.to_string())
}
