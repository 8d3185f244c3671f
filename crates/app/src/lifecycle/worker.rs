//! The thread that loads and unloads, one model after another: whoever asks for a model that is on its way waits for it, and
//! what must go is gone before the next comes.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use tokbar_engine::Hold;
use tokbar_hub::checkpoint::Checkpoint;
use tokbar_hub::fit::gigabytes;
use tokbar_hub::recommend::N_CONTEXT;
use tokbar_server::control::ModelSettings;
use tokbar_server::{Act, ApiError, Census, DEFAULT_NAME, Models, PinChange, PressureChange};

use super::keeper::{Command, KeeperOptions, Shared};
use super::load::{Loaded, Watch, demand, load_watched};
use super::policy::{self, Held};
use super::resident::{Recipe, Resident};
use super::safe::SafeMode;
use crate::power::{Wakefulness, Work};
use crate::pressure::{self, FromFile, Policy, Source};
use crate::wake::{self, Wake};
use crate::{memory, model_settings, power, say, sources};

mod bounds;

/// How often the thread looks at use and pressure.
const TICK: Duration = Duration::from_millis(500);
/// How often it looks whether a model that is to go is free.
const LOOK: Duration = Duration::from_millis(10);
/// How long calls of a model that is to go may still run before another waits in vain.
const DRAIN_MAX: Duration = Duration::from_secs(900);
/// Acts, and changes of the pressure, that are shown.
const N_ACTS_MAX: usize = 50;
/// Forms of names: Ollama's clients add a tag to those without one.
const TAG: &str = ":latest";

/// Starts the thread.
pub fn start(
    models: Models,
    (first, usual): (Option<Loaded>, Recipe),
    options: KeeperOptions,
    (commands, shared): (Receiver<Command>, Arc<Shared>),
) -> Result<JoinHandle<()>> {
    let source = match &options.pressure_from {
        Some(path) => Some(Box::new(FromFile(path.clone())) as Box<dyn Source>),
        None => pressure::source(),
    };
    let policy = Policy::new(options.pressure_calm);
    let safe = options.safe.clone();
    let mut worker = Worker {
        models,
        shared,
        options,
        safe,
        residents: Vec::new(),
        recipes: first.iter().map(|loaded| Recipe { id: Some(loaded.name.clone()), ..usual.clone() }).collect(),
        usual,
        source,
        policy,
        hold: Hold::default(),
        acts: VecDeque::new(),
        pressure_history: VecDeque::new(),
        wakefulness: Wakefulness::new(power::assertion()),
        wake: Wake::default(),
        start: Instant::now(),
    };
    if let Some(note) = worker.safe.as_ref().and_then(|safe| safe.note.now()) {
        worker.act(note);
    }
    if let Some(loaded) = first {
        worker.serve(loaded, worker.usual.names.clone());
        worker.residents[0].is_pinned = worker.options.is_pinned;
    }
    worker.show();
    let run = move || worker.run(&commands);
    std::thread::Builder::new().name("keeper".to_owned()).spawn(run).context("cannot start a thread")
}

struct Worker {
    models: Models,
    shared: Arc<Shared>,
    options: KeeperOptions,
    /// In memory, by the time of loading.
    residents: Vec<Resident>,
    /// Loaded once; the first is what a call without a name means.
    recipes: Vec<Recipe>,
    /// How models are loaded that nobody loaded before.
    usual: Recipe,
    source: Option<Box<dyn Source>>,
    policy: Policy,
    /// What the pressure leaves.
    hold: Hold,
    /// Bounds besides, after an unclean end.
    safe: Option<SafeMode>,
    acts: VecDeque<Act>,
    pressure_history: VecDeque<PressureChange>,
    wakefulness: Wakefulness,
    wake: Wake,
    start: Instant,
}

impl Worker {
    fn run(mut self, commands: &Receiver<Command>) {
        loop {
            match commands.recv_timeout(TICK) {
                Ok(Command::Stop) | Err(RecvTimeoutError::Disconnected) => break,
                Ok(command) => self.take(command),
                Err(RecvTimeoutError::Timeout) => {}
            }
            self.tick();
        }
        for resident in std::mem::take(&mut self.residents) {
            self.models.remove(&resident.served.id);
            resident.served.engine.shutdown();
        }
    }

    fn take(&mut self, command: Command) {
        let (reply, outcome) = match command {
            Command::Want(name, reply) => (reply, self.want(name.as_deref())),
            Command::Unload(name, reply) => (reply, self.unload(&name)),
            Command::Pin(name, change, reply) => (reply, self.pin(&name, change)),
            Command::Stop => return,
        };
        self.show();
        // A caller that is gone needs no answer.
        if reply.send(outcome).is_err() {
            tracing::debug!("nobody waits for the model any more");
        }
    }

