//! `GET /v1/models` and `GET /v1/models/{id}` for Anthropic's clients.

use axum::Json;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::error::Failure;
use crate::control::Model;
use crate::{ServedModel, ServerState};

/// All served models, then those that a call may name to have them loaded, on one page.
pub async fn list(state: &ServerState) -> Response {
    let mut data: Vec<Value> = state.models.all().iter().map(|model| entry(model)).collect();
    data.extend(state.unloaded_models().await.iter().map(unloaded));
    let id = |entry: Option<&Value>| entry.map_or(Value::Null, |entry| entry["id"].clone());
    let (first, last) = (id(data.first()), id(data.last()));
    Json(json!({ "data": data, "has_more": false, "first_id": first, "last_id": last })).into_response()
}

/// One model by id or alias.
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

/// A model that is on this machine and not in memory; the epoch stands for a date that nobody knows.
fn unloaded(model: &Model) -> Value {
    json!({
        "type": "model",
        "id": model.id,
        "display_name": model.name,
        "created_at": "1970-01-01T00:00:00Z",
        "max_input_tokens": model.n_context,
    })
}

fn entry(model: &ServedModel) -> Value {
    json!({
        "type": "model",
        "id": model.id,
        "display_name": model.id,
        "created_at": model.created.to_string(),
        "max_input_tokens": model.engine.info().n_context,
    })
}
