//! `GET /v1/models` and `GET /v1/models/{id}` for Anthropic's clients.

use axum::Json;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::error::Failure;
use crate::{ServedModel, ServerState};

/// All served models, on one page.
pub fn list(state: &ServerState) -> Response {
    let data: Vec<Value> = state.models.all().iter().map(|model| entry(model)).collect();
    let id = |entry: Option<&Value>| entry.map_or(Value::Null, |entry| entry["id"].clone());
    let (first, last) = (id(data.first()), id(data.last()));
    Json(json!({ "data": data, "has_more": false, "first_id": first, "last_id": last })).into_response()
}

/// One model by id or alias.
///
/// # Errors
/// When there is none of that name.
pub fn retrieve(state: &ServerState, id: &str) -> Result<Response, Failure> {
    Ok(Json(entry(state.models.find(Some(id))?.as_ref())).into_response())
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
