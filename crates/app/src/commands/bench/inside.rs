//! One suite on one running server, without a terminal: for whoever shows the figures elsewhere.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use jiff::Timestamp;

use super::options::{Source, TargetSpec};
use super::suites::{self, Plan};
use super::target::{Shared, Target};
use super::{results, statistics};
use crate::cli::{SizeArgs, SuiteArg};

/// Longest wait for one answer.
const PATIENCE: Duration = Duration::from_secs(600);
/// How often somebody is asked whether to go on.
const LOOK: Duration = Duration::from_millis(200);

/// A server, and what is asked of it.
pub struct Wanted {
    /// Such as `http://127.0.0.1:8000/v1`.
    pub url: String,
    /// What to send as a bearer token.
    pub key: String,
    /// The model's name.
    pub model: String,
    /// Which suite.
    pub suite: SuiteArg,
    /// How much is done.
    pub sizes: SizeArgs,
}

/// A figure over all runs.
pub struct Figure {
    /// What was done, and what was looked at.
    pub name: String,
    /// Of the value.
    pub unit: String,
    /// The median.
    pub value: f64,
}

/// How a measurement goes, and whether it is to; shared with whoever watches.
#[derive(Debug, Default)]
pub struct Course {
    n_done: AtomicU64,
    n_runs: AtomicU64,
    is_over: AtomicBool,
}

impl Course {
    /// Breaks off.
    pub fn stop(&self) {
        self.is_over.store(true, Ordering::Release);
    }

    /// Whether somebody broke off.
    pub fn is_stopped(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// Part of the runs that are done.
    pub fn part(&self) -> f64 {
        self.n_done.load(Ordering::Relaxed) as f64 / self.n_runs.load(Ordering::Relaxed).max(1) as f64
    }
}

/// Measures, until the end or until somebody breaks off.
///
/// # Errors
/// When the server fails or refuses, or somebody broke off.
pub async fn measure(wanted: &Wanted, course: &Course) -> Result<Vec<Figure>> {
    let seed = Timestamp::now().as_nanosecond() as u64;
    let shared = Shared { api_key: Some(wanted.key.clone()), patience: PATIENCE, seed };
    let source = Source::Url(wanted.url.clone());
    let spec = TargetSpec { name: "tokbar".to_owned(), source, model: Some(wanted.model.clone()) };
    let mut results = results::Results::new(Timestamp::now().to_string(), seed);
    let n_runs = u64::from(wanted.sizes.runs);
    course.n_runs.store(n_runs, Ordering::Relaxed);
    let work = async {
        let mut target = Target::start(spec, &shared).await?;
        let calibration = suites::calibrate(&mut target, seed).await?;
        let plan = Plan { sizes: wanted.sizes.clone(), seed, calibration };
        let name = suites::name(wanted.suite);
        for run_idx in 0..n_runs {
            let samples = suites::run(wanted.suite, &mut target, &plan, run_idx).await;
            results.add(name, "tokbar", samples.with_context(|| format!("{name} failed"))?);
            course.n_done.store(run_idx + 1, Ordering::Relaxed);
        }
        Ok::<(), anyhow::Error>(())
    };
    // The work is dropped where it stands when somebody breaks off: its calls end with it.
    tokio::select! {
        done = work => done?,
        () = stopped(course) => bail!("stopped before the end"),
    }
    Ok(figures(&results))
}

/// Completes when somebody breaks off.
async fn stopped(course: &Course) {
    while !course.is_stopped() {
        tokio::time::sleep(LOOK).await;
    }
}

fn figures(results: &results::Results) -> Vec<Figure> {
    let figure = |series: &results::Series| {
        let name =
            if series.case.is_empty() { series.metric.clone() } else { format!("{}, {}", series.case, series.metric) };
        Some(Figure { name, unit: series.unit.clone(), value: statistics::median(&series.values)? })
    };
    results.series.iter().filter_map(figure).collect()
}
