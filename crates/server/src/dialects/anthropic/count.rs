//! `POST /v1/messages/count_tokens`.

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::error::Failure;
use super::request;
use crate::body::read_json;
use crate::fields::Fields;
use crate::{ServerState, generate};

/// Tells how many tokens a conversation would have as a prompt.
pub async fn create(State(state): State<ServerState>, request: Request) -> Result<Response, Failure> {
    let mut fields = Fields::new("", read_json(&state, request).await?)?;
    let model = state.models.find(fields.string("model")?.as_deref())?;
    let n_tokens = generate::count(&state, &model, request::prompt(&mut fields)?.0).await?;
    Ok(Json(json!({ "input_tokens": n_tokens })).into_response())
}
