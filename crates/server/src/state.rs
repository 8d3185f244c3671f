//! What the handlers share: the models that are served, the options, the text jobs.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use jiff::Timestamp;
use tokbar_chat::TextModel;
use tokbar_engine::{Engine, SamplingOptions};
use tokio::time::Instant;

use crate::body::BodyRoom;
use crate::control::{DiskState, Model, Parts, Status};
use crate::doors::Doors;
use crate::kept::Kept;
use crate::lifecycle::{Census, Lifecycle, Resident, ResidentState};
use crate::rates::Rates;
use crate::running::Running;
use crate::worker::{Closing, Jobs};
use crate::{ApiError, ServerOptions, hash, ids};

/// Name under which clients reach whatever is loaded.
pub const DEFAULT_NAME: &str = "default";

/// What a model is made of, for listings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelAbout {
    /// The architecture, as the checkpoint names it.
    pub family: String,
    /// How its files are written: `safetensors`, or `gguf` for one that was imported.
    pub format: String,
    /// How its weights are quantized, if they are.
    pub quantization: Option<String>,
    /// Weights.
    pub n_parameters: Option<u64>,
    /// Bytes of the weights on disk.
    pub n_bytes: u64,
}

/// A loaded model with the names it answers to.
pub struct ServedModel {
    /// The name in answers and listings.
    pub id: String,
    /// Other names that reach it.
    pub aliases: Vec<String>,
    /// When the checkpoint was made or loaded.
    pub created: Timestamp,
    /// Its text side.
    pub text: Arc<TextModel>,
    /// Its running engine.
    pub engine: Engine,
    /// What clients get when they do not say.
    pub defaults: SamplingDefaults,
    /// What it is made of.
    pub about: ModelAbout,
}

impl ServedModel {
    /// What it can do, in the words that listings use.
    pub fn capabilities(&self) -> Vec<&'static str> {
        let format = self.text.format();
        let all = [
            ("completion", true),
            ("chat", self.text.template.is_some()),
            ("tools", format.tools.is_some()),
            ("thinking", format.thinks()),
            ("insert", self.text.tokenizer.fim().is_some()),
        ];
        all.into_iter().filter(|(_, has)| *has).map(|(name, _)| name).collect()
    }

    /// 64 hexadecimal digits that tell two checkpoints apart.
    pub fn digest(&self) -> String {
        let mut text = self.id.clone();
        text.push_str(&self.engine.info().fingerprint);
        hash::hex(text.as_bytes())
    }
}

/// Sampling of a request that does not say, as the checkpoint's `generation_config.json` recommends it.
///
/// Without a recommendation: temperature 0.7 and top-p 0.9, which suits the small models that run locally better than
/// OpenAI's 1 and 1.
#[derive(Clone, Debug, PartialEq)]
pub struct SamplingDefaults {
    /// 0 = greedy.
    pub temperature: f32,
    /// 1 = all.
    pub top_p: f32,
    /// 0 = all.
    pub top_k: usize,
    /// 0 = none.
    pub min_p: f32,
    /// 1 = off.
    pub repetition_penalty: f32,
    /// Most tokens of a chat answer.
    pub max_tokens: usize,
}

impl SamplingDefaults {
    /// The options of a request that says nothing, with a random seed.
    pub fn options(&self) -> SamplingOptions {
        SamplingOptions {
            temperature: self.temperature,
            top_p: self.top_p,
            top_k: self.top_k,
            min_p: self.min_p,
            repetition_penalty: self.repetition_penalty,
            seed: ids::random(),
            ..SamplingOptions::default()
        }
    }
}

impl Default for SamplingDefaults {
    fn default() -> Self {
        Self { temperature: 0.7, top_p: 0.9, top_k: 0, min_p: 0.0, repetition_penalty: 1.0, max_tokens: 32_768 }
    }
}

/// The models served now; may be replaced while calls run, which keep the model they started with.
#[derive(Clone, Default)]
pub struct Models {
    shelf: Arc<RwLock<Shelf>>,
    keeper: Arc<OnceLock<Arc<dyn Lifecycle>>>,
}

#[derive(Default)]
struct Shelf {
    served: Arc<[Arc<ServedModel>]>,
    /// A model that is on its way.
    loading: Option<Coming>,
}

/// A model on its way, and how much of it is there, from 0 to 1.
struct Coming {
    name: String,
    part: Arc<dyn Fn() -> f64 + Send + Sync>,
}

/// Seconds after which a client may ask again for a model that is loading.
const RETRY_LOADING_S: u64 = 5;

impl Models {
    /// The first model is the default one.
    pub fn new(served: Vec<ServedModel>) -> Self {
        let shelf = Shelf { served: shared(served), loading: None };
        Self { shelf: Arc::new(RwLock::new(shelf)), keeper: Arc::default() }
    }

