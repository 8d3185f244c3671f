//! What the handlers share: the models that are served, the options, the text jobs.

use std::sync::{Arc, PoisonError, RwLock};

use jiff::Timestamp;
use tokbar_chat::TextModel;
use tokbar_engine::Engine;

use crate::body::BodyRoom;
use crate::worker::TextJobs;
use crate::{ApiError, ServerOptions};

/// Name under which clients reach whatever is loaded.
pub const DEFAULT_NAME: &str = "default";

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

impl Default for SamplingDefaults {
    fn default() -> Self {
        Self { temperature: 0.7, top_p: 0.9, top_k: 0, min_p: 0.0, repetition_penalty: 1.0, max_tokens: 32_768 }
    }
}

/// The models served now; may be replaced while calls run, which keep the model they started with.
#[derive(Clone, Default)]
pub struct Models {
    served: Arc<RwLock<Arc<[Arc<ServedModel>]>>>,
}

impl Models {
    /// The first model is the default one.
    pub fn new(served: Vec<ServedModel>) -> Self {
        Self { served: Arc::new(RwLock::new(shared(served))) }
    }

    /// Serves other models from now on, and returns those of before. Drop them where waiting is allowed: the last
    /// handle of an engine joins its thread.
    pub fn replace(&self, served: Vec<ServedModel>) -> Arc<[Arc<ServedModel>]> {
        let mut current = self.served.write().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *current, shared(served))
    }

    /// In order.
    pub fn all(&self) -> Arc<[Arc<ServedModel>]> {
        self.served.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// By id or alias; `None` and [`DEFAULT_NAME`] reach the first.
    ///
    /// # Errors
    /// When nothing is loaded, or no model has that name.
    pub fn find(&self, name: Option<&str>) -> Result<Arc<ServedModel>, ApiError> {
        let served = self.all();
        let first = served.first().ok_or(ApiError::NoModel)?;
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

/// Everything a handler needs; cheap to clone.
#[derive(Clone)]
pub struct ServerState {
    /// What is served.
    pub models: Models,
    /// Limits and keys.
    pub options: Arc<ServerOptions>,
    /// Rendering and tokenizing.
    pub(crate) text_jobs: TextJobs,
    /// Memory of bodies.
    pub(crate) body_room: BodyRoom,
}

impl ServerState {
    /// Ready to serve `models`.
    pub fn new(models: Models, options: ServerOptions) -> Self {
        let text_jobs = TextJobs::new(options.n_text_jobs_max);
        let body_room = BodyRoom::new(options.n_body_bytes_total_max);
        Self { models, options: Arc::new(options), text_jobs, body_room }
    }
}
