//! `POST /v1/messages`.

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use futures::StreamExt;
use serde_json::json;

use super::error::Failure;
use super::printer::EventPrinter;
use super::request::{self, Delivery};
use super::wire::{self, Content};
use crate::body::read_json;
use crate::cloud::{self, Outcome};
use crate::control::CloudDialect;
use crate::generation::Update;
use crate::stream::{Updates, frames, response, updates};
use crate::{ApiError, ServerState, constraint, generate, ids, notices, sse};

/// Answers a conversation, whole or as a stream.
pub async fn create(State(state): State<ServerState>, request: Request) -> Result<Response, Failure> {
    let headers = request.headers().clone();
    let mut body = read_json(&state, request).await?;
    let asked = cloud::asked(&state, CloudDialect::Anthropic, &headers, &mut body);
    let call = request::parse(&state, body)?;
    let stays = match cloud::offer(&state, asked, &call.model, call.job.prompts.first()).await? {
        Outcome::Routed(answer) => return Ok(*answer),
        Outcome::Stays(why) => why,
    };
    let generations = generate::start(&state, &call.model, call.job)
        .await
        .map_err(|error| constraint::named(error, "output_config.format"))?;
    let notices = notices::with(stays, &generations);
    let n_prompt = generations.first().map_or(0, |generation| generation.prompt().len());
    let blank = wire::blank(&ids::unique("msg_"), &call.model.id, n_prompt);
    let updates = updates(generations, state.options.call_timeout);
    let answer = match call.delivery {
        Delivery::Whole => whole(blank, updates).await?,
        Delivery::Stream => {
            let frames = frames(updates, EventPrinter::new(blank), state.options.keep_alive);
            response(frames, sse::CONTENT_TYPE)
        }
    };
    Ok(notices::attach(answer, notices))
}

async fn whole(mut answer: serde_json::Value, mut updates: Updates) -> Result<Response, ApiError> {
    let mut content = Content::default();
    while let Some((_, update)) = updates.next().await {
        match update {
            Update::Prompt(_) => {}
            Update::Piece { event, .. } => content.add(event),
            Update::Finish { reason, usage, stop_string } => {
                let (reason, stop) = wire::stop(reason, stop_string.as_deref());
                answer["stop_reason"] = json!(reason);
                answer["stop_sequence"] = stop;
                answer["usage"] = wire::usage_json(&usage);
            }
            Update::Failed(error) => return Err(error),
        }
    }
    answer["content"] = content.json();
    Ok(Json(answer).into_response())
}
