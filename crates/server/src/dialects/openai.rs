//! OpenAI: `/v1/models`, `/v1/chat/completions`, `/v1/completions`, `/v1/responses`.

mod absent;
pub mod chat;
pub mod completions;
mod dry;
pub mod error;
mod events;
mod logprobs;
mod messages;
pub mod models;
mod parameters;
mod prompts;
mod ranking;
mod refused;
mod responses;
mod rules;
mod stream;
mod text_pieces;
mod wire;

use axum::Router;
use axum::routing::{any, get, post};

use serde_json::{Value, json};
use tokbar_chat::{Prompt, Tool};

use crate::fields::Fields;
use crate::{ApiError, ServerState};

/// All paths of the dialect but the listing of models, which it shares with Anthropic's.
pub fn routes() -> Router<ServerState> {
    let router = Router::new()
        .route("/v1/chat/completions", post(chat::create))
        .route("/v1/completions", post(completions::create))
        .route("/v1/responses", post(responses::create))
        .route("/v1/responses/{id}", get(responses::retrieve).delete(responses::delete))
        .route("/v1/responses/{id}/cancel", post(responses::cancel))
        .route("/v1/responses/{id}/input_items", get(responses::input_items));
    absent::PATHS.iter().fold(router, |router, path| router.route(path, any(absent::refuse)))
}

/// The conversation of a chat call's body, whatever else is in it.
///
/// # Errors
/// Names the field at fault.
pub fn read_prompt(body: Value) -> Result<Prompt, ApiError> {
    let mut fields = Fields::new("", body)?;
    Ok(Prompt::Chat {
        messages: messages::messages(&mut fields)?,
        tools: messages::tools(&mut fields)?,
        template_kwargs: chat::template_kwargs(&mut fields)?,
    })
}

/// The tools of an array as in a chat call's `tools`.
///
/// # Errors
/// Names the tool and field at fault.
pub fn read_tools(tools: Value) -> Result<Vec<Tool>, ApiError> {
    messages::tools(&mut Fields::new("", json!({ "tools": tools }))?)
}
