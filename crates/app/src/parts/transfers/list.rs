//! The list of transfers: what is wanted, how each stands, and which is next. Does nothing by itself.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokbar_server::control::{Transfer, TransferKind, TransferState};

/// Transfers that are listed.
const N_JOBS_MAX: usize = 500;

/// What somebody wants on the disk; also what is kept of it over a restart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wanted {
    /// Whether a GGUF file is imported.
    #[serde(default)]
    pub is_import: bool,
    /// Id of the Hub, or path of a file.
    pub model: String,
    /// Branch, tag or commit.
    pub revision: Option<String>,
    /// Bits for weights that are quantized anew.
    pub bits: Option<u8>,
    /// Whether it waits for somebody to go on.
    #[serde(default)]
    pub is_paused: bool,
    /// Whether files that are there and wrong are to come again.
    #[serde(default)]
    pub is_repair: bool,
}

impl Wanted {
    /// To be begun at once.
    pub fn new(kind: TransferKind, model: String, revision: Option<String>) -> Self {
        Self {
            is_import: kind == TransferKind::Import,
            model,
            revision,
            bits: None,
            is_paused: false,
            is_repair: false,
        }
    }
}

/// All transfers, by age.
#[derive(Default)]
pub struct List {
    jobs: Vec<Arc<Job>>,
    n_begun: u64,
    is_closed: bool,
}

/// One transfer.
pub struct Job {
    pub wanted: Wanted,
    id: String,
    started: String,
    course: Mutex<Course>,
    /// Counts changes of mind: a thread of an earlier count is to end.
    turn: AtomicU64,
}

struct Course {
    state: TransferState,
    n_bytes_done: u64,
    n_bytes: Option<u64>,
    bytes_per_s: Option<f64>,
    left_s: Option<f64>,
    error: Option<String>,
    path: Option<String>,
    thread: Option<JoinHandle<()>>,
    /// Whether that thread still works.
    is_working: bool,
}

impl List {
    /// What was kept.
    pub fn of(kept: Vec<Wanted>) -> Self {
        let mut list = Self::default();
        for wanted in kept.into_iter().take(N_JOBS_MAX) {
            let is_paused = wanted.is_paused;
            if let Some(job) = list.add(wanted)
                && is_paused
            {
                job.pause();
            }
        }
        list
    }

    /// One more, which waits. `None` when there are too many.
    pub fn add(&mut self, wanted: Wanted) -> Option<Arc<Job>> {
        if self.jobs.len() >= N_JOBS_MAX {
            return None;
        }
        self.n_begun += 1;
        let job = Arc::new(Job::new(wanted, format!("t{}", self.n_begun)));
        self.jobs.push(Arc::clone(&job));
        Some(job)
    }

    /// The transfer of the same thing that is not over.
    pub fn open(&self, wanted: &Wanted) -> Option<Arc<Job>> {
        let is_same = |job: &&Arc<Job>| {
            let Wanted { is_import, model, revision, .. } = &job.wanted;
            (*is_import, model, revision) == (wanted.is_import, &wanted.model, &wanted.revision)
                && job.shown().is_open()
        };
        self.jobs.iter().find(is_same).cloned()
    }

    /// The one of that id.
    pub fn find(&self, id: &str) -> Option<Arc<Job>> {
        self.jobs.iter().find(|job| job.id == id).cloned()
    }

    /// Shows one no more.
    pub fn remove(&mut self, id: &str) {
        self.jobs.retain(|job| job.id != id);
    }

    /// The one to start now, which counts as running from here on, if fewer than `n_max` do.
    pub fn next(&mut self, n_max: usize) -> Option<Arc<Job>> {
        let n_working = self.jobs.iter().filter(|job| job.course().is_working).count();
        if self.is_closed || n_working >= n_max {
            return None;
        }
        let is_ready = |job: &&Arc<Job>| {
            let course = job.course();
            course.state == TransferState::Waiting && !course.is_working
        };
        let job = self.jobs.iter().find(is_ready)?.clone();
        job.begin();
        Some(job)
    }

    /// The newest first.
    pub fn shown(&self) -> Vec<Transfer> {
        self.jobs.iter().rev().map(|job| job.shown()).collect()
    }

