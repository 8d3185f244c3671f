//! The shelf over the control API: what is on the disk and in the list of known models, joined.

mod model;

use std::path::Path;

use tokbar_chat::ChatTemplate;
use tokbar_hub::catalog::{Catalog, Entry};
use tokbar_hub::checkpoint::Checkpoint;
use tokbar_hub::download;
use tokbar_hub::fit::{self, Demand, gigabytes};
use tokbar_hub::recommend::{N_CONTEXT, recommend};
use tokbar_hub::scan::{self, Access, Condition, Form, Owner};
use tokbar_server::control::{
    Consent, Detected, Formats, Found, Hit, Machine, ModelDetail, ModelSettings, PlaceChange, PlaceInfo, Places,
    Recommended, Removal, Removed, Shelf, Shelves,
};
use tokbar_server::{ApiError, Problem};

use self::model::{fit_of, known_model, model_on_disk, owner_word};
use super::refusal;
use crate::{hub, known, lifecycle, memory, model_settings, shelf};

/// Contexts that fits are told for, besides the longest.
const CONTEXTS: [u64; 7] = [4096, 8192, 16_384, 32_768, 65_536, 131_072, 262_144];

/// See the module.
pub struct OnDisk;

/// Everything that a question is about, read once.
struct Look {
    catalog: Catalog,
    machine: fit::Machine,
    models: Vec<scan::Model>,
}

impl Look {
    fn new() -> Result<Self, ApiError> {
        let shelves = shelf::shelves().map_err(refusal::machine)?;
        let models = shelves.into_iter().flat_map(|shelf| shelf.models).collect();
        Ok(Self { catalog: known::catalog().map_err(refusal::machine)?, machine: memory::machine(), models })
    }

    /// The model on disk that a name means: an id, a short name or a path.
    fn on_disk(&self, name: &str) -> Option<&scan::Model> {
        let id = self.catalog.find(name).map(Entry::id);
        let is_it = |model: &&scan::Model| {
            model.name == name || Some(model.name.as_str()) == id.as_deref() || model.path == Path::new(name)
        };
        // One that can be used comes before a remnant elsewhere, and a model's own name before a short one of the list.
        let mut found: Vec<&scan::Model> = self.models.iter().filter(is_it).collect();
        found.sort_by_key(|model| (model.condition != Condition::Ready, model.name != name));
        found.first().copied()
    }

    /// What every other call takes: the name, or the path of one whose name another has.
    fn id(&self, model: &scan::Model) -> String {
        match self.on_disk(&model.name) {
            Some(first) if first.path != model.path => model.path.display().to_string(),
            _ => model.name.clone(),
        }
    }

    fn entry(&self, name: &str) -> Option<&Entry> {
        self.catalog.find(name).or_else(|| self.catalog.of_id(name))
    }

    fn is_ready(&self, repo: &str) -> bool {
        self.models.iter().any(|model| model.name == repo && model.condition == Condition::Ready)
    }

    fn all(&self, n_context: u64) -> Vec<tokbar_server::control::Model> {
        let mut all: Vec<_> = self
            .models
            .iter()
            .map(|model| {
                model_on_disk(model, &self.id(model), self.catalog.of_id(&model.name), (n_context, &self.machine))
            })
            .collect();
        let is_listed = |entry: &&Entry| !self.models.iter().any(|model| model.name == entry.id());
        let known = self.catalog.models.iter().filter(is_listed);
        all.extend(known.map(|entry| known_model(entry, n_context, &self.machine)));
        all
    }

    fn recommended(&self) -> Recommended {
        let found = recommend(&self.catalog, &self.machine, &known::can_run);
        let id = |entry: Option<&Entry>| entry.map(|entry| entry.id().into_owned());
        let why = match found.smart {
            Some(entry) => {
                let measured = entry.measured.as_ref();
                let speed = measured.map_or_else(String::new, |measured| {
                    format!(", about {:.0} tok/s on a machine like {}", measured.decode_tps, measured.source)
                });
                let size = entry.weight_bytes().map(gigabytes).unwrap_or_default();
                format!("the best answers that fit {}: {size}{speed}", gigabytes(self.machine.n_bytes))
            }
            None => {
                "no known model fits what is free now: close other programs, or search for a smaller one".to_owned()
            }
        };
        Recommended { smart: id(found.smart), fast: id(found.fast), why }
    }

