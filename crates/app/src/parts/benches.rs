//! Measurements over the control API: one at a time, against this very server, remembered in a file.

mod worker;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use jiff::Timestamp;
use tokbar_server::control::{BenchFigure, BenchInfo, BenchRun, BenchState, BenchSuite, Benches, ExportFormat};
use tokbar_server::{ApiError, Models, Problem};

use super::refusal;
use crate::cli::SuiteArg;
use crate::commands::bench::inside::Course;
use crate::commands::bench::suites;
use crate::{config_dir, json_file};

/// Runs that are remembered.
const N_RUNS_MAX: usize = 200;

/// What can be measured here. `restart` kills the server, and `agent` needs tools.
const SUITES: [(SuiteArg, &str, &str, u64); 4] = [
    (SuiteArg::Cold, "Speed", "First token, prefill and decode of a prompt never seen before.", 30),
    (SuiteArg::Prefix, "Cache", "First token of a prompt that comes again, longer or edited.", 60),
    (SuiteArg::Concurrency, "Many at once", "Throughput of several streams, and how a long prompt delays them.", 90),
    (SuiteArg::Spec, "Drafts", "Code, JSON and prose: where drafts help.", 60),
];

/// See the module.
pub struct Bench {
    shared: Arc<Shared>,
    models: Models,
    /// Such as `http://127.0.0.1:8000/v1`, and what opens it.
    server: (String, String),
}

/// What the thread shares with whoever asks.
pub struct Shared {
    runs: Mutex<Runs>,
    path: Option<PathBuf>,
}

#[derive(Default)]
struct Runs {
    /// The newest first.
    done: Vec<BenchRun>,
    now: Option<Now>,
    n_begun: u64,
    thread: Option<JoinHandle<()>>,
}

struct Now {
    run: BenchRun,
    course: Arc<Course>,
}

impl Bench {
    /// Against the server at `url` that `token` opens.
    pub fn new(models: Models, server: (String, String)) -> Self {
        let path = config_dir::place().ok().map(|dir| dir.join("bench.json"));
        let done = path.as_deref().map(json_file::read::<Vec<BenchRun>>).transpose().unwrap_or_else(|error| {
            tracing::warn!("earlier measurements are not shown: {error:#}");
            None
        });
        let runs = Runs { done: done.flatten().unwrap_or_default(), ..Runs::default() };
        Self { shared: Arc::new(Shared { runs: Mutex::new(runs), path }), models, server }
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let thread = {
            let mut runs = self.shared.runs();
            runs.now.iter().for_each(|now| now.course.stop());
            runs.thread.take()
        };
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("a measurement panicked");
        }
    }
}

impl Shared {
    fn runs(&self) -> MutexGuard<'_, Runs> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The run of now is over.
    fn ended(&self, outcome: Result<Vec<BenchFigure>, String>) {
        let done = {
            let mut runs = self.runs();
            let Some(Now { mut run, course }) = runs.now.take() else { return };
            run.part = None;
            match outcome {
                Ok(figures) => (run.state, run.figures) = (BenchState::Done, figures),
                Err(_) if course.is_stopped() => run.state = BenchState::Cancelled,
                Err(error) => (run.state, run.error) = (BenchState::Failed, Some(error)),
            }
            runs.done.insert(0, run);
            runs.done.truncate(N_RUNS_MAX);
            runs.done.clone()
        };
        let Some(path) = &self.path else { return };
        if let Err(error) = json_file::write(path, &done) {
            tracing::warn!("a measurement is not remembered: {error:#}");
        }
    }
}

impl Benches for Bench {
    fn info(&self) -> Result<BenchInfo, ApiError> {
        let suite = |(suite, name, about, about_s): &(SuiteArg, &str, &str, u64)| BenchSuite {
            id: suites::name(*suite).to_owned(),
            name: (*name).to_owned(),
            about: (*about).to_owned(),
            about_s: *about_s,
        };
        let runs = self.shared.runs();
        let now = runs.now.iter().map(|now| BenchRun { part: Some(now.course.part()), ..now.run.clone() });
        Ok(BenchInfo {
            suites: SUITES.iter().map(suite).collect(),
            runs: now.chain(runs.done.iter().cloned()).collect(),
        })
    }

    fn run(&self, suite: &str, model: Option<&str>) -> Result<BenchRun, ApiError> {
        let known = SUITES.iter().find(|(known, ..)| suites::name(*known) == suite);
        let (suite, ..) = *known.ok_or_else(|| {
            let names: Vec<&str> = SUITES.iter().map(|(known, ..)| suites::name(*known)).collect();
            ApiError::invalid("suite", format!("must be one of {}", names.join(", ")))
        })?;
        let model = self.models.find(model)?.id.clone();
        let mut runs = self.shared.runs();
        if runs.now.is_some() {
            return Err(ApiError::wish(Problem::Busy, "a measurement is under way: wait for its end, or cancel it"));
        }
        runs.n_begun += 1;
        let started = Timestamp::now();
        let run = BenchRun {
            id: format!("b{}-{}", started.as_millisecond(), runs.n_begun),
            suite: suites::name(suite).to_owned(),
            model: model.clone(),
            state: BenchState::Running,
            part: Some(0.0),
            started: format!("{started:.0}"),
            figures: Vec::new(),
            error: None,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            machine: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        };
        let course = Arc::new(Course::default());
        let wanted = worker::wanted(&self.server, model, suite);
        let thread = worker::start(Arc::clone(&self.shared), wanted, Arc::clone(&course));
        let thread =
            thread.map_err(|error| refusal::machine(anyhow::Error::from(error).context("no thread for it")))?;
        runs.now = Some(Now { run: run.clone(), course });
        // The thread of before has told its end: it has nothing left to do.
        drop(runs.thread.replace(thread));
        Ok(run)
    }

    fn cancel(&self, id: &str) -> Result<BenchRun, ApiError> {
        let runs = self.shared.runs();
        let now = runs.now.as_ref().filter(|now| now.run.id == id);
        let now = now.ok_or_else(|| ApiError::wish(Problem::Missing, format!("no measurement {id:?} is under way")))?;
        now.course.stop();
        Ok(BenchRun { state: BenchState::Cancelled, ..now.run.clone() })
    }

    fn export(&self, id: &str, format: ExportFormat) -> Result<String, ApiError> {
        let runs = self.shared.runs();
        let run = runs.done.iter().find(|run| run.id == id);
        let run = run
            .ok_or_else(|| ApiError::wish(Problem::Missing, format!("there is no measurement {id:?} that is done")))?;
        match format {
            ExportFormat::Json => serde_json::to_string_pretty(run).map_err(|error| refusal::machine(error.into())),
            ExportFormat::Csv => Ok(csv(run)),
        }
    }
}

/// One line per figure. Names hold commas, so that they are quoted.
fn csv(run: &BenchRun) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let mut text = "suite,model,figure,value,unit,started\n".to_owned();
    for figure in &run.figures {
        let fields = [&run.suite, &run.model, &figure.name].map(|field| quoted(field)).join(",");
        text.push_str(&format!("{fields},{},{},{}\n", figure.value, quoted(&figure.unit), run.started));
    }
    text
}
