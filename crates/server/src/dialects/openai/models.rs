//! `GET /v1/models` and `GET /v1/models/{id}`.

use axum::Json;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::error::Failure;
use crate::{ServedModel, ServerState};

/// All served models.
pub fn list(state: &ServerState) -> Response {
    let data: Vec<Value> = state.models.all().iter().map(|model| entry(model)).collect();
    Json(json!({ "object": "list", "data": data })).into_response()
}

/// One model by id or alias; ids may hold slashes.
///
/// # Errors
/// When there is none of that name.
pub fn retrieve(state: &ServerState, id: &str) -> Result<Response, Failure> {
    Ok(Json(entry(state.models.find(Some(id))?.as_ref())).into_response())
}

/// OpenAI's four fields, then what clients look for to set themselves up: the context's length under its usual names,
/// what the model can do, and what it is made of.
fn entry(model: &ServedModel) -> Value {
    let n_context = model.engine.info().n_context;
    let about = &model.about;
    json!({
        "id": model.id,
        "object": "model",
        "created": model.created.as_second(),
        "owned_by": "tokbar",
        "max_model_len": n_context,
        "context_window": n_context,
        "aliases": model.aliases,
        "capabilities": model.capabilities(),
        "family": about.family,
        "format": about.format,
        "quantization": about.quantization,
        "n_parameters": about.n_parameters,
        "size_bytes": about.n_bytes,
        "memory_bytes": model.engine.stats().memory_bytes,
    })
}
