//! `POST /api/chat`.

use axum::extract::{Request, State};
use axum::response::Response;
use serde_json::Value;
use tokbar_chat::Prompt;
use tokio::time::Instant;

use super::answer::{Head, Shape};
use super::error::Failure;
use super::printer::{self, Call, Delivery};
use super::{messages, options};
use crate::body::read_json;
use crate::fields::Fields;
use crate::{ApiError, ServerState};

/// Answers a conversation, line by line unless told otherwise.
pub async fn create(State(state): State<ServerState>, request: Request) -> Result<Response, Failure> {
    let started = Instant::now();
    let body = read_json(&state, request).await?;
    let call = parse(&state, body)?;
    let head = Head { shape: Shape::Chat, model: call.model.id.clone(), now: state.options.now, started };
    Ok(printer::answer(&state, call, head).await?)
}

fn parse(state: &ServerState, body: Value) -> Result<Call, ApiError> {
    let mut fields = Fields::new("", body)?;
    let model = options::model(state, &mut fields)?;
    options::refuse(&mut fields)?;
    let messages = messages::messages(&mut fields)?;
    options::keep_alive(&mut fields, &|| messages.is_empty())?;
    let template_kwargs = options::thinking(&model, &mut fields)?;
    let tools = messages::tools(&mut fields)?;
    let is_stream = fields.flag("stream")?.unwrap_or(true);
    let form = options::form(&mut fields)?;
    let options = options::options(&model, &mut fields)?;
    let prompt = (!messages.is_empty()).then_some(Prompt::Chat { messages, tools, template_kwargs });
    Ok(Call { model, prompt, form, options, delivery: if is_stream { Delivery::Stream } else { Delivery::Whole } })
}
