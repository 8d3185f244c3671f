//! `/control/v1/tools`: tools that the server itself calls for models, and calls that wait for a person's word.

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::{get, post};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokbar_chat::{Tool, ToolCall};

use super::ask::{DONE, answer, ask, read, refuse};
use crate::{ApiError, Later, ServerState};

/// Tools of others, which the server calls.
pub trait Toolbox: Send + Sync {
    /// The tools of the sources that `wish` names, with commas between them, or of all for `*`.
    ///
    /// # Errors
    /// When there is no such source, or it does not answer.
    fn tools(&self, wish: &str) -> Later<Vec<Tool>>;

    /// Calls one of them, once it may be called. What goes wrong is told in the result, as the model reads it.
    fn call(&self, call: ToolCall) -> Later<String>;

    /// What there is, and what waits.
    fn census(&self) -> ToolCensus;

    /// A person's word on a call that waits.
    ///
    /// # Errors
    /// When no such call waits.
    fn decide(&self, id: u64, word: Word) -> Result<(), ApiError>;
}

/// A person's word on a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// This time.
    Once,
    /// From now on until the server ends.
    Always,
    /// Not.
    Never,
}

/// What there is, and what waits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct ToolCensus {
    /// Where tools come from.
    pub sources: Vec<ToolSource>,
    /// Calls that wait for a word, the oldest first.
    pub waiting: Vec<WaitingCall>,
}

/// Where tools come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ToolSource {
    /// Its name.
    pub name: String,
    /// Its tools; `null` before it was first asked.
    pub tools: Option<Vec<String>>,
    /// What went wrong with it last.
    pub trouble: Option<String>,
}

/// A call that waits for a word.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WaitingCall {
    /// Names it.
    pub id: u64,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: serde_json::Value,
}

/// A word on a call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// Which call.
    pub id: u64,
    /// The word.
    pub word: Word,
}

/// The routes.
pub fn routes() -> Router<ServerState> {
    Router::new().route("/control/v1/tools", get(census)).route("/control/v1/tools/decide", post(decide))
}

async fn census(State(state): State<ServerState>) -> Response {
    if state.parts.toolbox.is_none() {
        return answer(Ok(ToolCensus::default()));
    }
    ask(&state, &state.parts.toolbox, |part| Ok(part.census())).await
}

async fn decide(State(state): State<ServerState>, request: Request) -> Response {
    let Decision { id, word } = match read::<Decision>(&state, request).await {
        Ok(decision) => decision,
        Err(error) => return refuse(&error),
    };
    if state.parts.toolbox.is_none() {
        let detail = format!("{id} is no call that waits for a word: this server has no tools of its own to call");
        return refuse(&ApiError::invalid("id", detail));
    }
    ask(&state, &state.parts.toolbox, move |part| part.decide(id, word).map(|()| DONE)).await
}
