//! `/control/models`: what is loaded, and changes of it.

use axum::Json;
use axum::Router;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::json;

use crate::body::read_body;
use crate::fields::Fields;
use crate::lifecycle::PinChange;
use crate::{ApiError, ServerState, dialects};

/// The routes; each needs the scope to manage.
pub fn routes() -> Router<ServerState> {
    Router::new()
        .route("/control/models", get(list))
        .route("/control/models/load", post(load))
        .route("/control/models/unload", post(unload))
        .route("/control/models/pin", post(pin))
}

async fn list(State(state): State<ServerState>) -> Response {
    Json(state.models.census()).into_response()
}

async fn load(State(state): State<ServerState>, request: Request) -> Response {
    answer(
        "/control/models/load",
        async {
            let name = name(&state, request).await?.0;
            state.models.want(Some(&name)).await?;
            state.models.find(Some(&name)).map(drop)
        }
        .await,
    )
}

async fn unload(State(state): State<ServerState>, request: Request) -> Response {
    let outcome = async { state.models.keeper()?.unload(name(&state, request).await?.0).await }.await;
    answer("/control/models/unload", outcome)
}

async fn pin(State(state): State<ServerState>, request: Request) -> Response {
    let outcome = async {
        let (name, mut fields) = name(&state, request).await?;
        let change = if fields.flag("pinned")?.unwrap_or(true) { PinChange::Set } else { PinChange::Lifted };
        state.models.keeper()?.pin(name, change).await
    };
    answer("/control/models/pin", outcome.await)
}

/// The model's name, and the other fields.
async fn name(state: &ServerState, request: Request) -> Result<(String, Fields), ApiError> {
    let mut fields = Fields::new("", read_body(state, request).await?)?;
    Ok((fields.required_string("model")?, fields))
}

fn answer(path: &str, outcome: Result<(), ApiError>) -> Response {
    match outcome {
        Ok(()) => Json(json!({ "status": "ok" })).into_response(),
        Err(error) => dialects::error_response(path, &error),
    }
}