    fn tick(&mut self) {
        let now = Instant::now();
        self.residents.iter_mut().for_each(|resident| resident.look(now));
        let is_working = self.residents.iter().any(Resident::is_busy);
        self.wakefulness.observe(self.start.elapsed(), if is_working { Work::Some } else { Work::None });
        self.notice_sleep();
        self.feel_pressure();
        self.leave_safe_mode();
        if let Some(timeout) = self.options.idle_timeout {
            for name in policy::expired(&self.held(), timeout) {
                self.act(format!("{name} is unloaded: nobody used it for {} s", timeout.as_secs()));
                self.report(&name);
            }
        }
        self.show();
    }

    /// Unloads a model that is idle; another look shows it if that fails.
    fn report(&mut self, name: &str) {
        if let Err(error) = self.unload(name) {
            tracing::warn!(%error, "a model was not unloaded");
        }
    }

    fn held(&self) -> Vec<Held> {
        let now = Instant::now();
        self.residents.iter().map(|resident| resident.held(now)).collect()
    }

    fn position(&self, name: &str) -> Option<usize> {
        let is_it = |name: &str| self.residents.iter().position(|resident| resident.answers_to(name));
        is_it(name).or_else(|| is_it(name.strip_suffix(TAG)?))
    }

    fn want(&mut self, name: Option<&str>) -> Result<(), ApiError> {
        if self.models.find(name).is_ok() || name.is_some_and(|name| self.position(name).is_some()) {
            return Ok(());
        }
        let Some(recipe) = self.recipe(name) else {
            // The error of whoever looks for the model next names those that are served.
            return Ok(());
        };
        let asked = name.unwrap_or(&recipe.model.model).to_owned();
        let failed = |error: anyhow::Error| ApiError::LoadFailed { name: asked.clone(), detail: say::cause(&error) };
        let dir = sources::folder_here(&recipe.model.model).map_err(failed)?;
        let n_needed = need(&dir).map_err(failed)?;
        self.make_room(&asked, n_needed)?;
        let own = own_settings(&recipe.model.model, &asked);
        let mut recipe = self.bounded(recipe);
        model_settings::lay_over(&mut recipe.model, &own);
        let watch = Arc::new(Watch::default());
        self.shared.moving(&asked, Some(Arc::clone(&watch)));
        let loaded = load_watched(&recipe.model, &recipe.kv, &watch);
        self.shared.settled(&asked);
        self.act(format!("{asked} is loaded: a call names it"));
        self.serve(loaded.map_err(failed)?, recipe.names);
        if let Some(resident) = self.residents.last_mut() {
            resident.is_pinned |= own.is_pinned;
        }
        Ok(())
    }

    /// Adds a loaded model to those that are served.
    fn serve(&mut self, loaded: Loaded, names: Vec<String>) {
        let draft_dir = loaded.draft_dir.clone();
        let served = self.models.add(loaded.into_served(names));
        served.engine.hold(self.bounds());
        self.residents.push(Resident::new(served, draft_dir));
    }

    /// How to load what a name means: as before, or as the first model is loaded; only what is on this machine.
    fn recipe(&mut self, name: Option<&str>) -> Option<Recipe> {
        let Some(name) = name.filter(|name| *name != DEFAULT_NAME) else { return self.recipes.first().cloned() };
        let bare = name.strip_suffix(TAG).unwrap_or(name);
        if let Some(known) = self.recipes.iter().find(|recipe| recipe.answers_to(bare)) {
            return Some(known.clone());
        }
        let model = sources::known_here(bare).filter(|_| self.options.switches)?;
        let mut recipe = self.usual.clone();
        recipe.names = if model == bare { Vec::new() } else { vec![bare.to_owned()] };
        recipe.id = None;
        recipe.model.model = model;
        recipe.model.draft = crate::cli::DraftArgs { draft_model: None, ..recipe.model.draft };
        recipe.model.format = crate::cli::FormatArgs::default();
        self.recipes.push(recipe.clone());
        Some(recipe)
    }

    /// Leaves the other models their memory: KV takes no more than half of what is left.
    fn bounded(&self, recipe: Recipe) -> Recipe {
        if recipe.kv.kv_budget.is_some() || self.residents.is_empty() {
            return recipe;
        }
        let n_left = self.budget().saturating_sub(self.held().iter().map(|held| held.n_bytes).sum());
        let kv_budget = Some((n_left / 2).max(256 << 20));
        Recipe { kv: crate::cli::KvArgs { kv_budget, ..recipe.kv }, ..recipe }
    }

    /// Bytes for all models.
    fn budget(&self) -> u64 {
        let n_held = self.residents.iter().map(Resident::n_bytes).fold(0, u64::saturating_add);
        self.options.memory_budget.unwrap_or_else(|| memory::machine().available(n_held))
    }

