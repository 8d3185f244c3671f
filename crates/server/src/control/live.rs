//! `/control/v1/live`: what goes on, once a second, computed only while somebody looks.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State as Shared;
use axum::http::Uri;
use axum::response::Response;
use axum::routing::get;
use futures::stream::{self, StreamExt};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokbar_engine::Stats;

use super::ask::{answer, query, refuse};
use super::requests::RunningCall;
use super::status::State;
use super::transfers::{Transfer, TransferState};
use crate::lifecycle::{Act, Census, Level, PressureChange, Resident};
use crate::{ApiError, ServedModel, ServerState, sse, stream as frames};

const EVERY_MS: u64 = 1000;
const EVERY_MS_RANGE: (u64, u64) = (250, 60_000);

/// What goes on.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Live {
    /// When, in UTC.
    pub at: String,
    /// In one word.
    pub state: State,
    /// Models in memory, or on their way.
    pub models: Vec<Resident>,
    /// How fast it goes.
    pub speed: Speed,
    /// The last answer that is complete.
    pub last_answer: Option<LastAnswer>,
    /// How much there is to do.
    pub queue: Queue,
    /// What kept KV saves.
    pub cache: CacheUse,
    /// What drafts save.
    pub drafts: DraftUse,
    /// Who holds the memory.
    pub memory: Memory,
    /// Calls that run.
    pub requests: Vec<RunningCall>,
    /// Downloads and imports that run.
    pub transfers: Vec<Transfer>,
    /// What was done of late with models and memory, the newest last.
    pub acts: Vec<Act>,
}

/// How fast it goes.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Speed {
    /// Decode of all sequences together, in tokens per second; 0 when nothing runs.
    pub decode_tps: f64,
    /// Prefill, in tokens per second, of late.
    pub prefill_tps: f64,
    /// Milliseconds between two tokens of a sequence, half of the time.
    pub itl_p50_ms: Option<f64>,
    /// The same, 95 of 100 times.
    pub itl_p95_ms: Option<f64>,
}

/// An answer that is complete.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LastAnswer {
    /// Whose.
    pub model: String,
    /// For whom.
    pub client: String,
    /// Milliseconds from the call to its first token.
    pub ttft_ms: f64,
    /// Tokens of the prompt.
    pub n_prompt: usize,
    /// Of these, from the cache.
    pub n_cached: usize,
    /// Tokens of the answer.
    pub n_output: usize,
    /// Tokens per second after the first.
    pub tokens_per_s: Option<f64>,
    /// When it was complete, in UTC.
    pub at: String,
}

/// How much there is to do.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Queue {
    /// Sequences that run.
    pub n_running: usize,
    /// Sequences that wait.
    pub n_waiting: usize,
}

/// What kept KV saves.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct CacheUse {
    /// Part of all prompt tokens that came from kept KV; `null` before the first.
    pub hit_rate: Option<f64>,
    /// Prompt tokens that came from kept KV.
    pub n_hit_tokens: u64,
    /// Prompt tokens that were computed.
    pub n_prompt_tokens: u64,
    /// Positions that are kept.
    pub n_kept_tokens: usize,
    /// Bytes on disk.
    pub disk_bytes: u64,
}

/// What drafts save.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct DraftUse {
    /// Part of all drafts that were right; `null` before the first.
    pub acceptance_rate: Option<f64>,
    /// Tokens of a step that verified drafts, on average.
    pub accepted_length_mean: Option<f64>,
    /// Drafts.
    pub n_drafted: u64,
    /// Drafts that were right.
    pub n_accepted: u64,
}

/// Who holds the memory, in bytes.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Memory {
    /// All of it.
    pub total_bytes: u64,
    /// Other programs and the system.
    pub apps_bytes: u64,
    /// This program.
    pub tokbar_bytes: u64,
    /// Nobody.
    pub free_bytes: u64,
    /// Of this program: models and what they compute with.
    pub model_bytes: u64,
    /// Of this program: kept KV.
    pub cache_bytes: u64,
    /// KV of running sequences.
    pub kv: KvUse,
    /// How short of memory the machine is.
    pub pressure: Level,
    /// How that changed, the newest last.
    pub pressure_history: Vec<PressureChange>,
}

/// KV of running sequences.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct KvUse {
    /// Positions.
    pub n_tokens: usize,
    /// Bytes.
    pub n_bytes: u64,
    /// Most bytes, with what is kept; `null` where there is no such limit.
    pub n_budget_bytes: Option<u64>,
}

/// How often.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ForPeriod {
    /// Milliseconds between two frames, 250 to 60000; 1000 by default.
    #[serde(default)]
    pub every_ms: Option<u64>,
}

/// The routes.
pub fn routes() -> Router<ServerState> {
    Router::new().route("/control/v1/live", get(live)).route("/control/v1/live/now", get(now))
}

async fn now(Shared(state): Shared<ServerState>) -> Response {
    answer(Ok(Live::now(&state)))
}

async fn live(Shared(state): Shared<ServerState>, uri: Uri) -> Response {
    let every_ms = match query::<ForPeriod>(&uri) {
        Ok(wanted) => wanted.every_ms.unwrap_or(EVERY_MS),
        Err(error) => return refuse(&error),
    };
    let (least, most) = EVERY_MS_RANGE;
    if !(least..=most).contains(&every_ms) {
        return refuse(&ApiError::invalid("every_ms", format!("must be between {least} and {most}, not {every_ms}")));
    }
    let mut ticks = tokio::time::interval(Duration::from_millis(every_ms));
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let next = move |(mut ticks, state): (tokio::time::Interval, ServerState)| async move {
        tokio::select! {
            _ = ticks.tick() => {}
            () = state.closing.begun() => return None,
        }
        let mut frame = Vec::new();
        sse::event("frame", &Live::now(&state), &mut frame);
        Some((Bytes::from(frame), (ticks, state)))
    };
    frames::response(stream::unfold((ticks, state), next).boxed(), sse::CONTENT_TYPE)
}