    /// What is not over, to be kept.
    pub fn wanted(&self) -> Vec<Wanted> {
        let open = self.jobs.iter().filter(|job| job.shown().is_open());
        open.map(|job| {
            let is_paused = matches!(job.shown().state, TransferState::Paused | TransferState::Failed);
            Wanted { is_paused, ..job.wanted.clone() }
        })
        .collect()
    }

    /// Starts nothing more, tells all threads to end, and gives them back.
    pub fn close(&mut self) -> Vec<JoinHandle<()>> {
        self.is_closed = true;
        self.jobs.iter().for_each(|job| job.bump());
        self.jobs.iter().filter_map(|job| job.take_thread()).collect()
    }
}

impl Job {
    fn new(wanted: Wanted, id: String) -> Self {
        let course = Course {
            state: TransferState::Waiting,
            n_bytes_done: 0,
            n_bytes: None,
            bytes_per_s: None,
            left_s: None,
            error: None,
            path: None,
            thread: None,
            is_working: false,
        };
        let started = format!("{:.0}", Timestamp::now());
        Self { wanted, id, started, course: Mutex::new(course), turn: AtomicU64::new(0) }
    }

    fn course(&self) -> MutexGuard<'_, Course> {
        self.course.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn bump(&self) {
        self.turn.fetch_add(1, Ordering::AcqRel);
    }

    /// The count under which a thread starts.
    pub fn turn(&self) -> u64 {
        self.turn.load(Ordering::Acquire)
    }

    /// As people see it.
    pub fn shown(&self) -> Transfer {
        let course = self.course();
        Transfer {
            id: self.id.clone(),
            kind: if self.wanted.is_import { TransferKind::Import } else { TransferKind::Download },
            model: self.wanted.model.clone(),
            state: course.state,
            n_bytes_done: course.n_bytes_done,
            n_bytes: course.n_bytes,
            bytes_per_s: course.bytes_per_s,
            left_s: course.left_s,
            error: course.error.clone(),
            path: course.path.clone(),
            started: self.started.clone(),
        }
    }

    fn begin(&self) {
        let mut course = self.course();
        (course.state, course.is_working, course.error) = (TransferState::Running, true, None);
    }

    fn halt(&self, state: TransferState) {
        self.bump();
        let mut course = self.course();
        (course.state, course.bytes_per_s, course.left_s) = (state, None, None);
    }

    /// It stops for now.
    pub fn pause(&self) {
        self.halt(TransferState::Paused);
    }

    /// It is given up.
    pub fn cancel(&self) {
        self.halt(TransferState::Cancelled);
    }

    /// It waits to go on, if it does not already go.
    pub fn resume(&self) {
        let mut course = self.course();
        if !matches!(course.state, TransferState::Running) {
            (course.state, course.error) = (TransferState::Waiting, None);
        }
    }

    /// How far it is, from the thread of `turn`.
    pub fn came(&self, turn: u64, (n_done, n_bytes): (u64, u64), (bytes_per_s, left_s): (Option<f64>, Option<f64>)) {
        // Before the Hub has answered, what is known of an earlier try is more.
        if turn == self.turn() && n_bytes > 0 {
            let mut course = self.course();
            (course.n_bytes_done, course.n_bytes) = (n_done, Some(n_bytes));
            (course.bytes_per_s, course.left_s) = (bytes_per_s, left_s);
        }
    }

    /// Its thread of `turn` has ended: with a path, or with an error that counts unless somebody changed their mind.
    pub fn ended(&self, turn: u64, outcome: Result<String, String>) {
        let is_current = turn == self.turn();
        let mut course = self.course();
        course.is_working = false;
        match outcome {
            Ok(path) => {
                (course.state, course.path, course.error) = (TransferState::Done, Some(path), None);
                course.n_bytes_done = course.n_bytes.unwrap_or(course.n_bytes_done);
            }
            Err(error) if is_current => (course.state, course.error) = (TransferState::Failed, Some(error)),
            Err(_) => {}
        }
        (course.bytes_per_s, course.left_s) = (None, None);
    }

    /// It did not even start.
    pub fn failed(&self, error: String) {
        self.ended(self.turn(), Err(error));
    }

    /// Its thread, to be joined later; the one of before, which is at its end.
    pub fn runs_on(&self, thread: JoinHandle<()>) -> Option<JoinHandle<()>> {
        self.course().thread.replace(thread)
    }

    /// Its thread, if nobody took it yet.
    pub fn take_thread(&self) -> Option<JoinHandle<()>> {
        self.course().thread.take()
    }
}
