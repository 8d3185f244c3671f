//! Our own endpoints, of no vendor's dialect: health and figures, and what manages the server.
//!
//! Each module holds a subject's types, the trait of the part of the program that knows it, and its routes.

mod ask;
mod bench;
mod clients;
mod cloud_key;
mod conversations;
mod key_ring;
mod live;
mod logs;
mod metrics;
mod models;
mod openapi;
mod requests;
mod settings;
mod shelf;
mod status;
mod tools;
mod transfers;
mod upkeep;

use axum::extract::State as Shared;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::json;

use self::ask::Part;
use crate::{ServerState, Upstream, dialects, web};

pub use bench::{BenchFigure, BenchInfo, BenchRun, BenchState, BenchSuite, Benches, ExportFormat};
pub use clients::{ClientFile, ClientHow, ClientInfo, ClientPlan, ClientTest, Clients, Snippet};
pub use cloud_key::{CloudKey, CloudKeyInfo};
pub use conversations::{
    ChatCall, ChatFigures, ChatMessage, ChatRole, Conversation, ConversationEntry, ConversationList, Conversations,
};
pub use key_ring::{KeyInfo, KeyRing, NewKey};
pub use live::{LastAnswer, Live};
pub use logs::{LogLevel, LogLine, Logbook};
pub use openapi::document as openapi;
pub use requests::{CallState, RunningCall};
pub use settings::{
    AppSettings, CacheSettings, CloudDialect, CloudSettings, KeepSettings, Lan, McpSettings, Preferences,
    ServerSettings, Settings, SettingsAnswer, StartSettings,
};
pub use shelf::{
    Consent, Detected, Disk, DiskState, Fit, Formats, Found, Hit, Machine, Model, ModelDetail, ModelSettings, Note,
    PlaceChange, PlaceInfo, Places, Recommended, Removal, Removed, Shelf, Shelves, Verdict,
};
pub use status::{Endpoints, SafeNote, Site, State, StateKind, Status};
pub use tools::{ToolCensus, ToolSource, Toolbox, WaitingCall, Word};
pub use transfers::{Transfer, TransferChange, TransferKind, TransferState, Transfers};
pub use upkeep::{CachedModel, DiskCache, Finding, FindingState, Upkeep};

/// The parts of the program that the control API reaches; what is absent answers 501.
#[derive(Clone, Default)]
pub struct Parts {
    /// Where the server is.
    pub site: Site,
    /// Models on disk and known ones.
    pub shelves: Part<dyn Shelves>,
    /// Downloads and imports.
    pub transfers: Part<dyn Transfers>,
    /// Settings.
    pub preferences: Part<dyn Preferences>,
    /// API keys.
    pub key_ring: Part<dyn KeyRing>,
    /// The log.
    pub logbook: Part<dyn Logbook>,
    /// Clients that can be set up.
    pub clients: Part<dyn Clients>,
    /// What was talked about.
    pub conversations: Part<dyn Conversations>,
    /// Tools that the server calls.
    pub toolbox: Part<dyn Toolbox>,
    /// Measurements.
    pub benches: Part<dyn Benches>,
    /// The disk and the end.
    pub upkeep: Part<dyn Upkeep>,
    /// Where long prompts may go.
    pub cloud: Part<dyn Upstream>,
    /// The key for that.
    pub cloud_key: Part<dyn CloudKey>,
}

/// How a program without pages comes by them.
const NO_UI: &str = "\nThis program was built without its pages. `cargo xtask run` builds them in; or run\n\
                     `cargo xtask ui`, then build the program again.\n";

const ABOUT: &str = concat!(
    "Tokbar ",
    env!("CARGO_PKG_VERSION"),
    " is running.\n\n",
    "GET  /health               is it up, and what is loaded\n",
    "GET  /ready                is a model loaded\n",
    "GET  /metrics              what the engine does (Prometheus)\n",
    "GET  /v1/models            the models served (OpenAI)\n",
    "POST /v1/chat/completions  chat (OpenAI)\n",
    "POST /v1/completions       continue text (OpenAI)\n",
    "POST /v1/responses         answer items (OpenAI)\n",
    "POST /v1/messages          chat (Anthropic)\n",
    "GET  /api/tags             the models served (Ollama)\n",
    "POST /api/chat             chat (Ollama)\n",
    "POST /api/generate         answer or continue text (Ollama)\n",
);

/// The paths of the dialects that have no name in them.
pub(crate) fn endpoints() -> impl Iterator<Item = &'static str> {
    openapi::vendor_paths().filter(|path| !path.contains('{'))
}

/// `/`, `/health` and `/ready`, open without a key, `/metrics`, and what manages the server.
pub fn routes() -> Router<ServerState> {
    Router::new()
        .route("/", get(about))
        .route("/health", get(health))
        .route("/ready", get(ready))
        .route("/metrics", get(metrics))
        .merge(status::routes())
        .merge(live::routes())
        .merge(requests::routes())
        .merge(models::routes())
        .merge(transfers::routes())
        .merge(settings::routes())
        .merge(key_ring::routes())
        .merge(cloud_key::routes())
        .merge(logs::routes())
        .merge(clients::routes())
        .merge(conversations::routes())
        .merge(tools::routes())
        .merge(bench::routes())
        .merge(upkeep::routes())
        .merge(openapi::routes())
}

/// The UI for browsers, a list of endpoints for programs.
async fn about(headers: HeaderMap) -> Response {
    let text = || {
        let note = if web::is_built_in() { "" } else { NO_UI };
        ([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], format!("{ABOUT}{note}")).into_response()
    };
    web::page(&headers).unwrap_or_else(text)
}

async fn health(Shared(state): Shared<ServerState>) -> Response {
    let (n_models, safe_mode) = (state.models.all().len(), state.parts.site.safe_mode.now());
    let mut said = json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION"), "n_models": n_models });
    // Why a second caller waits, for whoever looks no further.
    if safe_mode.is_some() {
        said["safe_mode"] = json!("one sequence at a time after an unclean end; see /control/v1/status");
    }
    Json(said).into_response()
}

/// Whether calls can be answered now: for whoever sends them here or elsewhere.
async fn ready(Shared(state): Shared<ServerState>) -> Response {
    match state.models.find(None) {
        Ok(model) => Json(json!({ "status": "ready", "model": model.id })).into_response(),
        Err(error) => dialects::error_response("/ready", &error),
    }
}

async fn metrics(Shared(state): Shared<ServerState>) -> Response {
    let models = state.models.all();
    let text = metrics::text(models.iter().map(AsRef::as_ref));
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}
