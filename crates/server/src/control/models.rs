//! `/control/v1/models`, `/places` and `/search`: what there is, what is loaded, and changes of both.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::Uri;
use axum::response::Response;
use axum::routing::{get, post};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::ask::{DONE, OfModel, answer, ask, query, read, refuse};
use super::shelf::{Consent, ModelDetail, ModelSettings, PlaceChange, Shelf};
use crate::lifecycle::{PinChange, Resident};
use crate::{ApiError, ServerState};

/// Tokens of context that fits are told for, unless a call says.
const N_CONTEXT: u64 = 8192;
const N_HITS: u32 = 20;
/// What a search may be asked for.
const N_WORDS_BYTES_MAX: usize = 200;
/// Longest context that anybody asks for, in tokens.
const N_CONTEXT_MAX: u64 = 1 << 24;

/// The routes.
pub fn routes() -> Router<ServerState> {
    Router::new()
        .route("/control/v1/models", get(list))
        .route("/control/v1/models/one", get(one))
        .route("/control/v1/models/load", post(load))
        .route("/control/v1/models/unload", post(unload))
        .route("/control/v1/models/pin", post(pin))
        .route("/control/v1/models/settings", get(settings).patch(set))
        .route("/control/v1/models/removal", get(removal))
        .route("/control/v1/models/delete", post(delete))
        .route("/control/v1/places", get(places))
        .route("/control/v1/places/add", post(add_place))
        .route("/control/v1/places/forget", post(forget_place))
        .route("/control/v1/search", get(search))
}

/// For how much context.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ForContext {
    /// Tokens of context that a model must have room for; 8192 by default.
    #[serde(default)]
    pub context: Option<u64>,
}

/// Words to look for.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ForWords {
    /// Words of the name.
    pub q: String,
    /// Most models shown, up to 100; 20 by default.
    #[serde(default)]
    pub limit: Option<u32>,
}

/// A model, or all.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnloadBody {
    /// Its id; `null` is all of them.
    pub model: Option<String>,
}

/// A model that stays or may go.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PinBody {
    /// Its id.
    pub model: String,
    /// Whether it stays; yes by default.
    #[serde(default = "yes")]
    pub pinned: bool,
}

fn yes() -> bool {
    true
}

/// A model to remove.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteBody {
    /// Its id, or its path.
    pub model: String,
    /// Whether somebody agreed that others lose it, too.
    #[serde(default)]
    pub consent: bool,
}

/// Settings of a model: those that are given change.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ModelSettingsBody {
    /// Its id.
    pub model: String,
    /// Fields of the model's settings.
    #[serde(flatten)]
    pub changes: Map<String, Value>,
}

/// A folder.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlaceBody {
    /// The folder.
    pub path: String,
}

async fn list(State(state): State<ServerState>, uri: Uri) -> Response {
    let n_context = match query::<ForContext>(&uri) {
        Ok(wanted) => wanted.context.unwrap_or(N_CONTEXT).clamp(1, N_CONTEXT_MAX),
        Err(error) => return refuse(&error),
    };
    let (residents, transfers) = (state.models.census().models, state.parts.transfers.clone());
    ask(&state, &state.parts.shelves, move |shelves| {
        let mut shelf = shelves.shelf(n_context)?;
        let under_way = transfers.map(|transfers| transfers.list()).transpose()?.unwrap_or_default();
        for model in &mut shelf.models {
            model.transfer =
                under_way.iter().find(|transfer| transfer.is_open() && transfer.model == model.id).cloned();
        }
        put_residents(&mut shelf, residents);
        Ok(shelf)
    })
    .await
}

/// Joins what is in memory to the list.
fn put_residents(shelf: &mut Shelf, residents: Vec<Resident>) {
    for resident in residents {
        let is_it = |model: &&mut super::shelf::Model| model.id == resident.id || model.aliases.contains(&resident.id);
        let found = shelf.models.iter_mut().find(is_it);
        if let Some(model) = found {
            model.resident = Some(resident);
        }
    }
}

async fn one(State(state): State<ServerState>, uri: Uri) -> Response {
    let name = match query::<OfModel>(&uri) {
        Ok(of) => of.model,
        Err(error) => return refuse(&error),
    };
    let residents = state.models.census().models;
    ask(&state, &state.parts.shelves, move |shelves| {
        let mut detail: ModelDetail = shelves.detail(&name)?;
        detail.model.resident = residents.into_iter().find(|resident| resident.id == detail.model.id);
        Ok(detail)
    })
    .await
}

