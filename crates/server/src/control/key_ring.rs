//! `/control/v1/keys`: who may call, by name; secrets are told once.

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::{get, post};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ask::{ask, read, refuse};
use crate::keys::{KeyScope, Keys};
use crate::{ApiError, ServerState};

/// Keeps this user's API keys. Methods read and write a file.
pub trait KeyRing: Send + Sync {
    /// All of them.
    ///
    /// # Errors
    /// When the file is damaged.
    fn list(&self) -> Result<Vec<KeyInfo>, ApiError>;

    /// What servers ask for: these, and those that are in no file.
    ///
    /// # Errors
    /// When the file is damaged.
    fn keys(&self) -> Result<Keys, ApiError>;

    /// Makes one; its secret is told this once.
    ///
    /// # Errors
    /// When the name is taken or none.
    fn add(&self, name: &str, scope: KeyScope) -> Result<NewKey, ApiError>;

    /// Removes one.
    ///
    /// # Errors
    /// When there is none of that name.
    fn remove(&self, name: &str) -> Result<(), ApiError>;
}

/// A key, without its secret.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct KeyInfo {
    /// Its name.
    pub name: String,
    /// `inference` or `manage`.
    #[schemars(extend("enum" = ["inference", "manage"]))]
    pub scope: String,
    /// When it was made, in UTC.
    pub created: String,
}

/// All keys.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct KeyList {
    /// By age.
    pub keys: Vec<KeyInfo>,
}

/// A key that was just made.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NewKey {
    /// Its name.
    pub name: String,
    /// What clients send; it is told only now.
    pub secret: String,
}

/// A key to make.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyBody {
    /// Letters, digits, `-`, `_` and `.`, up to 64.
    pub name: String,
    /// What its holder may do.
    #[serde(default)]
    pub scope: Scope,
}

/// What the holder of a key may do.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Use the models.
    #[default]
    Inference,
    /// And manage the server.
    Manage,
}

/// A key to remove.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyNameBody {
    /// Its name.
    pub name: String,
}

/// The routes.
pub fn routes() -> Router<ServerState> {
    Router::new().route("/control/v1/keys", get(keys).post(add_key)).route("/control/v1/keys/remove", post(remove_key))
}

async fn keys(State(state): State<ServerState>) -> Response {
    ask(&state, &state.parts.key_ring, |part| Ok(KeyList { keys: part.list()? })).await
}

async fn add_key(State(state): State<ServerState>, request: Request) -> Response {
    let KeyBody { name, scope } = match read(&state, request).await {
        Ok(body) => body,
        Err(error) => return refuse(&error),
    };
    let scope = match scope {
        Scope::Inference => KeyScope::Inference,
        Scope::Manage => KeyScope::Manage,
    };
    let doors = state.doors.clone();
    ask(&state, &state.parts.key_ring, move |part| {
        let key = part.add(&name, scope)?;
        doors.refresh(|| part.keys())?;
        Ok(key)
    })
    .await
}

async fn remove_key(State(state): State<ServerState>, request: Request) -> Response {
    let KeyNameBody { name } = match read(&state, request).await {
        Ok(body) => body,
        Err(error) => return refuse(&error),
    };
    let doors = state.doors.clone();
    ask(&state, &state.parts.key_ring, move |part| {
        part.remove(&name)?;
        doors.refresh(|| part.keys())?;
        Ok(KeyList { keys: part.list()? })
    })
    .await
}