/// Decode of all models together, in tokens per second; 0 when nothing runs.
pub fn decode_tps(state: &ServerState) -> f64 {
    let stats = state.models.all().iter().map(|model| model.engine.stats()).collect::<Vec<_>>();
    stats.iter().filter(|stats| stats.n_running > 0).map(|stats| stats.decode_tokens_per_s).sum()
}

/// Prefill of all models together, in tokens per second, of late.
pub fn prefill_tps(state: &ServerState) -> f64 {
    state.models.all().iter().map(|model| model.engine.stats().prefill_tokens_per_s).sum()
}

impl Live {
    /// Of a server, now. Asks its engines for figures that they keep anyway.
    pub fn now(server: &ServerState) -> Self {
        let census = server.models.census();
        let models = server.models.all();
        let all: Vec<(Stats, usize)> =
            models.iter().map(|model| (model.engine.stats(), model.engine.info().kv_bytes_per_token)).collect();
        let (itl_p50_ms, itl_p95_ms) = server.running.gaps_ms();
        let prefill_tps = prefill_tps(server);
        Self {
            at: Timestamp::now().to_string(),
            state: State::now(server, &census),
            speed: Speed { decode_tps: decode_tps(server), prefill_tps, itl_p50_ms, itl_p95_ms },
            last_answer: server.running.last(),
            queue: Queue {
                n_running: all.iter().map(|(stats, _)| stats.n_running).sum(),
                n_waiting: all.iter().map(|(stats, _)| stats.n_waiting).sum(),
            },
            cache: CacheUse::of(&all),
            drafts: DraftUse::of(&all),
            memory: Memory { kv: KvUse::of(&all, &models), ..Memory::of(&census, &all) },
            requests: server.running.list(prefill_tps),
            transfers: running_transfers(server),
            models: census.models,
            acts: census.acts,
        }
    }
}

/// Those that move; a list that cannot be told is told by its own route.
fn running_transfers(server: &ServerState) -> Vec<Transfer> {
    let list = server.parts.transfers.as_ref().and_then(|part| part.list().ok()).unwrap_or_default();
    let moves = |transfer: &Transfer| matches!(transfer.state, TransferState::Running | TransferState::Waiting);
    list.into_iter().filter(moves).collect()
}

impl CacheUse {
    fn of(all: &[(Stats, usize)]) -> Self {
        let sum = |count: fn(&Stats) -> u64| all.iter().map(|(stats, _)| count(stats)).sum::<u64>();
        let (n_hit_tokens, n_prompt_tokens) = (sum(|stats| stats.n_hit_tokens), sum(|stats| stats.n_prompt_tokens));
        let n_all = n_hit_tokens + n_prompt_tokens;
        Self {
            hit_rate: (n_all > 0).then(|| n_hit_tokens as f64 / n_all as f64),
            n_hit_tokens,
            n_prompt_tokens,
            n_kept_tokens: all.iter().map(|(stats, _)| stats.n_kept_tokens).sum(),
            disk_bytes: sum(|stats| stats.tier.n_bytes),
        }
    }
}

impl DraftUse {
    fn of(all: &[(Stats, usize)]) -> Self {
        let sum = |count: fn(&Stats) -> u64| all.iter().map(|(stats, _)| count(stats)).sum::<u64>();
        let (n_verified, n_drafted, n_accepted) = (
            sum(|stats| stats.drafts.n_verified),
            sum(|stats| stats.drafts.n_drafted),
            sum(|stats| stats.drafts.n_accepted),
        );
        Self {
            acceptance_rate: (n_drafted > 0).then(|| n_accepted as f64 / n_drafted as f64),
            accepted_length_mean: (n_verified > 0).then(|| 1.0 + n_accepted as f64 / n_verified as f64),
            n_drafted,
            n_accepted,
        }
    }
}

/// What positions take, over all models.
fn kv_bytes(all: &[(Stats, usize)], count: fn(&Stats) -> usize) -> u64 {
    all.iter().map(|(stats, n_bytes)| (count(stats) as u64).saturating_mul(*n_bytes as u64)).sum()
}

impl KvUse {
    fn of(all: &[(Stats, usize)], models: &[Arc<ServedModel>]) -> Self {
        let budgets: Option<Vec<usize>> = models.iter().map(|model| model.engine.kv_budget_bytes()).collect();
        Self {
            n_tokens: all.iter().map(|(stats, _)| stats.n_kv_tokens).sum(),
            n_bytes: kv_bytes(all, |stats| stats.n_kv_tokens),
            n_budget_bytes: budgets.filter(|all| !all.is_empty()).map(|all| all.iter().map(|n| *n as u64).sum()),
        }
    }
}

impl Memory {
    fn of(census: &Census, all: &[(Stats, usize)]) -> Self {
        let tokbar_bytes = census.footprint_bytes;
        let cache_bytes = kv_bytes(all, |stats| stats.n_kept_tokens).min(tokbar_bytes);
        let used = census.total_bytes.saturating_sub(census.free_bytes);
        Self {
            total_bytes: census.total_bytes,
            apps_bytes: used.saturating_sub(tokbar_bytes),
            tokbar_bytes,
            free_bytes: census.free_bytes,
            model_bytes: tokbar_bytes - cache_bytes,
            cache_bytes,
            kv: KvUse::default(),
            pressure: census.pressure,
            pressure_history: census.pressure_history.clone(),
        }
    }
}
