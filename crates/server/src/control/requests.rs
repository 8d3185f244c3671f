//! `/control/v1/requests`: the calls that run, and an end to one.

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::{get, post};
use schemars::JsonSchema;
use serde::Serialize;

use super::ask::{DONE, answer, read};
use super::live::prefill_tps;
use super::transfers::OfId;
use crate::error::Problem;
use crate::{ApiError, ServerState};

/// A call that runs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RunningCall {
    /// As in the answer's `x-request-id`.
    pub id: String,
    /// What it asks for, such as `Chat`.
    pub kind: String,
    /// The program that calls, such as `Claude Code`.
    pub client: String,
    /// The model that answers.
    pub model: String,
    /// What is being done.
    pub state: CallState,
    /// Sequences of it.
    pub n_sequences: usize,
    /// Tokens of its prompts.
    pub n_prompt: usize,
    /// Of these, computed so far; those from the cache count.
    pub n_computed: usize,
    /// Of these, from the cache.
    pub n_cached: usize,
    /// Tokens generated.
    pub n_output: usize,
    /// Part of the prompts that is computed, during prefill.
    pub part: Option<f64>,
    /// Seconds of prefill left.
    pub left_s: Option<f64>,
    /// Tokens per second, of all its sequences.
    pub tokens_per_s: Option<f64>,
    /// Seconds since it came.
    pub age_s: f64,
}

/// What is being done for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallState {
    /// Others go first.
    Waiting,
    /// Its prompt is computed.
    Prefill,
    /// It is answered.
    Decode,
}

/// All calls that run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Calls {
    /// The oldest first.
    pub requests: Vec<RunningCall>,
}

/// The routes.
pub fn routes() -> Router<ServerState> {
    Router::new().route("/control/v1/requests", get(list)).route("/control/v1/requests/cancel", post(cancel))
}

async fn list(State(state): State<ServerState>) -> Response {
    answer(Ok(Calls { requests: state.running.list(prefill_tps(&state)) }))
}

async fn cancel(State(state): State<ServerState>, request: Request) -> Response {
    let outcome = async {
        let OfId { id } = read(&state, request).await?;
        if state.running.cancel(&id) {
            Ok(DONE)
        } else {
            let detail = format!("no call {id:?} runs: it is done already");
            Err(ApiError::wish(Problem::Missing, detail))
        }
    };
    answer(outcome.await)
}
