//! Downloads and imports over the control API: a few at a time, the rest wait; what was under way at the end goes on at the
//! next start.

mod list;
mod worker;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokbar_hub::id::HubId;
use tokbar_hub::scan::{self, Condition, Owner};
use tokbar_server::control::{Transfer, TransferChange, TransferKind, TransferState, Transfers};
use tokbar_server::{ApiError, Problem};

use self::list::{Job, List, Wanted};
use super::refusal;
use crate::{config_dir, hub, json_file, known, shelf};

/// How long the end of transfers is waited for, and how often it is looked at.
const PATIENCE: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(5);
/// Transfers at once.
const N_RUNNING_MAX: usize = 2;

/// See the module.
pub struct Queue {
    shared: Arc<Shared>,
}

/// What the threads share.
pub struct Shared {
    list: Mutex<List>,
    /// Where the list is kept; `None` keeps it nowhere.
    path: Option<PathBuf>,
}

impl Queue {
    /// Takes up what was under way. A list that cannot be read begins anew.
    pub fn start() -> Self {
        Self::at(config_dir::place().ok().map(|dir| dir.join("transfers.json")))
    }

    fn at(path: Option<PathBuf>) -> Self {
        let kept = path.as_deref().map(json_file::read::<Vec<Wanted>>).transpose();
        let wanted = kept.unwrap_or_else(|error| {
            tracing::warn!("the list of downloads begins anew: {error:#}");
            None
        });
        let shared = Arc::new(Shared { list: Mutex::new(List::of(wanted.flatten().unwrap_or_default())), path });
        shared.pump();
        Self { shared }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.shared.stop();
    }
}

impl Shared {
    fn list(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts what waits, as far as there is room.
    fn pump(self: &Arc<Self>) {
        let mut before = Vec::new();
        let mut list = self.list();
        while let Some(job) = list.next(N_RUNNING_MAX) {
            match worker::start(Arc::clone(self), &job) {
                Ok(thread) => before.extend(job.runs_on(thread)),
                Err(error) => job.failed(format!("no thread for it: {error}; try again")),
            }
        }
        // They want the list once more before they end, and one of them may be this very thread.
        drop(list);
        let own = std::thread::current().id();
        join(before.into_iter().filter(|thread| thread.thread().id() != own));
    }

    /// Keeps what is under way, so that the next start goes on with it.
    fn keep(&self) {
        let Some(path) = &self.path else { return };
        // What is newer is not written over by what was listed before it.
        let written = json_file::Alone::with(path).and_then(|_alone| json_file::write(path, &self.list().wanted()));
        if let Err(error) = written {
            tracing::warn!("the list of downloads is not kept: {error:#}");
        }
    }

    /// A job's thread is at its end: others may go on.
    fn ended(self: &Arc<Self>) {
        self.keep();
        self.pump();
    }

    /// Breaks everything off and waits for it, but not for a server that is silent: what has come is safe at any time. What
    /// was under way stays in the list that is kept.
    fn stop(&self) {
        let threads = self.list().close();
        let start = Instant::now();
        while threads.iter().any(|thread| !thread.is_finished()) && start.elapsed() < PATIENCE {
            std::thread::park_timeout(LOOK);
        }
        join(threads.into_iter().filter(JoinHandle::is_finished));
    }
}

fn join(threads: impl IntoIterator<Item = JoinHandle<()>>) {
    for thread in threads {
        if thread.join().is_err() {
            tracing::error!("a download panicked");
        }
    }
}

impl Transfers for Queue {
    fn list(&self) -> Result<Vec<Transfer>, ApiError> {
        Ok(self.shared.list().shown())
    }

