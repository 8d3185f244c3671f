//! `/control/v1/cloud/key`: the key of the server in the cloud. It goes in, and never out.

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::{get, post};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ask::{ask, read, refuse};
use super::upkeep::Nothing;
use crate::{ApiError, ServerState};

/// Keeps the key where this user's secrets are.
pub trait CloudKey: Send + Sync {
    /// Whether there is one, and where.
    ///
    /// # Errors
    /// When the place is locked or damaged.
    fn look(&self) -> Result<CloudKeyInfo, ApiError>;

    /// Keeps `key` in place of what was there.
    ///
    /// # Errors
    /// When it is no key, or the place does not take it.
    fn keep(&self, key: &str) -> Result<(), ApiError>;

    /// Forgets it, if it was there.
    ///
    /// # Errors
    /// As [`look`](Self::look).
    fn forget(&self) -> Result<(), ApiError>;
}

/// Whether there is a key, without the key.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CloudKeyInfo {
    /// Whether there is one.
    pub is_kept: bool,
    /// The file that it is kept in; `null` is the system's keychain.
    pub path: Option<String>,
}

/// A key to keep.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CloudKeyBody {
    /// The key.
    pub key: String,
}

/// The routes.
pub fn routes() -> Router<ServerState> {
    Router::new()
        .route("/control/v1/cloud/key", get(look).post(keep))
        .route("/control/v1/cloud/key/remove", post(forget))
}

async fn look(State(state): State<ServerState>) -> Response {
    ask(&state, &state.parts.cloud_key, |part| part.look()).await
}

async fn keep(State(state): State<ServerState>, request: Request) -> Response {
    let CloudKeyBody { key } = match read(&state, request).await {
        Ok(body) => body,
        Err(error) => return refuse(&error),
    };
    ask(&state, &state.parts.cloud_key, move |part| {
        part.keep(&key)?;
        part.look()
    })
    .await
}

async fn forget(State(state): State<ServerState>, request: Request) -> Response {
    if let Err(error) = read::<Nothing>(&state, request).await {
        return refuse(&error);
    }
    ask(&state, &state.parts.cloud_key, |part| {
        part.forget()?;
        part.look()
    })
    .await
}
