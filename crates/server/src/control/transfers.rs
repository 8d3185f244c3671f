//! `/control/v1/transfers`: downloads and imports, and what becomes of them.

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::{get, post};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ask::{answer, ask, read, refuse};
use crate::{ApiError, ServerState};

/// Brings models onto the disk. Methods return at once.
pub trait Transfers: Send + Sync {
    /// All of them, the newest first.
    ///
    /// # Errors
    /// When they cannot be told.
    fn list(&self) -> Result<Vec<Transfer>, ApiError>;

    /// Begins a download.
    ///
    /// # Errors
    /// When there is no such name, or the network is switched off.
    fn download(&self, model: &str, revision: Option<&str>) -> Result<Transfer, ApiError>;

    /// Begins the import of a GGUF file, whose other weights are quantized to `bits`.
    ///
    /// # Errors
    /// When there is no such file.
    fn import(&self, path: &str, bits: Option<u8>) -> Result<Transfer, ApiError>;

    /// Changes the course of one.
    ///
    /// # Errors
    /// When there is none of that id, or its state does not allow it.
    fn change(&self, id: &str, change: TransferChange) -> Result<Transfer, ApiError>;
}

/// What becomes of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferChange {
    /// It stops, and may go on.
    Pause,
    /// It goes on.
    Resume,
    /// It stops, and what came is removed.
    Cancel,
    /// It is over, and leaves the list.
    Clear,
}

/// A download or an import.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Transfer {
    /// Names it.
    pub id: String,
    /// What it does.
    pub kind: TransferKind,
    /// The model's id.
    pub model: String,
    /// How it stands.
    pub state: TransferState,
    /// Bytes here, those of earlier runs included.
    pub n_bytes_done: u64,
    /// All bytes, once they are known.
    pub n_bytes: Option<u64>,
    /// Bytes per second lately.
    pub bytes_per_s: Option<f64>,
    /// Seconds left, steadily.
    pub left_s: Option<f64>,
    /// Why it failed, and what to do.
    pub error: Option<String>,
    /// Where the model is, once it is there.
    pub path: Option<String>,
    /// When it began, in UTC.
    pub started: String,
}

impl Transfer {
    /// Whether it runs, waits or may go on.
    pub fn is_open(&self) -> bool {
        use TransferState::{Failed, Paused, Running, Waiting};
        matches!(self.state, Waiting | Running | Paused | Failed)
    }
}

/// What a transfer does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TransferKind {
    /// From the Hub.
    Download,
    /// Of a GGUF file.
    Import,
}

/// How a transfer stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TransferState {
    /// Others go first.
    Waiting,
    /// Bytes come.
    Running,
    /// Somebody stopped it for now.
    Paused,
    /// All is there.
    Done,
    /// It ended before that.
    Failed,
    /// Somebody gave it up.
    Cancelled,
}

/// All transfers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TransferList {
    /// The newest first.
    pub transfers: Vec<Transfer>,
}

/// What to download.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DownloadBody {
    /// A short name, or `owner/name` of the Hub.
    pub model: String,
    /// Branch, tag or commit; `main` by default.
    #[serde(default)]
    pub revision: Option<String>,
}

/// What to import.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportBody {
    /// The GGUF file.
    pub path: String,
    /// Bits for weights that MLX cannot take over as they are; 2 to 8.
    #[serde(default)]
    pub quantize: Option<u8>,
}

/// Which one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfId {
    /// Its id.
    pub id: String,
}

/// The routes.
pub fn routes() -> Router<ServerState> {
    let change = |change: TransferChange| {
        post(
            move |State(state): State<ServerState>, request: Request| async move { alter(state, request, change).await },
        )
    };
    Router::new()
        .route("/control/v1/transfers", get(list).post(start))
        .route("/control/v1/models/import", post(import))
        .route("/control/v1/transfers/pause", change(TransferChange::Pause))
        .route("/control/v1/transfers/resume", change(TransferChange::Resume))
        .route("/control/v1/transfers/cancel", change(TransferChange::Cancel))
        .route("/control/v1/transfers/clear", change(TransferChange::Clear))
}

async fn list(State(state): State<ServerState>) -> Response {
    ask(&state, &state.parts.transfers, |part| Ok(TransferList { transfers: part.list()? })).await
}

async fn start(State(state): State<ServerState>, request: Request) -> Response {
    match read::<DownloadBody>(&state, request).await {
        Ok(body) => {
            ask(&state, &state.parts.transfers, move |part| part.download(&body.model, body.revision.as_deref())).await
        }
        Err(error) => refuse(&error),
    }
}

async fn import(State(state): State<ServerState>, request: Request) -> Response {
    match read::<ImportBody>(&state, request).await {
        Ok(ImportBody { quantize: Some(bits), .. }) if !(2..=8).contains(&bits) => {
            answer::<Transfer>(Err(ApiError::invalid("quantize", format!("must be between 2 and 8, not {bits}"))))
        }
        Ok(body) => ask(&state, &state.parts.transfers, move |part| part.import(&body.path, body.quantize)).await,
        Err(error) => refuse(&error),
    }
}

async fn alter(state: ServerState, request: Request, change: TransferChange) -> Response {
    match read::<OfId>(&state, request).await {
        Ok(body) => ask(&state, &state.parts.transfers, move |part| part.change(&body.id, change)).await,
        Err(error) => refuse(&error),
    }
}
