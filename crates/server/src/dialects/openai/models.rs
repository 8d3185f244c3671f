//! `GET /v1/models` and `GET /v1/models/{id}`.

use axum::Json;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::error::Failure;
use crate::control::Model;
use crate::{ServedModel, ServerState};

/// All served models, then those that a call may name to have them loaded.
pub async fn list(state: &ServerState) -> Response {
    let mut data: Vec<Value> = state.models.all().iter().map(|model| entry(model)).collect();
    data.extend(state.unloaded_models().await.iter().map(unloaded));
    Json(json!({ "object": "list", "data": data })).into_response()
}

/// A model that is on this machine and not in memory; what it would take is by its sizes.
fn unloaded(model: &Model) -> Value {
    json!({
        "id": model.id,
        "object": "model",
        "created": 0,
        "owned_by": "tokbar",
        "state": "available",
        "max_model_len": model.n_context,
        "context_window": model.n_context,
        "aliases": model.aliases,
        "capabilities": model.capabilities,
        "family": model.family,
        "format": model.disk.form,
        "quantization": model.quantization,
        "n_parameters": model.n_params,
        "size_bytes": model.size_bytes,
        "memory_bytes": model.fit.as_ref().map(|fit| fit.need_bytes),
    })
}

/// One model by id or alias; ids may hold slashes.
///
/// # Errors
/// When there is none of that name.
pub async fn retrieve(state: &ServerState, id: &str) -> Result<Response, Failure> {
    let found = match state.models.find(Some(id)) {
        Ok(model) => entry(&model),
        Err(error) => unloaded(&state.unloaded_model(id).await.ok_or(error)?),
    };
    Ok(Json(found).into_response())
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
        "state": "loaded",
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