async fn load(State(state): State<ServerState>, request: Request) -> Response {
    let outcome = async {
        let OfModel { model } = read(&state, request).await?;
        state.models.want(Some(&model)).await?;
        state.models.find(Some(&model)).map(|_| DONE)
    };
    answer(outcome.await)
}

async fn unload(State(state): State<ServerState>, request: Request) -> Response {
    let outcome = async {
        let UnloadBody { model } = read(&state, request).await?;
        let keeper = state.models.keeper()?;
        let names = match model {
            Some(name) => vec![name],
            None => state.models.all().iter().map(|model| model.id.clone()).collect(),
        };
        for name in names {
            keeper.unload(name).await?;
        }
        Ok(DONE)
    };
    answer(outcome.await)
}

async fn pin(State(state): State<ServerState>, request: Request) -> Response {
    let outcome = async {
        let PinBody { model, pinned } = read(&state, request).await?;
        let change = if pinned { PinChange::Set } else { PinChange::Lifted };
        state.models.keeper()?.pin(model, change).await.map(|()| DONE)
    };
    answer(outcome.await)
}

async fn settings(State(state): State<ServerState>, uri: Uri) -> Response {
    match query::<OfModel>(&uri) {
        Ok(of) => ask(&state, &state.parts.shelves, move |shelves| shelves.settings(&of.model)).await,
        Err(error) => refuse(&error),
    }
}

async fn set(State(state): State<ServerState>, request: Request) -> Response {
    let ModelSettingsBody { model, changes } = match read(&state, request).await {
        Ok(body) => body,
        Err(error) => return refuse(&error),
    };
    ask(&state, &state.parts.shelves, move |shelves| shelves.set(&model, &|known| merged(known, &changes))).await
}

/// Settings with some of them changed.
///
/// # Errors
/// Names the field that there is none of, or whose value cannot be used.
fn merged(known: &ModelSettings, changes: &Map<String, Value>) -> Result<ModelSettings, ApiError> {
    let mut whole = serde_json::to_value(known).unwrap_or_default();
    for (name, value) in changes {
        match whole.get_mut(name) {
            Some(field) => *field = value.clone(),
            None => return Err(ApiError::invalid(name, "is no setting of a model; see /control/v1/openapi.json")),
        }
    }
    serde_json::from_value(whole).map_err(|error| ApiError::invalid("body", format!("cannot be used: {error}")))
}

async fn removal(State(state): State<ServerState>, uri: Uri) -> Response {
    match query::<OfModel>(&uri) {
        Ok(of) => ask(&state, &state.parts.shelves, move |shelves| shelves.removal(&of.model)).await,
        Err(error) => refuse(&error),
    }
}

async fn delete(State(state): State<ServerState>, request: Request) -> Response {
    let body: DeleteBody = match read(&state, request).await {
        Ok(body) => body,
        Err(error) => return refuse(&error),
    };
    let loaded = state.models.census().models;
    let consent = if body.consent { Consent::Given } else { Consent::Absent };
    ask(&state, &state.parts.shelves, move |shelves| {
        let id = shelves.removal(&body.model)?.model;
        if loaded.iter().any(|resident| resident.id == id || resident.id == body.model) {
            let detail = format!("{id} is loaded: unload it first, then delete it");
            return Err(ApiError::wish(crate::error::Problem::Busy, detail));
        }
        shelves.remove(&body.model, consent)
    })
    .await
}

async fn places(State(state): State<ServerState>) -> Response {
    ask(&state, &state.parts.shelves, |shelves| shelves.places()).await
}

async fn add_place(State(state): State<ServerState>, request: Request) -> Response {
    change_place(state, request, PlaceChange::Add).await
}

async fn forget_place(State(state): State<ServerState>, request: Request) -> Response {
    change_place(state, request, PlaceChange::Forget).await
}

async fn change_place(state: ServerState, request: Request, change: PlaceChange) -> Response {
    match read::<PlaceBody>(&state, request).await {
        Ok(body) => ask(&state, &state.parts.shelves, move |shelves| shelves.change_place(&body.path, change)).await,
        Err(error) => refuse(&error),
    }
}

async fn search(State(state): State<ServerState>, uri: Uri) -> Response {
    let wanted: ForWords = match query(&uri) {
        Ok(wanted) => wanted,
        Err(error) => return refuse(&error),
    };
    let words = wanted.q.trim().to_owned();
    if words.is_empty() || words.len() > N_WORDS_BYTES_MAX {
        return refuse(&ApiError::invalid("q", format!("must be 1 to {N_WORDS_BYTES_MAX} bytes of words")));
    }
    let n_max = wanted.limit.unwrap_or(N_HITS).clamp(1, 100);
    ask(&state, &state.parts.shelves, move |shelves| shelves.search(&words, n_max)).await
}
