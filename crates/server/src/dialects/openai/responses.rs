//! `POST /v1/responses`, and the answers kept of it.

mod input;
mod output;
mod printer;
mod request;
mod tools;

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Extension, Path, Request, State};
use axum::response::{IntoResponse, Response};
use futures::StreamExt;
use serde_json::json;

use self::output::Output;
use self::printer::{EventPrinter, Keeping, Outline};
use super::error::Failure;
use super::parameters::Delivery;
use crate::body::read_json;
use crate::generation::Update;
use crate::guard::Caller;
use crate::kept::KeptAnswer;
use crate::stream::{Updates, frames, response, updates};
use crate::{ApiError, ServerState, constraint, generate, notices, sse};

type Id = Result<Path<String>, PathRejection>;

/// Answers a conversation of items, whole or as a stream.
pub async fn create(State(state): State<ServerState>, request: Request) -> Result<Response, Failure> {
    let caller = request.extensions().get::<Caller>().cloned().unwrap_or(Caller(None));
    let body = read_json(&state, request).await?;
    let call = request::parse(&state, body, &caller)?;
    let generations = generate::start(&state, &call.model, call.job)
        .await
        .map_err(|error| constraint::named(error, "text.format"))?;
    let notices = notices::of(&generations);
    let updates = updates(generations, call.timeout);
    let outline = call.outline;
    let keeping =
        Keeping { kept: call.is_kept.then(|| state.kept.clone()), caller, input: call.input, turns: call.turns };
    let output = Output::new(call.tools, call.reasoning, call.model.text.tokenizer.clone());
    let answer = match call.delivery {
        Delivery::Whole => whole(outline, output, updates, keeping).await?,
        Delivery::Stream(_) => {
            let printer = EventPrinter::new(outline, output, keeping);
            response(frames(updates, printer, state.options.keep_alive), sse::CONTENT_TYPE)
        }
    };
    Ok(notices::attach(answer, notices))
}

async fn whole(
    outline: Outline,
    mut output: Output,
    mut updates: Updates,
    keeping: Keeping,
) -> Result<Response, ApiError> {
    // The events that a stream would carry are not sent.
    let (mut unsent, mut ending) = (Vec::new(), None);
    while let Some((_, update)) = updates.next().await {
        match update {
            Update::Prompt(_) => {}
            Update::Piece { event, .. } => output.add(event, &mut unsent),
            Update::Finish { reason, usage, .. } => ending = Some((reason, usage)),
            Update::Failed(error) => return Err(error),
        }
        unsent.clear();
    }
    let (reason, usage) = ending.ok_or(ApiError::Stopping)?;
    let body = outline.finished(&mut output, (reason, &usage), &mut unsent);
    keeping.keep(&outline.id, &body);
    Ok(Json(body).into_response())
}

/// An answer that was kept.
pub async fn retrieve(
    State(state): State<ServerState>,
    Extension(caller): Extension<Caller>,
    id: Id,
) -> Result<Response, Failure> {
    let answer = find(&state, &path(id)?, &caller)?;
    Ok(Json(answer.body.clone()).into_response())
}

/// What the client sent for an answer that was kept.
pub async fn input_items(
    State(state): State<ServerState>,
    Extension(caller): Extension<Caller>,
    id: Id,
) -> Result<Response, Failure> {
    let answer = find(&state, &path(id)?, &caller)?;
    let id = |item: Option<&serde_json::Value>| item.map_or(serde_json::Value::Null, |item| item["id"].clone());
    let (first, last) = (id(answer.input.first()), id(answer.input.last()));
    let list = json!({
        "object": "list", "data": answer.input, "first_id": first, "last_id": last, "has_more": false,
    });
    Ok(Json(list).into_response())
}

/// Forgets an answer.
pub async fn delete(
    State(state): State<ServerState>,
    Extension(caller): Extension<Caller>,
    id: Id,
) -> Result<Response, Failure> {
    let id = path(id)?;
    if !state.kept.forget(&id, &caller) {
        return Err(not_kept(&id).into());
    }
    Ok(Json(json!({ "id": id, "object": "response", "deleted": true })).into_response())
}

/// Answers run only as long as their call does.
pub async fn cancel(id: Id) -> Result<Response, Failure> {
    let id = path(id)?;
    let detail = format!("{id:?} does not run in the background; close the connection of a call to cancel it");
    Err(ApiError::unsupported("response_id", detail).into())
}

fn path(id: Id) -> Result<String, ApiError> {
    id.map(|Path(id)| id).map_err(|_| ApiError::invalid("response_id", "must be UTF-8 text in percent encoding"))
}

fn find(state: &ServerState, id: &str, caller: &Caller) -> Result<Arc<KeptAnswer>, ApiError> {
    state.kept.get(id, caller).ok_or_else(|| not_kept(id))
}

fn not_kept(id: &str) -> ApiError {
    let advice = "answers with `store: true` are kept for a while in memory; send the whole conversation instead";
    ApiError::NotKept { what: "the response", id: id.to_owned(), advice }
}
