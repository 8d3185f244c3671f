//! `cargo xtask ui` and `screenshots`: builds `ui/` into `ui/dist`, where the server takes it from, and tests it.
//!
//! Packages come by the committed lock file, and nothing is built twice: stamps hold the hash of what went in.

use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use serde_json::Value;

use crate::repo::Profile;
use crate::stages::Stages;
use crate::{files, model, packages, repo, setup, shell};

/// What the pages are made of, from the root of the checkout.
const INPUTS: &[&str] = &[
    "assets",
    "ui/src",
    "ui/public",
    "ui/index.html",
    "ui/package-lock.json",
    "ui/svelte.config.js",
    "ui/vite.config.ts",
];
/// Where a browser is on a Mac; elsewhere a package brings it.
const MAC_BROWSERS: &[&str] = &[
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
];
const BROWSER: &str = "/usr/bin/chromium";

/// Builds the pages.
pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    if !arguments.is_empty() {
        bail!("`ui` takes no arguments");
    }
    let stages = Stages::new("ui");
    ensure(&stages)?;
    stages.finish();
    Ok(())
}

/// Pictures of every panel, light and dark, in a folder that Git ignores; with `--readme`, the README's, of the real program.
pub fn screenshots(arguments: &[String]) -> anyhow::Result<()> {
    let stages = Stages::new("screenshots");
    let shots = match arguments {
        [] => {
            ensure(&stages)?;
            let shots = repo::root()?.join("ui/shots");
            files::empty_dir(&shots)?;
            pictures("playwright.shots.config.ts", &shots, &[], &stages)?;
            shots
        }
        [readme] if readme == "--readme" => {
            setup::ensure()?;
            ensure(&stages)?;
            let tokbar = stages.run("building tokbar", || repo::build_tokbar(Profile::Dev))?;
            model::bring(&model::SMOLLM2, &tokbar, &stages)?;
            let (shots, small) = (repo::root()?.join("docs/images"), repo::testkit()?.join(model::SMOLLM2.folder));
            pictures(
                "playwright.readme.config.ts",
                &shots,
                &[("TOKBAR_BIN", &tokbar), ("TOKBAR_MODEL", &small)],
                &stages,
            )?;
            shots
        }
        _ => bail!("`screenshots` takes no arguments but --readme"),
    };
    stages.finish();
    println!("{}", shots.display());
    Ok(())
}

/// Has a browser write pictures into the folder `to`.
fn pictures(config: &str, to: &Path, env: &[(&str, &PathBuf)], stages: &Stages) -> anyhow::Result<()> {
    let browser = browser(stages)?;
    stages.run("pictures", || {
        let mut playwright = npx(&["playwright", "test", "--config", config])?;
        playwright.envs(env.iter().copied()).env("TOKBAR_CHROMIUM", browser).env("TOKBAR_SHOTS", to);
        shell::show(&mut playwright)
    })
}

/// Makes sure that `ui/dist` is what the sources say.
pub fn ensure(stages: &Stages) -> anyhow::Result<()> {
    let ui = repo::root()?.join("ui");
    packages::ensure(&[packages::NODE], stages)?;
    let lock = fs::read_to_string(ui.join("package-lock.json")).context("reading ui/package-lock.json")?;
    let installed = ui.join("node_modules/.lock-stamp");
    if !files::says(&installed, &lock) {
        stages.run("packages of the UI", || {
            shell::capture(Command::new("npm").current_dir(&ui).args(["ci", "--loglevel=error"]))?;
            files::write_if_new(&installed, &lock)
        })?;
    }
    let (hash, built) = (hash_of_inputs()?, ui.join("node_modules/.dist-stamp"));
    if files::says(&built, &hash) && ui.join("dist/index.html").is_file() {
        return Ok(());
    }
    stages.run("building the UI", || shell::capture(&mut npx(&["vite", "build"])?))?;
    files::write_if_new(&built, &hash)
}

/// What the tests of the UI came to.
#[derive(Debug, Default, PartialEq)]
pub struct Outcome {
    pub n_passed: u64,
    pub n_failed: u64,
}

