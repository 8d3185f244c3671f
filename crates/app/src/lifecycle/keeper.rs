//! The handle of the thread that loads and unloads: what the server asks through, and how it is stopped.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Result;
use tokbar_server::{ApiError, Census, Later, Lifecycle, Models, PinChange, Resident as Shown, ResidentState};
use tokio::sync::oneshot;

use super::load::Watch;
use super::resident::Recipe;
use super::safe::SafeMode;
use super::{Loaded, worker};

/// Wishes that wait to be done.
const N_COMMANDS_MAX: usize = 256;
/// When to ask again while memory is short.
const RETRY_AFTER_S: u64 = 15;

/// How models are kept.
#[derive(Clone, Debug)]
pub struct KeeperOptions {
    /// After which an unused model is unloaded; `None` is never.
    pub idle_timeout: Option<Duration>,
    /// Bytes for all models; `None` is what the machine has.
    pub memory_budget: Option<u64>,
    /// Whether other models are loaded when calls name them.
    pub switches: bool,
    /// Whether the first model stays.
    pub is_pinned: bool,
    /// Where the server listens.
    pub address: SocketAddr,
    /// Where the memory pressure is read from, instead of the machine.
    pub pressure_from: Option<PathBuf>,
    /// How long the machine must be better off before anything is given back.
    pub pressure_calm: Duration,
    /// Bounds after an unclean end, until it has gone well for a while.
    pub safe: Option<SafeMode>,
}

/// What the thread is told.
pub enum Command {
    /// Have a model served.
    Want(Option<String>, Reply),
    /// Have it served no more.
    Unload(String, Reply),
    /// Set or lift its pin.
    Pin(String, PinChange, Reply),
    /// End.
    Stop,
}

pub type Reply = oneshot::Sender<Result<(), ApiError>>;

/// What the thread shows while it works.
#[derive(Default)]
pub struct Shared {
    census: Mutex<Census>,
    /// Names of what is on its way, with its progress, or on its way out.
    moving: Mutex<Vec<(String, Option<Arc<Watch>>)>>,
    is_refusing: AtomicBool,
}

/// See the module.
pub struct Keeper {
    handle: Arc<Handle>,
    thread: Option<JoinHandle<()>>,
}

struct Handle {
    commands: SyncSender<Command>,
    shared: Arc<Shared>,
}

impl Keeper {
    /// Serves `first`, if there is one, as the first of `models`, and keeps them from now on. `recipe` is how it was loaded, and
    /// how others are.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(models: &Models, first: Option<Loaded>, recipe: Recipe, options: KeeperOptions) -> Result<Self> {
        let (commands, receiver) = std::sync::mpsc::sync_channel(N_COMMANDS_MAX);
        let shared = Arc::new(Shared::default());
        let thread = worker::start(models.clone(), (first, recipe), options, (receiver, Arc::clone(&shared)))?;
        let handle = Arc::new(Handle { commands, shared });
        models.keep_by(handle.clone());
        Ok(Self { handle, thread: Some(thread) })
    }

    /// What loads, unloads and pins, and tells what is loaded.
    pub fn lifecycle(&self) -> Arc<dyn Lifecycle> {
        self.handle.clone()
    }

    /// Unloads everything and waits for that. Calls that still run are cancelled.
    pub fn stop(mut self) {
        self.join();
    }

    fn join(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        if self.handle.commands.send(Command::Stop).is_err() {
            tracing::debug!("the keeper of models ended before it was told to");
        }
        if thread.join().is_err() {
            tracing::error!("the keeper of models panicked");
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.join();
    }
}

impl Handle {
    fn ask(&self, command: impl FnOnce(Reply) -> Command) -> Later<()> {
        let (reply, answer) = oneshot::channel();
        let sent = self.commands.try_send(command(reply));
        Box::pin(async move {
            match sent {
                Ok(()) => answer.await.unwrap_or(Err(ApiError::Stopping)),
                Err(TrySendError::Full(_)) => Err(ApiError::QueueFull { retry_after_s: RETRY_AFTER_S }),
                Err(TrySendError::Disconnected(_)) => Err(ApiError::Stopping),
            }
        })
    }
}

impl Lifecycle for Handle {
    fn want(&self, name: Option<String>) -> Later<()> {
        self.ask(|reply| Command::Want(name, reply))
    }

    fn unload(&self, name: String) -> Later<()> {
        self.ask(|reply| Command::Unload(name, reply))
    }

    fn pin(&self, name: String, pin: PinChange) -> Later<()> {
        self.ask(|reply| Command::Pin(name, pin, reply))
    }

    fn refusal(&self) -> Option<ApiError> {
        let is_refusing = self.shared.is_refusing.load(Ordering::Acquire);
        is_refusing.then_some(ApiError::ShortOfMemory { retry_after_s: RETRY_AFTER_S })
    }

    fn census(&self) -> Census {
        self.shared.census()
    }
}

impl Shared {
    fn census(&self) -> Census {
        let mut census = self.census.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for (id, watch) in self.moving.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let loading = |watch: &Arc<Watch>| (ResidentState::Loading, watch.part());
            let (state, loaded) = watch.as_ref().map_or((ResidentState::Leaving, 1.0), loading);
            census.models.push(Shown { id: id.clone(), state, loaded, ..Shown::default() });
        }
        census
    }

    /// Shows this from now on.
    pub fn show(&self, census: Census) {
        *self.census.lock().unwrap_or_else(PoisonError::into_inner) = census;
    }

    /// A model is on its way, or with no watch on its way out, until [`settled`](Self::settled).
    pub fn moving(&self, id: &str, watch: Option<Arc<Watch>>) {
        self.moving.lock().unwrap_or_else(PoisonError::into_inner).push((id.to_owned(), watch));
    }

    /// A model has come or gone.
    pub fn settled(&self, id: &str) {
        self.moving.lock().unwrap_or_else(PoisonError::into_inner).retain(|(other, _)| other != id);
    }

    /// Whether calls are refused from now on.
    pub fn refuse(&self, refuses: Refusing) {
        self.is_refusing.store(refuses == Refusing::All, Ordering::Release);
    }
}

/// Which calls are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusing {
    /// None.
    Nothing,
    /// All that would run a model.
    All,
}
