//! `/control/v1/bench`: measurements of this machine, now and before.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ask::{ask, query, read, refuse};
use super::transfers::OfId;
use crate::{ApiError, ServerState};

/// Measures. Methods return at once.
pub trait Benches: Send + Sync {
    /// What can be measured, and what was.
    ///
    /// # Errors
    /// When earlier results cannot be read.
    fn info(&self) -> Result<BenchInfo, ApiError>;

    /// Begins a run against the model, or the one that is loaded.
    ///
    /// # Errors
    /// When there is no such suite, no model is loaded, or a run is under way.
    fn run(&self, suite: &str, model: Option<&str>) -> Result<BenchRun, ApiError>;

    /// Ends a run early.
    ///
    /// # Errors
    /// When there is none of that id under way.
    fn cancel(&self, id: &str) -> Result<BenchRun, ApiError>;

    /// A run as a file.
    ///
    /// # Errors
    /// When there is none of that id.
    fn export(&self, id: &str, format: ExportFormat) -> Result<String, ApiError>;
}

/// What can be measured, and what was.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct BenchInfo {
    /// What can be measured.
    pub suites: Vec<BenchSuite>,
    /// The newest first.
    pub runs: Vec<BenchRun>,
}

/// Something that can be measured.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BenchSuite {
    /// Names it.
    pub id: String,
    /// To show.
    pub name: String,
    /// What it tells.
    pub about: String,
    /// About how many seconds it takes.
    pub about_s: u64,
}

/// A measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchRun {
    /// Names it.
    pub id: String,
    /// Of which suite.
    pub suite: String,
    /// Of which model.
    pub model: String,
    /// How it stands.
    pub state: BenchState,
    /// Part that is done, while it runs.
    pub part: Option<f64>,
    /// When it began, in UTC.
    pub started: String,
    /// What was measured.
    pub figures: Vec<BenchFigure>,
    /// Why it failed.
    pub error: Option<String>,
    /// Of this program.
    pub version: String,
    /// What it ran on.
    pub machine: String,
}

/// How a measurement stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BenchState {
    /// Under way.
    Running,
    /// All figures are there.
    Done,
    /// It ended before that.
    Failed,
    /// Somebody ended it.
    Cancelled,
}

/// A figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchFigure {
    /// What it is.
    pub name: String,
    /// Such as `tok/s`.
    pub unit: String,
    /// How much.
    pub value: f64,
}

/// What to measure.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BenchBody {
    /// Id of the suite.
    pub suite: String,
    /// The model; the one that is loaded by default.
    #[serde(default)]
    pub model: Option<String>,
}

/// A run as a file.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ForExport {
    /// Its id.
    pub id: String,
    /// As what.
    #[serde(default)]
    pub format: ExportFormat,
}

/// As what a run is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExportFormat {
    /// All of it.
    #[default]
    Json,
    /// One line per figure.
    Csv,
}

/// The routes.
pub fn routes() -> Router<ServerState> {
    Router::new()
        .route("/control/v1/bench", get(info))
        .route("/control/v1/bench/run", post(run))
        .route("/control/v1/bench/cancel", post(cancel))
        .route("/control/v1/bench/export", get(export))
}

async fn info(State(state): State<ServerState>) -> Response {
    ask(&state, &state.parts.benches, |part| part.info()).await
}

async fn run(State(state): State<ServerState>, request: Request) -> Response {
    match read::<BenchBody>(&state, request).await {
        Ok(body) => ask(&state, &state.parts.benches, move |part| part.run(&body.suite, body.model.as_deref())).await,
        Err(error) => refuse(&error),
    }
}

async fn cancel(State(state): State<ServerState>, request: Request) -> Response {
    match read::<OfId>(&state, request).await {
        Ok(body) => ask(&state, &state.parts.benches, move |part| part.cancel(&body.id)).await,
        Err(error) => refuse(&error),
    }
}

async fn export(State(state): State<ServerState>, uri: Uri) -> Response {
    let ForExport { id, format } = match query(&uri) {
        Ok(wanted) => wanted,
        Err(error) => return refuse(&error),
    };
    let Some(part) = state.parts.benches.clone() else {
        return ask(&state, &state.parts.benches, |part| part.info()).await;
    };
    let kind = match format {
        ExportFormat::Json => "application/json",
        ExportFormat::Csv => "text/csv; charset=utf-8",
    };
    match state.chores.run(move || part.export(&id, format)).await.and_then(|outcome| outcome) {
        Ok(text) => ([(header::CONTENT_TYPE, kind)], text).into_response(),
        Err(error) => refuse(&error),
    }
}