/// Types, pure parts and components.
pub fn test_components(stages: &Stages) -> anyhow::Result<Outcome> {
    stages.run("types of the UI", || shell::capture(&mut npx(&["svelte-check", "--fail-on-warnings"])?))?;
    stages.run("tests of components", || {
        let report = report("vitest.json")?;
        let mut vitest = npx(&["vitest", "run", "--reporter=dot", "--reporter=json"])?;
        counted(vitest.arg(format!("--outputFile.json={}", report.display())), &report, of_vitest)
    })
}

/// Whole pages in a browser before the real server: `tokbar` with the small model in the folder `model`.
pub fn test_pages(tokbar: &Path, model: &Path, stages: &Stages) -> anyhow::Result<Outcome> {
    let browser = browser(stages)?;
    stages.run("tests of pages in a browser", || {
        let report = report("playwright.json")?;
        let mut playwright = npx(&["playwright", "test", "--reporter=line,json"])?;
        playwright.env("PLAYWRIGHT_JSON_OUTPUT_NAME", &report).env("TOKBAR_CHROMIUM", browser);
        playwright.env("TOKBAR_BIN", tokbar).env("TOKBAR_MODEL", model);
        counted(&mut playwright, &report, of_playwright)
    })
}

/// Where a report goes.
fn report(name: &str) -> anyhow::Result<PathBuf> {
    let folder = repo::target_dir()?.join("ui");
    fs::create_dir_all(&folder).context("creating a folder for reports")?;
    Ok(folder.join(name))
}

/// Runs tests that write a report; the report, not the exit status, says how many failed.
fn counted(command: &mut Command, report: &Path, read: fn(&Value) -> Option<Outcome>) -> anyhow::Result<Outcome> {
    if report.exists() {
        fs::remove_file(report).with_context(|| format!("removing {}", report.display()))?;
    }
    let shown = shell::show(command);
    let Ok(text) = fs::read_to_string(report) else {
        shown?;
        bail!("the tests wrote no report");
    };
    let report: Value = serde_json::from_str(&text).context("reading the report of the tests")?;
    let mut outcome = read(&report).context("the report of the tests has another form")?;
    if outcome.n_passed + outcome.n_failed == 0 {
        bail!("no tests ran");
    }
    // Something besides a test broke.
    if shown.is_err() && outcome.n_failed == 0 {
        outcome.n_failed = 1;
    }
    Ok(outcome)
}

fn of_vitest(report: &Value) -> Option<Outcome> {
    Some(Outcome { n_passed: report["numPassedTests"].as_u64()?, n_failed: report["numFailedTests"].as_u64()? })
}

fn of_playwright(report: &Value) -> Option<Outcome> {
    let stats = &report["stats"];
    let n = |name: &str| stats[name].as_u64();
    // What passes at the second try is no pass.
    Some(Outcome { n_passed: n("expected")?, n_failed: n("unexpected")? + n("flaky")? + n("skipped")? })
}

fn browser(stages: &Stages) -> anyhow::Result<PathBuf> {
    if cfg!(target_os = "macos") {
        let found = MAC_BROWSERS.iter().map(PathBuf::from).find(|path| path.is_file());
        return found.context("no Chrome or Chromium in /Applications; `brew install --cask chromium` brings one");
    }
    packages::ensure(&[packages::BROWSER], stages)?;
    Ok(BROWSER.into())
}

/// A program of the UI's own packages, never one from elsewhere.
fn npx(words: &[&str]) -> anyhow::Result<Command> {
    let mut command = Command::new("npx");
    command.current_dir(repo::root()?.join("ui")).arg("--no-install").args(words);
    Ok(command)
}

/// Of all files that the pages are made of, with their names.
fn hash_of_inputs() -> anyhow::Result<String> {
    let root = repo::root()?;
    let mut hasher = DefaultHasher::new();
    for input in INPUTS {
        let path = root.join(input);
        let found = if path.is_dir() { files::find(&path, |_| true)? } else { vec![path] };
        for file in found {
            hasher.write(file.strip_prefix(&root).unwrap_or(&file).as_os_str().as_encoded_bytes());
            hasher.write(&fs::read(&file).with_context(|| format!("reading {}", file.display()))?);
        }
    }
    Ok(format!("{:016x}\n", hasher.finish()))
}

#[cfg(test)]
#[path = "ui_tests.rs"]
mod tests;