    /// Unloads what must go for `n_needed` bytes. Calls that run end first.
    fn make_room(&mut self, asked: &str, n_needed: u64) -> Result<(), ApiError> {
        let n_budget = self.budget();
        let victims = policy::victims(&self.held(), n_needed, n_budget).map_err(|shortage| {
            let stay = match shortage.pinned.as_slice() {
                [] => String::new(),
                names => format!(" beside {}, which stay", names.join(" and ")),
            };
            let detail = format!(
                "it needs {}; {} are there for models{stay}. Close other programs, lift a pin, use a smaller model, or raise \
                 --memory-budget",
                gigabytes(n_needed),
                gigabytes(n_budget)
            );
            ApiError::NoRoom { name: asked.to_owned(), detail }
        })?;
        for name in victims {
            self.act(format!("{name} is unloaded: {asked} needs the room"));
            self.unload(&name)?;
        }
        Ok(())
    }

    /// Takes a model out of service, lets its calls end, and gives its memory back.
    fn unload(&mut self, name: &str) -> Result<(), ApiError> {
        let unknown = || ApiError::UnknownModel {
            name: name.to_owned(),
            served: self.residents.iter().map(|resident| resident.served.id.clone()).collect(),
        };
        let resident = self.residents.remove(self.position(name).ok_or_else(unknown)?);
        let id = resident.served.id.clone();
        self.models.remove(&id);
        self.shared.moving(&id, None);
        let since = Instant::now();
        while is_in_use(&resident) && since.elapsed() < DRAIN_MAX {
            sleep(LOOK);
        }
        self.shared.settled(&id);
        if is_in_use(&resident) {
            self.models.add_again(resident.served.clone());
            self.residents.push(resident);
            let detail = "it still answers calls; try again when they are done".to_owned();
            return Err(ApiError::NoRoom { name: id, detail });
        }
        resident.served.engine.shutdown();
        Ok(())
    }

    fn pin(&mut self, name: &str, change: PinChange) -> Result<(), ApiError> {
        let unknown = || ApiError::UnknownModel { name: name.to_owned(), served: Vec::new() };
        let idx = self.position(name).ok_or_else(unknown)?;
        self.residents[idx].is_pinned = change == PinChange::Set;
        Ok(())
    }

    /// After a sleep clients have gone, and the port may have.
    fn notice_sleep(&mut self) {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let Some(slept) = self.wake.observe(self.start.elapsed(), wall) else { return };
        if wake::answers(self.options.address) {
            self.act(format!("the machine slept for {} s: the server still answers", slept.as_secs()));
        } else {
            let seconds = slept.as_secs();
            tracing::error!(
                "{} no longer answers after the machine slept: start the server again",
                self.options.address
            );
            self.act(format!("the machine slept for {seconds} s: the server no longer answers"));
        }
    }

    /// Every act is logged and shown.
    fn act(&mut self, what: String) {
        tracing::info!("{what}");
        push(&mut self.acts, Act { at: now(), words: what });
    }

    fn show(&self) {
        let (now, machine) = (Instant::now(), memory::machine());
        self.shared.show(Census {
            models: self.residents.iter().map(|resident| resident.shown(now)).collect(),
            pressure: self.policy.level(),
            pressure_history: self.pressure_history.iter().cloned().collect(),
            footprint_bytes: memory::footprint(),
            free_bytes: machine.n_free_bytes,
            total_bytes: machine.n_bytes,
            acts: self.acts.iter().cloned().collect(),
        });
    }
}

/// Adds to a list of which only the newest are shown.
fn push<T>(list: &mut VecDeque<T>, item: T) {
    list.push_back(item);
    if list.len() > N_ACTS_MAX {
        list.pop_front();
    }
}

fn now() -> String {
    format!("{:.0}", jiff::Timestamp::now())
}

/// Whether calls run, or hold a model that is out of service already.
fn is_in_use(resident: &Resident) -> bool {
    let stats = resident.served.engine.stats();
    stats.n_running + stats.n_waiting > 0 || Arc::strong_count(&resident.served) > 1
}

/// How this user wants a model loaded; damage to the file is said and costs no load.
fn own_settings(model: &str, asked: &str) -> ModelSettings {
    let of = |name: &str| {
        model_settings::of(name).unwrap_or_else(|error| {
            tracing::warn!("settings of models are ignored: {}", say::cause(&error));
            ModelSettings::default()
        })
    };
    let own = of(model);
    if own == ModelSettings::default() { of(asked) } else { own }
}

/// Bytes that a checkpoint takes with a context of use.
fn need(dir: &Path) -> Result<u64> {
    let checkpoint = Checkpoint::open(dir)?;
    let n_context = checkpoint.n_context.map_or(N_CONTEXT, |most| most.min(N_CONTEXT));
    Ok(demand(&checkpoint).at(n_context).n_array_bytes())
}
