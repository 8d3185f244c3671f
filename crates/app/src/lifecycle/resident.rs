//! One model in memory: what it was loaded with, what it takes, and whether anybody uses it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use tokbar_hub::checkpoint::Checkpoint;
use tokbar_server::{Resident as Shown, ResidentState, ServedModel};

use super::policy::Held;
use crate::cli::{KvArgs, ModelArgs};

/// How a model is loaded, now and again.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// Which one, and how to hold it.
    pub model: ModelArgs,
    /// How much KV is kept, and where.
    pub kv: KvArgs,
    /// Other names that reach it.
    pub names: Vec<String>,
    /// What it is called once it is loaded.
    pub id: Option<String>,
}

impl Recipe {
    /// Whether it is what a name means.
    pub fn answers_to(&self, name: &str) -> bool {
        self.model.model == name || self.id.as_deref() == Some(name) || self.names.iter().any(|other| other == name)
    }
}

/// See the module.
pub struct Resident {
    pub served: Arc<ServedModel>,
    pub is_pinned: bool,
    /// Bytes of weights, a drafter's included.
    n_weight_bytes: u64,
    used: Instant,
    since: Instant,
    /// What the engine had done when it was last looked at.
    n_done: u64,
}

impl Resident {
    /// Just loaded from `dir`; `drafter` is the folder of the model that drafts.
    pub fn new(served: Arc<ServedModel>, drafter: Option<PathBuf>) -> Self {
        let n_drafter = drafter.and_then(|dir| Some(Checkpoint::open(&dir).ok()?.n_bytes())).unwrap_or(0);
        let n_weight_bytes = (served.engine.info().weight_bytes as u64).saturating_add(n_drafter);
        let now = Instant::now();
        Self { served, is_pinned: false, n_weight_bytes, used: now, since: now, n_done: 0 }
    }

    /// Whether a name reaches it.
    pub fn answers_to(&self, name: &str) -> bool {
        self.served.id == name || self.served.aliases.iter().any(|alias| alias == name)
    }

    /// Bytes of weights and of all state that is kept.
    pub fn n_bytes(&self) -> u64 {
        let (stats, info) = (self.served.engine.stats(), self.served.engine.info());
        let n_positions = stats.n_kv_tokens + stats.n_kept_tokens;
        let n_state = n_positions * info.kv_bytes_per_token + stats.n_snapshots * info.snapshot_bytes;
        self.n_weight_bytes.saturating_add(n_state as u64)
    }

    /// Whether calls run or wait, or hold it to start some.
    pub fn is_busy(&self) -> bool {
        let stats = self.served.engine.stats();
        stats.n_running + stats.n_waiting > 0 || Arc::strong_count(&self.served) > 2
    }

    /// Takes note of whether it was used since the last look.
    pub fn look(&mut self, now: Instant) {
        let stats = self.served.engine.stats();
        let n_done = stats.n_finished + stats.n_cancelled + stats.n_failed + stats.n_prompt_tokens;
        if n_done != self.n_done || self.is_busy() {
            (self.used, self.n_done) = (now, n_done);
        }
    }

    /// As the policy sees it.
    pub fn held(&self, now: Instant) -> Held {
        Held {
            name: self.served.id.clone(),
            n_bytes: self.n_bytes(),
            unused: now.saturating_duration_since(self.used),
            is_pinned: self.is_pinned,
            is_busy: self.is_busy(),
        }
    }

    /// As people see it.
    pub fn shown(&self, now: Instant) -> Shown {
        let (held, stats) = (self.held(now), self.served.engine.stats());
        Shown {
            id: held.name,
            state: ResidentState::Ready,
            loaded: 1.0,
            n_bytes: held.n_bytes,
            is_pinned: held.is_pinned,
            n_running: stats.n_running,
            n_waiting: stats.n_waiting,
            unused_s: held.unused.as_secs(),
            n_context: Some(self.served.engine.info().n_context),
            quantization: self.served.about.quantization.clone(),
            ready_s: Some(now.saturating_duration_since(self.since).as_secs()),
        }
    }
}
