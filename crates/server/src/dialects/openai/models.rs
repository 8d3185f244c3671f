//! `GET /v1/models` and `GET /v1/models/{id}`.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::error::Failure;
use crate::{ApiError, ServedModel, ServerState};

/// All served models.
pub async fn list(State(state): State<ServerState>) -> Response {
    let data: Vec<Value> = state.models.all().iter().map(|model| entry(model)).collect();
    Json(json!({ "object": "list", "data": data })).into_response()
}

/// One model by id or alias; ids may hold slashes.
pub async fn retrieve(
    State(state): State<ServerState>,
    id: Result<Path<String>, PathRejection>,
) -> Result<Response, Failure> {
    let Path(id) = id.map_err(|_| ApiError::invalid("model", "must be UTF-8 text in percent encoding"))?;
    let model = state.models.find(Some(&id))?;
    Ok(Json(entry(&model)).into_response())
}

/// OpenAI's four fields, then the context's length under the names that clients look for.
fn entry(model: &ServedModel) -> Value {
    let n_context = model.engine.info().n_context;
    json!({
        "id": model.id,
        "object": "model",
        "created": model.created.as_second(),
        "owned_by": "tokbar",
        "max_model_len": n_context,
        "context_window": n_context,
        "aliases": model.aliases,
    })
}
