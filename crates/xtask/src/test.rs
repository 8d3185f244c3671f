//! `cargo xtask test`: every check and test, in the order in which a mistake shows soonest. CI runs just this.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use crate::python::{Dependencies, Wheel};
use crate::stages::Stages;
use crate::{check_macos, clients, dist, kit, model, packages, python, repo, setup, shell, tidy, ui, workflows};

/// The spelling checker, one hash per platform.
const TYPOS: Wheel = Wheel {
    requirement: "typos==1.52.0",
    sha256: &[
        "418fd85f7fc11dec14e5482e747f6e916af56da96207cde0cdd69540a4b389f6",
        "257324274303a459fef79978cae942568419d2e8b18519e5f66b93a7e2df2ba1",
    ],
};

/// Stops at the first check that fails; the tests themselves run to the end.
pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    let scope = match arguments {
        [] => Scope::Quick,
        [all] if all == "--all" => Scope::All,
        _ => bail!("`test` takes no arguments but --all; for a part of the tests use `cargo test`"),
    };
    setup::ensure()?;
    let stages = Stages::new("test");
    stages.run("formatting", || shell::show(repo::cargo()?.args(["fmt", "--all", "--check"])))?;
    stages.run("tidy", || tidy::run(&[]))?;
    packages::ensure(&[packages::PYTHON, packages::NODE, packages::DESKTOP], &stages)?;
    stages.run("spelling", check_spelling)?;
    stages.run("workflows", workflows::check)?;
    // Before the program is built: it takes the pages in.
    ui::ensure(&stages)?;
    let components = ui::test_components(&stages)?;
    stages.run("clippy", || clippy(&["--workspace", "--all-targets"]))?;
    stages.run("clippy for the bindings", || clippy(&["--package", "xtask", "--bins", "--features", "bindings"]))?;
    stages.run("clients for the tests", clients::ensure)?;
    let tokbar = stages.run("building the tests and tokbar", repo::build_tests)?;
    kit::bring(&stages)?;
    for model in model::MODELS {
        model::bring(model, &tokbar, &stages)?;
    }
    if scope == Scope::All && cfg!(target_os = "linux") {
        stages.run("the Mac's build", check_macos::whole)?;
    }
    if cfg!(target_os = "linux") {
        dist::deb::check(&repo::testkit()?.join(model::SMOLLM2.folder), &stages)?;
    }
    let mut tally = stages.run("tests", || run_tests(scope))?;
    let pages = ui::test_pages(&tokbar, &repo::testkit()?.join(model::SMOLLM2.folder), &stages)?;
    tally.n_passed += components.n_passed + pages.n_passed;
    tally.n_failed += components.n_failed + pages.n_failed;
    stages.finish();
    // The last line: what a reader, or a program that reads CI's output, looks for.
    println!("{} passed, {} failed", tally.n_passed, tally.n_failed);
    if tally.n_failed > 0 || !tally.is_complete {
        bail!("some tests failed or could not run; their output is above");
    }
    Ok(())
}

fn clippy(scope: &[&str]) -> anyhow::Result<()> {
    shell::show(repo::cargo()?.args(["clippy", "--quiet"]).args(scope).args(["--", "--deny", "warnings"]))
}

fn check_spelling() -> anyhow::Result<()> {
    let environment = repo::testkit()?.join("typos");
    python::environment(&environment, &TYPOS.pinned(), Dependencies::Resolved)?;
    shell::show(Command::new(environment.join("bin/typos")).current_dir(repo::root()?))
}

/// How much of what takes long is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// A little.
    Quick,
    /// Soaks and other long runs in full.
    All,
}

/// Sums over all test programs.
#[derive(Debug, Default, PartialEq)]
struct Tally {
    n_passed: u64,
    n_failed: u64,
    /// Whether every test program could be built and ran to its end.
    is_complete: bool,
}

/// Runs all tests of the workspace, showing their output and adding up what each program says at its end.
fn run_tests(scope: Scope) -> anyhow::Result<Tally> {
    let mut cargo = repo::cargo()?;
    cargo.args(["test", "--workspace", "--no-fail-fast"]).env("TOKBAR_TESTKIT", repo::testkit()?);
    if scope == Scope::All {
        cargo.env("TOKBAR_TEST_ALL", "1");
    }
    let mut child = cargo.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("starting `cargo test`")?;
    let mut tally = Tally::default();
    let mut out = io::stdout();
    for line in BufReader::new(child.stdout.take().context("`cargo test` has no output")?).split(b'\n') {
        let line = line.context("reading the tests' output")?;
        tally.add(&String::from_utf8_lossy(&line));
        out.write_all(&[&line[..], b"\n"].concat()).context("showing the tests' output")?;
    }
    tally.is_complete = child.wait().context("waiting for `cargo test`")?.success();
    Ok(tally)
}

impl Tally {
    /// Adds a line such as `test result: ok. 3 passed; 0 failed; 0 ignored; ...`; other lines say nothing.
    fn add(&mut self, line: &str) {
        let Some(result) = line.strip_prefix("test result: ") else { return };
        let words: Vec<&str> = result.split([' ', ';', '.']).filter(|word| !word.is_empty()).collect();
        for pair in words.windows(2) {
            let Ok(n) = pair[0].parse::<u64>() else { continue };
            match pair[1] {
                "passed" => self.n_passed += n,
                "failed" => self.n_failed += n,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
#[path = "test_tests.rs"]
mod tests;
