//! `tokbar bench run`: suites on one server, or on several in turn.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use jiff::Timestamp;

use super::results::{Results, TargetInfo};
use super::suites::{self, Plan};
use super::target::{Shared, Target};
use super::{options, output};
use crate::cli::{SuiteArg, SuitesArgs};
use crate::{say, wiring};

const ALL: [SuiteArg; 6] =
    [SuiteArg::Cold, SuiteArg::Prefix, SuiteArg::Restart, SuiteArg::Concurrency, SuiteArg::Agent, SuiteArg::Spec];

/// Starts the servers, measures, prints and saves. What was measured before a failure or Ctrl-C is told too.
pub fn run(args: &SuitesArgs) -> Result<()> {
    let specs = options::targets(&args.targets)?;
    let now = Timestamp::now();
    let seed = args.sizes.seed.unwrap_or_else(|| now.as_nanosecond() as u64);
    let mut results = Results::new(now.to_string(), seed);
    let finished = wiring::block_on(async {
        let stop = wiring::stop_signal(1)?;
        let work = async {
            let shared = Shared {
                api_key: args.targets.api_key.clone(),
                patience: Duration::from_secs(args.targets.timeout),
                seed,
            };
            let mut targets = Vec::new();
            for spec in specs {
                start(spec, &shared, &mut targets, &mut results).await?;
            }
            measure(args, targets, &mut results).await
        };
        tokio::select! {
            finished = work => finished,
            () = stop => bail!("stopped before the end; any figures above were measured until then"),
        }
    });
    if !results.series.is_empty() {
        output::write(&results, &args.output)?;
    }
    finished
}

/// The first target must start; another that does not is left out, with the reason.
async fn start(
    spec: options::TargetSpec,
    shared: &Shared,
    targets: &mut Vec<Target>,
    results: &mut Results,
) -> Result<()> {
    let name = spec.name.clone();
    tracing::info!("starting {name}");
    let target = Target::start(spec, shared).await.with_context(|| format!("{name} cannot be measured"));
    let info = |model: String, notes: Vec<String>| TargetInfo { name: name.clone(), model, notes };
    match target {
        Ok(target) => {
            results.targets.push(info(target.endpoint.model.clone(), target.notes.clone()));
            targets.push(target);
            Ok(())
        }
        Err(error) if targets.is_empty() => Err(error),
        Err(error) => {
            tracing::warn!("{}", say::cause(&error));
            results.targets.push(info(String::new(), vec![say::cause(&error)]));
            Ok(())
        }
    }
}

async fn measure(args: &SuitesArgs, mut targets: Vec<Target>, results: &mut Results) -> Result<()> {
    let Some(first) = targets.first_mut() else { return Ok(()) };
    let calibration = suites::calibrate(first, results.seed).await?;
    let plan = Plan { sizes: args.sizes.clone(), seed: results.seed, calibration };
    let suites = chosen(&args.suites, first)?;
    let mut first_error = None;
    for suite in suites {
        let errors = one_suite(suite, &mut targets, &plan, results).await;
        first_error = first_error.or(errors);
    }
    first_error.map_or(Ok(()), Err)
}

/// `restart` needs a server that this program starts.
fn chosen(wanted: &[SuiteArg], first: &Target) -> Result<Vec<SuiteArg>> {
    if wanted.contains(&SuiteArg::Restart) && !first.can_restart() {
        bail!("`restart` kills the server and starts it again: give --serve-command, or a --target with a command");
    }
    let mut suites = if wanted.is_empty() { ALL.to_vec() } else { wanted.to_vec() };
    suites.retain(|&suite| suite != SuiteArg::Restart || first.can_restart());
    suites.sort();
    suites.dedup();
    Ok(suites)
}

/// All runs of a suite, the targets in turn; one that fails is left out of the rest. Returns the first target's failure.
async fn one_suite(
    suite: SuiteArg,
    targets: &mut [Target],
    plan: &Plan,
    results: &mut Results,
) -> Option<anyhow::Error> {
    let (name, n_runs) = (suites::name(suite), u64::from(plan.sizes.runs));
    let mut has_failed = vec![false; targets.len()];
    let mut failure = None;
    for run_idx in 0..n_runs {
        for (idx, target) in targets.iter_mut().enumerate() {
            if has_failed[idx] || (suite == SuiteArg::Restart && !target.can_restart()) {
                continue;
            }
            let started = Instant::now();
            let samples = one_run(suite, target, plan, run_idx).await;
            tracing::info!(
                "{name}, run {} of {n_runs}, {}: {:.1} s",
                run_idx + 1,
                target.spec.name,
                started.elapsed().as_secs_f64()
            );
            match samples {
                Ok(samples) => results.add(name, &target.spec.name, samples),
                Err(error) => {
                    has_failed[idx] = true;
                    target.note(format!("{name} failed: {}", say::cause(&error)));
                    if idx == 0 {
                        failure = Some(error.context(format!("{name} failed at {}", target.spec.name)));
                    }
                }
            }
            keep_notes(target, results);
        }
    }
    failure
}

async fn one_run(
    suite: SuiteArg,
    target: &mut Target,
    plan: &Plan,
    run_idx: u64,
) -> Result<Vec<super::results::Sample>> {
    target.revive().await?;
    suites::run(suite, target, plan, run_idx).await
}

fn keep_notes(target: &Target, results: &mut Results) {
    if let Some(info) = results.targets.iter_mut().find(|info| info.name == target.spec.name) {
        info.notes.clone_from(&target.notes);
    }
}
