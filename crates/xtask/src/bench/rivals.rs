//! `cargo xtask bench rivals`: tokbar, mlx-lm's server and Rapid-MLX in turn, with the same weights, MLX and BLAS, measured by
//! `tokbar bench run`.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::python::{self, Dependencies};
use crate::reference::Reference;
use crate::repo::Profile;
use crate::stages::Stages;
use crate::{files, model, repo, setup};

/// A rival that is not installed with the reference: its environment and what is in it.
const RAPID_MLX: &str = "rapid-mlx";

/// Takes suites and options of `tokbar bench run`.
pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    setup::ensure()?;
    let stages = Stages::new("bench rivals");
    let reference = Reference::prepare(&stages)?;
    let tokbar = stages.run("release build of tokbar", || repo::build_tokbar(Profile::Release))?;
    let model = reference.dense(&model::bring(&model::SMOLLM2, &tokbar, &stages)?, &stages)?;
    let home = reference.work.join("home");
    // Caches of earlier benchmarks would only fill the disk: prompts are new each time.
    files::empty_dir(&home)?;
    let mut targets = vec![Target { name: "tokbar", line: serve(&tokbar, &model), model: None }];
    targets.push(mlx_lm(&reference, &model));
    match rapid_mlx(&reference, &model, &stages) {
        Ok(target) => targets.push(target),
        Err(error) => stages.note(&format!("Rapid-MLX cannot be measured here: {error:#}")),
    }
    let mut call = Command::new(&tokbar);
    call.args(["bench", "run"]).args(target_options(&targets)).args(arguments);
    call.args(file_options(arguments, &reference.work));
    // Caches that a server keeps on disk stay out of this user's.
    call.env("HOME", &home).env("XDG_CACHE_HOME", home.join("cache")).env("HF_HUB_OFFLINE", "1");
    // The benchmark takes this program's place: it stops its servers when Ctrl-C comes.
    let error = call.exec();
    Err(error).with_context(|| format!("starting {}", tokbar.display()))
}

/// A server and the shell line that starts it.
struct Target {
    name: &'static str,
    line: String,
    model: Option<&'static str>,
}

/// A kill by a suite is no reason for a careful start, in which one sequence runs at a time.
fn serve(tokbar: &Path, model: &Path) -> String {
    format!("exec {} serve {} --no-safe-mode --port {{port}}", quoted(tokbar), quoted(model))
}

fn mlx_lm(reference: &Reference, model: &Path) -> Target {
    let python = quoted(&reference.python);
    let line =
        format!("{}exec {python} -m mlx_lm server --model {} --port {{port}}", preload(reference), quoted(model));
    // Any other name it would look for on the Hub.
    Target { name: "mlx-lm", line, model: Some("default_model") }
}

fn rapid_mlx(reference: &Reference, model: &Path, stages: &Stages) -> anyhow::Result<Target> {
    let environment = reference.work.join(RAPID_MLX);
    let list = reference.scripts.join("rapid-mlx.txt");
    let wanted = fs::read_to_string(&list).with_context(|| format!("reading {}", list.display()))?;
    stages.run("Rapid-MLX in a virtual environment (about 400 MB)", || {
        python::environment(&environment, &wanted, Dependencies::Listed)
    })?;
    let program = quoted(&environment.join("bin/rapid-mlx"));
    let line = format!(
        "{}DO_NOT_TRACK=1 RAPID_MLX_TELEMETRY=0 exec {program} serve {} --port {{port}} --served-model-name m",
        preload(reference),
        quoted(model)
    );
    Ok(Target { name: RAPID_MLX, line, model: Some("m") })
}

/// The wheel's BLAS is the slow reference one: all sides compute with the same fast one.
fn preload(reference: &Reference) -> String {
    reference.preload.as_ref().map_or(String::new(), |library| format!("LD_PRELOAD={} ", quoted(Path::new(library))))
}

/// For a shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', r"'\''"))
}

fn target_options(targets: &[Target]) -> Vec<String> {
    let mut options = Vec::new();
    for target in targets {
        options.extend(["--target".to_owned(), format!("{}={}", target.name, target.line)]);
        if let Some(model) = target.model {
            options.extend(["--target-model".to_owned(), format!("{}={model}", target.name)]);
        }
    }
    options
}

/// Where results go if the arguments do not say.
fn file_options(arguments: &[String], work: &Path) -> Vec<PathBuf> {
    let mut options = Vec::new();
    for (option, file) in [("--json", "rivals.json"), ("--svg", "rivals.svg")] {
        let is_given = |argument: &String| argument == option || argument.starts_with(&format!("{option}="));
        if !arguments.iter().any(is_given) {
            options.extend([PathBuf::from(option), work.join(file)]);
        }
    }
    options
}

#[cfg(test)]
#[path = "rivals_tests.rs"]
mod tests;