    /// Nothing yet: a model of this name is on its way, of which `part` is there. Until [`replace`](Self::replace), clients
    /// are told so.
    pub fn loading(name: String, part: Arc<dyn Fn() -> f64 + Send + Sync>) -> Self {
        let shelf = Shelf { loading: Some(Coming { name, part }), ..Shelf::default() };
        Self { shelf: Arc::new(RwLock::new(shelf)), keeper: Arc::default() }
    }

    /// Serves other models from now on, and returns those of before. Drop them where waiting is allowed: the last
    /// handle of an engine joins its thread.
    pub fn replace(&self, served: Vec<ServedModel>) -> Arc<[Arc<ServedModel>]> {
        let mut shelf = self.shelf.write().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *shelf, Shelf { served: shared(served), loading: None }).served
    }

    /// Serves one model more, after the others.
    pub fn add(&self, served: ServedModel) -> Arc<ServedModel> {
        let added = Arc::new(served);
        self.add_again(added.clone());
        added
    }

    /// Serves a model again that was taken out.
    pub fn add_again(&self, served: Arc<ServedModel>) {
        let mut shelf = self.shelf.write().unwrap_or_else(PoisonError::into_inner);
        let all: Vec<_> = shelf.served.iter().cloned().chain([served]).collect();
        *shelf = Shelf { served: all.into(), loading: None };
    }

    /// Serves a model no more. Calls that run keep it.
    pub fn remove(&self, id: &str) {
        let mut shelf = self.shelf.write().unwrap_or_else(PoisonError::into_inner);
        let rest: Vec<_> = shelf.served.iter().filter(|model| model.id != id).cloned().collect();
        shelf.served = rest.into();
    }

    /// From now on calls may name models that `keeper` then loads. The first one given stays.
    pub fn keep_by(&self, keeper: Arc<dyn Lifecycle>) {
        if self.keeper.set(keeper).is_err() {
            tracing::error!("the models have a keeper already");
        }
    }

    /// Has a model loaded that a call names, if somebody can; what [`find`](Self::find) then says stands.
    ///
    /// # Errors
    /// When it is on this machine and still cannot be served.
    pub async fn want(&self, name: Option<&str>) -> Result<(), ApiError> {
        let Some(keeper) = self.keeper.get() else { return Ok(()) };
        if let Some(refusal) = keeper.refusal() {
            return Err(refusal);
        }
        match self.find(name) {
            Ok(_) | Err(ApiError::Loading { .. }) => Ok(()),
            Err(_) => keeper.want(name.map(str::to_owned)).await,
        }
    }

    /// Who loads and unloads.
    pub(crate) fn keeper(&self) -> Result<&Arc<dyn Lifecycle>, ApiError> {
        self.keeper.get().ok_or(ApiError::NoModel)
    }

    /// What is loaded, as its keeper has it, or just the names.
    pub(crate) fn census(&self) -> Census {
        if let Some(keeper) = self.keeper.get() {
            return keeper.census();
        }
        let resident = |model: &Arc<ServedModel>| Resident {
            id: model.id.clone(),
            loaded: 1.0,
            n_bytes: model.engine.info().weight_bytes as u64,
            ..Resident::default()
        };
        let mut models: Vec<Resident> = self.all().iter().map(resident).collect();
        let shelf = self.shelf.read().unwrap_or_else(PoisonError::into_inner);
        models.extend(shelf.loading.as_ref().map(|coming| Resident {
            id: coming.name.clone(),
            state: ResidentState::Loading,
            loaded: (coming.part)(),
            ..Resident::default()
        }));
        Census { models, ..Census::default() }
    }

    /// In order.
    pub fn all(&self) -> Arc<[Arc<ServedModel>]> {
        self.shelf.read().unwrap_or_else(PoisonError::into_inner).served.clone()
    }

    fn none(&self) -> ApiError {
        let shelf = self.shelf.read().unwrap_or_else(PoisonError::into_inner);
        match &shelf.loading {
            Some(coming) => ApiError::Loading { name: coming.name.clone(), retry_after_s: RETRY_LOADING_S },
            None => ApiError::NoModel,
        }
    }

    /// By id or alias; `None` and [`DEFAULT_NAME`] reach the first.
    ///
    /// # Errors
    /// When nothing is loaded, or no model has that name.
    pub fn find(&self, name: Option<&str>) -> Result<Arc<ServedModel>, ApiError> {
        let served = self.all();
        let Some(first) = served.first() else {
            // Somebody who loads what is here was asked before: there is no such model.
            let unknown = name.filter(|name| *name != DEFAULT_NAME && self.keeper.get().is_some());
            return Err(unknown.map_or_else(
                || self.none(),
                |name| ApiError::UnknownModel { name: name.to_owned(), served: Vec::new() },
            ));
        };
        let Some(name) = name else { return Ok(first.clone()) };
        let has_name = |model: &&Arc<ServedModel>| model.id == name || model.aliases.iter().any(|alias| alias == name);
        if let Some(model) = served.iter().find(has_name) {
            return Ok(model.clone());
        }
        if name == DEFAULT_NAME {
            return Ok(first.clone());
        }
        let served = served.iter().map(|model| model.id.clone()).collect();
        Err(ApiError::UnknownModel { name: name.to_owned(), served })
    }
}