    fn download(&self, model: &str, revision: Option<&str>) -> Result<Transfer, ApiError> {
        let wrong = |error: anyhow::Error| ApiError::invalid("model", format!("cannot be downloaded: {error:#}"));
        let id = known::id_of(model).map_err(wrong)?.unwrap_or_else(|| model.to_owned());
        if HubId::parse(&id).is_none() {
            let detail =
                format!("there is no model named {model:?}: give a short name of the list, or owner/name of the Hub");
            return Err(ApiError::wish(Problem::Missing, detail));
        }
        if hub::is_offline() {
            let detail = "HF_HUB_OFFLINE forbids to download: start the program without it";
            return Err(ApiError::wish(Problem::Busy, detail));
        }
        let catalog = known::catalog().map_err(refusal::machine)?;
        let revision = revision.map(str::to_owned).or_else(|| catalog.of_id(&id)?.revision.clone());
        let is_repair = is_broken(&id);
        self.add(Wanted { is_repair, ..Wanted::new(TransferKind::Download, id, revision) })
    }

    fn import(&self, path: &str, bits: Option<u8>) -> Result<Transfer, ApiError> {
        if !Path::new(path).is_file() {
            return Err(ApiError::invalid("path", format!("{path:?} is no file: give the path of a .gguf file")));
        }
        self.add(Wanted { bits, ..Wanted::new(TransferKind::Import, path.to_owned(), None) })
    }

    fn change(&self, id: &str, change: TransferChange) -> Result<Transfer, ApiError> {
        let (shown, is_repair) = {
            let mut list = self.shared.list();
            let job = list.find(id).ok_or_else(|| {
                ApiError::wish(Problem::Missing, format!("there is no download {id:?}: it has left the list"))
            })?;
            let shown = alter(&job, change)?;
            if change == TransferChange::Clear {
                list.remove(id);
            }
            (shown, job.wanted.is_repair)
        };
        if change == TransferChange::Cancel {
            self.shared.wait(id);
            // What stood there before a repair is not its to remove.
            if shown.kind == TransferKind::Download && !is_repair {
                discard(&shown.model);
            }
        }
        self.shared.ended();
        Ok(shown)
    }
}

impl Queue {
    /// One of each model at a time: asking again goes on with what is there.
    fn add(&self, wanted: Wanted) -> Result<Transfer, ApiError> {
        let job = {
            let mut list = self.shared.list();
            match list.open(&wanted) {
                Some(job) => {
                    job.resume();
                    job
                }
                None => list.add(wanted).ok_or_else(|| {
                    ApiError::wish(Problem::Busy, "too many downloads are listed: clear some, then try again")
                })?,
            }
        };
        self.shared.ended();
        Ok(job.shown())
    }
}

/// Whether the Hub's cache holds a model with files that are wrong, which no download of what is missing mends.
fn is_broken(model: &str) -> bool {
    in_cache(model).iter().any(|model| matches!(model.condition, Condition::Broken { .. }))
}

/// Removes what a download that was given up has brought; a model that is whole stays.
fn discard(model: &str) {
    for model in in_cache(model).iter().filter(|model| model.condition != Condition::Ready) {
        if let Err(error) = scan::remove(model) {
            tracing::warn!(%error, "what a download brought stays");
        }
    }
}

fn in_cache(model: &str) -> Vec<scan::Model> {
    let mut found = shelf::find(&shelf::shelves().unwrap_or_default(), model);
    found.retain(|model| model.owner == Owner::HuggingFace);
    found
}

impl Shared {
    /// Waits until the thread of a job has ended.
    fn wait(&self, id: &str) {
        let thread = self.list().find(id).and_then(|job| job.take_thread());
        join(thread);
    }
}

/// # Errors
/// When the job's state does not allow it.
fn alter(job: &Arc<Job>, change: TransferChange) -> Result<Transfer, ApiError> {
    use TransferState::{Cancelled, Done, Failed, Paused, Running, Waiting};
    let state = job.shown().state;
    match (change, state) {
        (TransferChange::Pause, Running | Waiting) => job.pause(),
        (TransferChange::Resume, Paused | Failed | Cancelled) => job.resume(),
        (TransferChange::Cancel, Running | Waiting | Paused | Failed) => job.cancel(),
        (TransferChange::Clear, Done | Failed | Cancelled) => {}
        (change, state) => {
            let detail = format!("the download is {state:?} and cannot be told to {change:?}").to_lowercase();
            return Err(ApiError::wish(Problem::Busy, detail));
        }
    }
    Ok(job.shown())
}

#[cfg(test)]
#[path = "transfers_tests.rs"]
mod tests;
