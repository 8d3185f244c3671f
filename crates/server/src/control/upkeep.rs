//! `/control/v1/cache`, `/doctor` and `/shutdown`: the cache on disk, what is wrong on this machine, and the end.

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::{get, post};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ask::{DONE, answer, ask, read, refuse};
use crate::{ApiError, ServerState};

/// Looks after what is on the disk. Methods may take long.
pub trait Upkeep: Send + Sync {
    /// The KV cache on disk.
    ///
    /// # Errors
    /// When it cannot be read.
    fn cache(&self) -> Result<DiskCache, ApiError>;

    /// Removes all of it that no running model uses.
    ///
    /// # Errors
    /// When the disk refuses.
    fn clear_cache(&self) -> Result<DiskCache, ApiError>;

    /// What is wrong on this machine.
    ///
    /// # Errors
    /// When that cannot be told.
    fn findings(&self) -> Result<Vec<Finding>, ApiError>;

    /// Has the server end once its calls are done.
    fn shut_down(&self);
}

/// The KV cache on disk.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct DiskCache {
    /// Its folder; `null` where there is none.
    pub dir: Option<String>,
    /// Bytes in it.
    pub n_bytes: u64,
    /// Most bytes.
    pub n_bytes_max: Option<u64>,
    /// By model.
    pub models: Vec<CachedModel>,
}

/// A model's part of the cache.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CachedModel {
    /// Its name.
    pub label: String,
    /// Bytes.
    pub n_bytes: u64,
}

/// Something that was looked at.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Finding {
    /// What.
    pub title: String,
    /// How it stands.
    pub state: FindingState,
    /// What was seen.
    pub detail: String,
    /// What helps.
    pub fix: Option<String>,
}

/// How something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingState {
    /// As it should.
    Good,
    /// It could be better.
    Note,
    /// It does not work.
    Bad,
}

/// All findings.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Findings {
    /// In the order looked at.
    pub findings: Vec<Finding>,
}

/// Nothing is to be said.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// The routes.
pub fn routes() -> Router<ServerState> {
    Router::new()
        .route("/control/v1/cache", get(cache))
        .route("/control/v1/cache/clear", post(clear))
        .route("/control/v1/doctor", get(doctor))
        .route("/control/v1/shutdown", post(shut_down))
}

async fn cache(State(state): State<ServerState>) -> Response {
    ask(&state, &state.parts.upkeep, |part| part.cache()).await
}

async fn clear(State(state): State<ServerState>, request: axum::extract::Request) -> Response {
    match read::<Nothing>(&state, request).await {
        Ok(_) => ask(&state, &state.parts.upkeep, |part| part.clear_cache()).await,
        Err(error) => refuse(&error),
    }
}

async fn doctor(State(state): State<ServerState>) -> Response {
    ask(&state, &state.parts.upkeep, |part| Ok(Findings { findings: part.findings()? })).await
}

async fn shut_down(State(state): State<ServerState>, request: axum::extract::Request) -> Response {
    let outcome = async {
        read::<Nothing>(&state, request).await?;
        let detail = "this server is not ended from here; press Ctrl-C where it runs";
        let path = "/control/v1/shutdown".to_owned();
        let part = state.parts.upkeep.as_ref().ok_or(ApiError::NotBuilt { path, detail })?;
        part.shut_down();
        Ok(DONE)
    };
    answer(outcome.await)
}