fn shared(served: Vec<ServedModel>) -> Arc<[Arc<ServedModel>]> {
    served.into_iter().map(Arc::new).collect()
}

/// Wishes of whoever manages the server that are worked on at once; some wait for the network.
const N_CHORES_MAX: usize = 8;
/// How long a look at the disk is good for listings, and the context that models must have room for there, in tokens.
const KNOWN_FOR: Duration = Duration::from_secs(10);
const N_CONTEXT_KNOWN: u64 = 8192;
/// Wrong keys that one address may try.
const N_WRONG_KEYS_PER_MINUTE: u32 = 20;

/// Everything a handler needs; cheap to clone.
#[derive(Clone)]
pub struct ServerState {
    /// What is served.
    pub models: Models,
    /// Limits and keys.
    pub options: Arc<ServerOptions>,
    /// Rendering and tokenizing.
    pub(crate) text_jobs: Jobs,
    /// Memory of bodies.
    pub(crate) body_room: BodyRoom,
    /// Answers that clients may refer to later.
    pub(crate) kept: Kept,
    /// Calls of each client.
    pub(crate) rates: Rates,
    /// Wrong keys from each address.
    pub(crate) wrong_keys: Rates,
    /// Keys.
    pub(crate) doors: Doors,
    /// What the control API reaches.
    pub(crate) parts: Arc<Parts>,
    /// What the control API asks for.
    pub(crate) chores: Jobs,
    /// Calls that run.
    pub(crate) running: Running,
    /// The end.
    pub(crate) closing: Closing,
    /// The start.
    pub(crate) since: Instant,
    /// Models on this machine.
    known: Arc<Mutex<Option<Known>>>,
}

/// Models, and when they were looked at.
type Known = (Instant, Arc<[Model]>);

impl ServerState {
    /// Ready to serve `models`.
    pub fn new(models: Models, options: ServerOptions) -> Self {
        Self {
            text_jobs: Jobs::new(options.n_text_jobs_max),
            body_room: BodyRoom::new(options.n_body_bytes_total_max),
            kept: Kept::default(),
            rates: Rates::new(options.n_calls_per_minute),
            wrong_keys: Rates::new(Some(N_WRONG_KEYS_PER_MINUTE)),
            doors: Doors::new(options.keys.clone(), options.launch.clone()),
            parts: Arc::default(),
            chores: Jobs::new(N_CHORES_MAX),
            running: Running::default(),
            closing: Closing::default(),
            since: Instant::now(),
            known: Arc::default(),
            models,
            options: Arc::new(options),
        }
    }

    /// With what the control API reaches.
    pub fn with_parts(self, parts: Parts) -> Self {
        Self { parts: Arc::new(parts), ..self }
    }

    /// Models on this machine that calls may name, as they were a moment ago: a look at the disk takes a while.
    async fn known_models(&self) -> Arc<[Model]> {
        let Some(shelves) = self.parts.shelves.clone() else { return Arc::default() };
        let now = Instant::now();
        let kept = self.known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((at, models)) = kept.filter(|(at, _)| now.duration_since(*at) < KNOWN_FOR) {
            tracing::trace!(?at, "models as they were");
            return models;
        }
        let usable = |model: &Model| model.disk.state == DiskState::Ready && model.can_run;
        let look =
            move || shelves.shelf(N_CONTEXT_KNOWN).map(|shelf| shelf.models.into_iter().filter(usable).collect());
        match self.chores.run(look).await.and_then(|models| models) {
            Ok(models) => {
                let models: Arc<[Model]> = models;
                *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some((now, Arc::clone(&models)));
                models
            }
            Err(error) => {
                tracing::warn!(%error, "models on the disk are not listed");
                Arc::default()
            }
        }
    }

    /// Those of them that are not served now.
    pub(crate) async fn unloaded_models(&self) -> Vec<Model> {
        let served = self.models.all();
        let is_served =
            |known: &Model| served.iter().any(|model| model.id == known.id || model.aliases.contains(&known.id));
        self.known_models().await.iter().filter(|known| !is_served(known)).cloned().collect()
    }

    /// One of those, by id or another name.
    pub(crate) async fn unloaded_model(&self, name: &str) -> Option<Model> {
        let has_name = |known: &Model| known.id == name || known.aliases.iter().any(|alias| alias == name);
        self.unloaded_models().await.into_iter().find(has_name)
    }

    /// What the control API reaches.
    pub fn parts(&self) -> &Parts {
        &self.parts
    }

    /// What the server is and does, without a call.
    pub fn status(&self) -> Status {
        Status::now(self)
    }
}