    fn removal(&self, name: &str) -> Result<(Removal, scan::Model), ApiError> {
        let model = self.on_disk(name).ok_or_else(|| refusal::no_model(name))?;
        let whose = match model.owner {
            Owner::HuggingFace => " in the Hugging Face cache, which other programs share",
            Owner::LmStudio => ", which LM Studio uses",
            Owner::Ollama => ", which is Ollama's",
            Owner::Person => "",
        };
        let removal = Removal {
            model: self.id(model),
            path: model.path.display().to_string(),
            n_bytes: model.n_bytes,
            owner: owner_word(model.owner).to_owned(),
            asks: model.owner != Owner::Person,
            words: format!("Remove {} ({}){whose}?", model.name, gigabytes(model.n_bytes)),
        };
        Ok((removal, model.clone()))
    }
}

impl Shelves for OnDisk {
    fn shelf(&self, n_context: u64) -> Result<Shelf, ApiError> {
        let look = Look::new()?;
        Ok(Shelf { machine: machine(&look.machine), recommended: look.recommended(), models: look.all(n_context) })
    }

    fn detail(&self, name: &str) -> Result<ModelDetail, ApiError> {
        let look = Look::new()?;
        let on_disk = look.on_disk(name);
        let place = (N_CONTEXT, &look.machine);
        let model = match (on_disk, look.entry(name)) {
            (Some(model), _) => model_on_disk(model, &look.id(model), look.catalog.of_id(&model.name), place),
            (None, Some(entry)) => known_model(entry, place.0, place.1),
            (None, None) => return Err(refusal::no_model(name)),
        };
        let settings = model_settings::of(&model.id).map_err(refusal::machine)?;
        let dir = on_disk.filter(|model| model.form == Form::Safetensors).map(|model| model.path.as_path());
        let checkpoint = dir.and_then(|dir| Checkpoint::open(dir).ok());
        let demand = checkpoint.as_ref().map(lifecycle::demand).or_else(|| look.entry(name)?.demand());
        let kv = checkpoint.as_ref().and_then(|checkpoint| checkpoint.kv).or_else(|| look.entry(name)?.kv());
        Ok(ModelDetail {
            formats: checkpoint.as_ref().and_then(|_| formats(dir?, &model.id, &settings)),
            has_chat_template: checkpoint.as_ref().is_some_and(|checkpoint| checkpoint.has_chat_template),
            kv_bytes_per_token: kv.map(|kv| kv.n_bytes_per_token + kv.n_window_bytes_per_token),
            fits: demand.map(|demand| fits(&demand, &look.machine)).unwrap_or_default(),
            settings,
            model,
        })
    }

    fn settings(&self, name: &str) -> Result<ModelSettings, ApiError> {
        model_settings::of(&id_of(name)?).map_err(refusal::machine)
    }

    fn set(
        &self,
        name: &str,
        merged: &dyn Fn(&ModelSettings) -> Result<ModelSettings, ApiError>,
    ) -> Result<ModelSettings, ApiError> {
        model_settings::change(&id_of(name)?, merged)
    }

    fn removal(&self, name: &str) -> Result<Removal, ApiError> {
        Ok(Look::new()?.removal(name)?.0)
    }

    fn remove(&self, name: &str, consent: Consent) -> Result<Removed, ApiError> {
        let (removal, model) = Look::new()?.removal(name)?;
        if removal.asks && consent == Consent::Absent {
            return Err(ApiError::wish(Problem::NeedsConsent, removal.words));
        }
        let removed = scan::remove(&model).map_err(|error| refusal::removal(&error))?;
        tracing::info!(model = removal.model, n_bytes = removed.n_bytes, "a model was removed from the disk");
        Ok(Removed { model: removal.model, path: removed.path.display().to_string(), n_bytes: removed.n_bytes })
    }

