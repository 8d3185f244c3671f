//! `/control/v1/status`: what this server is, where it is, and what it does, in one word.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::State as Shared;
use axum::response::Response;
use axum::routing::get;
use schemars::JsonSchema;
use serde::Serialize;

use super::ask::answer;
use super::live::{decode_tps, prefill_tps};
use super::requests::{CallState, RunningCall};
use crate::ServerState;
use crate::lifecycle::{Act, Census, Level, Resident, ResidentState};

/// Where the server is, as whoever started it knows.
#[derive(Clone, Debug, Default)]
pub struct Site {
    /// Where it listens.
    pub address: Option<SocketAddr>,
    /// Addresses of this machine that others reach it at.
    pub lan: Vec<IpAddr>,
    /// Why it holds less, if it does.
    pub safe_mode: SafeNote,
}

/// Why models hold less than usual after an unclean end, as long as that is so. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct SafeNote(Arc<Mutex<Option<String>>>);

impl SafeNote {
    /// From now on.
    pub fn new(note: String) -> Self {
        Self(Arc::new(Mutex::new(Some(note))))
    }

    /// What is to be said, in words; `None` once all is as usual.
    pub fn now(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// All is as usual.
    pub fn lift(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// What this server is and does.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Status {
    /// Of this program.
    pub version: String,
    /// Its process.
    pub pid: u32,
    /// Seconds since it was started.
    pub uptime_s: u64,
    /// Where clients find it.
    pub endpoints: Endpoints,
    /// Whether clients must send a key.
    pub needs_key: bool,
    /// What it does.
    pub state: State,
    /// Whether it holds less after an unclean end.
    pub is_safe_mode: bool,
    /// What that means, and how it ends.
    pub safe_mode_note: Option<String>,
    /// How short of memory the machine is.
    pub pressure: Level,
    /// What was done last with models or memory.
    pub last_act: Option<Act>,
}

/// Where clients find the server.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Endpoints {
    /// For OpenAI's clients.
    pub openai: String,
    /// For Anthropic's clients.
    pub anthropic: String,
    /// For Ollama's clients.
    pub ollama: String,
    /// For whoever manages it.
    pub control: String,
    /// For OpenAI's clients on other machines.
    pub lan: Vec<String>,
}

/// What the server does: one value for menu and window.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct State {
    /// In short.
    pub kind: StateKind,
    /// The model that it is about.
    pub model: Option<String>,
    /// Part that is loaded or computed.
    pub part: Option<f64>,
    /// Seconds of prefill left.
    pub left_s: Option<f64>,
    /// Decode, of all sequences together.
    pub tokens_per_s: Option<f64>,
    /// Sequences that run.
    pub n_running: usize,
    /// Sequences that wait.
    pub n_waiting: usize,
    /// Ready to show, in English.
    pub words: String,
}

/// What the server does, in short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StateKind {
    /// No model is loaded.
    Stopped,
    /// One is on its way.
    Loading,
    /// A prompt is computed, and nothing is generated yet.
    Prefill,
    /// Tokens come.
    Generating,
    /// It waits for calls.
    Ready,
    /// A model is on its way out.
    Leaving,
    /// Memory is short, and calls are refused.
    Refusing,
}

/// The route.
pub fn routes() -> Router<ServerState> {
    Router::new().route("/control/v1/status", get(status))
}

async fn status(Shared(state): Shared<ServerState>) -> Response {
    answer(Ok(Status::now(&state)))
}

impl Status {
    /// Of a server, now.
    pub fn now(server: &ServerState) -> Self {
        let census = server.models.census();
        let site = &server.parts.site;
        let safe_mode_note = site.safe_mode.now();
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            uptime_s: server.since.elapsed().as_secs(),
            endpoints: Endpoints::of(site),
            needs_key: server.doors.keys().is_some(),
            state: State::now(server, &census),
            is_safe_mode: safe_mode_note.is_some(),
            safe_mode_note,
            pressure: census.pressure,
            last_act: census.acts.last().cloned(),
        }
    }
}

impl Endpoints {
    fn of(site: &Site) -> Self {
        let Some(address) = site.address else { return Self::default() };
        let base = |ip: IpAddr| match ip {
            ip if ip == Ipv4Addr::LOCALHOST || ip.is_unspecified() => format!("http://localhost:{}", address.port()),
            IpAddr::V6(ip) => format!("http://[{ip}]:{}", address.port()),
            ip => format!("http://{ip}:{}", address.port()),
        };
        let here = base(address.ip());
        Self {
            openai: format!("{here}/v1"),
            anthropic: here.clone(),
            ollama: here.clone(),
            control: format!("{here}/control/v1"),
            lan: site.lan.iter().map(|ip| format!("{}/v1", base(*ip))).collect(),
        }
    }
}

impl State {
    /// Of a server, now.
    pub fn now(server: &ServerState, census: &Census) -> Self {
        let calls = server.running.list(prefill_tps(server));
        let is_refusing = server.models.keeper().is_ok_and(|keeper| keeper.refusal().is_some());
        Look { census, calls: &calls, is_refusing, decode_tps: decode_tps(server) }.state()
    }
}

/// What the state follows from.
pub struct Look<'a> {
    pub census: &'a Census,
    pub calls: &'a [RunningCall],
    pub is_refusing: bool,
    pub decode_tps: f64,
}

impl Look<'_> {
    /// What matters most to whoever waits: an answer, then a prompt, then a model.
    pub fn state(&self) -> State {
        let models = &self.census.models;
        let of = |state: ResidentState| models.iter().find(|model| model.state == state);
        let is_decoding = |call: &&RunningCall| call.state == CallState::Decode;
        let mut state = if let Some(call) = self.calls.iter().find(is_decoding) {
            let words = format!("{} · {:.0} tok/s", short(&call.model), self.decode_tps);
            State { tokens_per_s: Some(self.decode_tps), ..State::new(StateKind::Generating, Some(&call.model), words) }
        } else if let Some(call) = self.calls.iter().find(|call| call.state == CallState::Prefill) {
            let part = call.part.unwrap_or(0.0);
            let words = format!("Prefill {:.0} %", part * 100.0);
            let left_s = call.left_s;
            State { part: Some(part), left_s, ..State::new(StateKind::Prefill, Some(&call.model), words) }
        } else if let Some(model) = of(ResidentState::Loading) {
            let words = format!("Loading {:.0} %", model.loaded * 100.0);
            State { part: Some(model.loaded), ..State::new(StateKind::Loading, Some(&model.id), words) }
        } else if self.is_refusing {
            State::new(StateKind::Refusing, None, "Short of memory".to_owned())
        } else if let Some(model) = of(ResidentState::Ready) {
            State::new(StateKind::Ready, Some(&model.id), short(&model.id).to_owned())
        } else if let Some(model) = of(ResidentState::Leaving) {
            State::new(StateKind::Leaving, Some(&model.id), format!("Unloading {}", short(&model.id)))
        } else {
            State::new(StateKind::Stopped, None, "Stopped".to_owned())
        };
        let sum = |count: fn(&Resident) -> usize| models.iter().map(count).sum();
        (state.n_running, state.n_waiting) = (sum(|model| model.n_running), sum(|model| model.n_waiting));
        state
    }
}

impl State {
    fn new(kind: StateKind, model: Option<&str>, words: String) -> Self {
        let model = model.map(str::to_owned);
        Self { kind, model, part: None, left_s: None, tokens_per_s: None, n_running: 0, n_waiting: 0, words }
    }
}

/// A name without its owner.
fn short(id: &str) -> &str {
    id.rsplit('/').next().unwrap_or(id)
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
