//! `/control/v1/clients`: programs that can use the server, and how each is told to.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::Uri;
use axum::response::Response;
use axum::routing::{get, post};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ask::{ask, query, read, refuse};
use crate::{ApiError, ServerState};

/// Sets clients up. Methods may take long.
pub trait Clients: Send + Sync {
    /// All that are known.
    ///
    /// # Errors
    /// When the user has no home folder.
    fn list(&self) -> Result<Vec<ClientInfo>, ApiError>;

    /// What setting one up would do; without a model the one that is loaded.
    ///
    /// # Errors
    /// When there is none of that id, or its settings cannot be read.
    fn plan(&self, client: &str, model: Option<&str>) -> Result<ClientPlan, ApiError>;

    /// Sets one up, with `key` to send where the server asks for one.
    ///
    /// # Errors
    /// As [`plan`](Self::plan), and when a key is needed, or the disk refuses.
    fn apply(&self, client: &str, model: Option<&str>, key: Option<&str>) -> Result<ClientPlan, ApiError>;

    /// Takes back what was set up.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    fn remove(&self, client: &str) -> Result<ClientPlan, ApiError>;

    /// Makes a call as the client would.
    ///
    /// # Errors
    /// When there is none of that id.
    fn test(&self, client: &str, model: Option<&str>) -> Result<ClientTest, ApiError>;
}

/// A client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ClientInfo {
    /// Names it.
    pub id: String,
    /// To show.
    pub name: String,
    /// How it is told.
    pub how: ClientHow,
    /// Whether it is on this machine, if that can be seen.
    pub is_installed: Option<bool>,
    /// Whether it is set up.
    pub is_connected: bool,
    /// Its settings.
    pub path: Option<String>,
}

/// How a client is told where the server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClientHow {
    /// By a file that can be written for it.
    Config,
    /// By variables of its environment.
    Env,
    /// By a person, step by step.
    Steps,
    /// By lines in a program.
    Snippet,
}

/// What setting a client up does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ClientPlan {
    /// Which client.
    pub client: ClientInfo,
    /// Files that are written.
    pub files: Vec<ClientFile>,
    /// Text to copy.
    pub snippets: Vec<Snippet>,
    /// What a person does.
    pub steps: Vec<String>,
    /// Whether there is something to take back.
    pub is_removal_possible: bool,
}

/// A file that is written for a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ClientFile {
    /// Where.
    pub path: String,
    /// What it holds now; `null` if it is not there.
    pub before: Option<String>,
    /// What it will hold.
    pub after: String,
    /// The lines that change.
    pub diff: String,
}

/// Text to copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Snippet {
    /// What it is for.
    pub title: String,
    /// Such as `python` or `sh`.
    pub language: String,
    /// The text.
    pub text: String,
}

/// How a call as the client makes it went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ClientTest {
    /// Whether it was answered.
    pub ok: bool,
    /// The answer, or what went wrong and what to do.
    pub words: String,
    /// Milliseconds.
    pub took_ms: u64,
}

/// All clients.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ClientList {
    /// By name.
    pub clients: Vec<ClientInfo>,
}

/// A client, and for which model.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfClient {
    /// Its id.
    pub client: String,
    /// The model that it is to use; the one that is loaded by default.
    #[serde(default)]
    pub model: Option<String>,
}

/// A client to set up.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApplyBody {
    /// Its id.
    pub client: String,
    /// The model that it is to use; the one that is loaded by default.
    #[serde(default)]
    pub model: Option<String>,
    /// The key that it is to send, where the server asks for one.
    #[serde(default)]
    pub key: Option<String>,
}

/// The routes.
pub fn routes() -> Router<ServerState> {
    Router::new()
        .route("/control/v1/clients", get(list))
        .route("/control/v1/clients/one", get(one))
        .route("/control/v1/clients/apply", post(apply))
        .route("/control/v1/clients/remove", post(remove))
        .route("/control/v1/clients/test", post(test))
}

async fn list(State(state): State<ServerState>) -> Response {
    ask(&state, &state.parts.clients, |part| Ok(ClientList { clients: part.list()? })).await
}

async fn one(State(state): State<ServerState>, uri: Uri) -> Response {
    match query::<OfClient>(&uri) {
        Ok(of) => ask(&state, &state.parts.clients, move |part| part.plan(&of.client, of.model.as_deref())).await,
        Err(error) => refuse(&error),
    }
}

async fn apply(State(state): State<ServerState>, request: Request) -> Response {
    match read::<ApplyBody>(&state, request).await {
        Ok(ApplyBody { client, model, key }) => {
            ask(&state, &state.parts.clients, move |part| part.apply(&client, model.as_deref(), key.as_deref())).await
        }
        Err(error) => refuse(&error),
    }
}

async fn remove(State(state): State<ServerState>, request: Request) -> Response {
    match read::<OfClient>(&state, request).await {
        Ok(of) => ask(&state, &state.parts.clients, move |part| part.remove(&of.client)).await,
        Err(error) => refuse(&error),
    }
}

async fn test(State(state): State<ServerState>, request: Request) -> Response {
    match read::<OfClient>(&state, request).await {
        Ok(of) => ask(&state, &state.parts.clients, move |part| part.test(&of.client, of.model.as_deref())).await,
        Err(error) => refuse(&error),
    }
}