    fn places(&self) -> Result<Places, ApiError> {
        let shelves = shelf::shelves().map_err(refusal::machine)?;
        let info = |shelf: scan::Shelf| {
            let (state, reason) = match shelf.access {
                Access::Present => ("present", None),
                Access::Absent => ("absent", None),
                Access::Refused { reason } => ("refused", Some(reason)),
            };
            PlaceInfo {
                owner: owner_word(shelf.place.owner).to_owned(),
                path: shelf.place.path.display().to_string(),
                state: state.to_owned(),
                reason,
                n_models: shelf.models.len(),
            }
        };
        Ok(Places { places: shelves.into_iter().map(info).collect() })
    }

    fn change_place(&self, path: &str, change: PlaceChange) -> Result<Places, ApiError> {
        let changed = match change {
            PlaceChange::Add => shelf::add(Path::new(path)),
            PlaceChange::Forget => shelf::forget(Path::new(path)),
        };
        changed.map_err(|error| ApiError::invalid("path", format!("cannot be used: {error:#}")))?;
        self.places()
    }

    fn search(&self, words: &str, n_max: u32) -> Result<Found, ApiError> {
        if hub::is_offline() {
            return Ok(Found { hits: Vec::new(), is_offline: true });
        }
        let options = hub::options().map_err(refusal::machine)?;
        let hits = download::search(words, n_max, &options).map_err(|error| refusal::hub(&error))?;
        let look = Look::new()?;
        let hit = |hit: download::Hit| {
            let by_size = || Some(Demand { n_weight_bytes: hit.n_weight_bytes?, ..Demand::default() });
            let demand = look.catalog.of_id(&hit.id).and_then(Entry::demand).or_else(by_size);
            Hit {
                fit: demand.map(|demand| fit_of(&demand, N_CONTEXT, &look.machine)),
                is_here: look.is_ready(&hit.id),
                size_bytes: hit.n_weight_bytes,
                n_downloads: hit.n_downloads,
                is_gated: hit.is_gated,
                id: hit.id,
            }
        };
        Ok(Found { hits: hits.into_iter().map(hit).collect(), is_offline: false })
    }
}

/// What settings of a name are kept under.
fn id_of(name: &str) -> Result<String, ApiError> {
    let look = Look::new()?;
    let known = || look.entry(name).map(|entry| entry.id().into_owned());
    look.on_disk(name).map(|model| look.id(model)).or_else(known).ok_or_else(|| refusal::no_model(name))
}

fn machine(machine: &fit::Machine) -> Machine {
    let available_bytes = machine.available(0);
    Machine {
        total_bytes: machine.n_bytes,
        free_bytes: machine.n_free_bytes,
        gpu_bytes: machine.n_gpu_bytes,
        available_bytes,
        words: format!("{} memory · {} free for models", gigabytes(machine.n_bytes), gigabytes(available_bytes)),
    }
}

fn fits(demand: &Demand, machine: &fit::Machine) -> Vec<tokbar_server::control::Fit> {
    let most = demand.n_context.unwrap_or(N_CONTEXT).max(1);
    let shorter = CONTEXTS.into_iter().filter(|n| *n < most);
    shorter.chain([most]).map(|n_context| fit_of(demand, n_context, machine)).collect()
}

/// How a model on disk writes tool calls and reasoning, with its own settings; `None` where its template cannot be read.
fn formats(dir: &Path, id: &str, settings: &ModelSettings) -> Option<Formats> {
    let template = ChatTemplate::load(dir).ok()?;
    let by_template = template.as_ref().map(ChatTemplate::detection).unwrap_or_default();
    let options = crate::cli::FormatArgs {
        tool_call_parser: settings.tool_format.clone(),
        reasoning_parser: settings.reasoning_format.clone(),
    };
    let detection = lifecycle::detection(by_template, id, &options).ok()?;
    Some(Formats {
        tools: Detected {
            format: detection.format.tools.map(|format| format.name.to_owned()),
            because: detection.tools_because.to_string(),
        },
        reasoning: Detected {
            format: detection.format.reasoning.map(|format| format.name.to_owned()),
            because: detection.reasoning_because.to_string(),
        },
    })
}
