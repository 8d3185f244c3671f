//! `cargo xtask clients`: the vendors' own clients, which the tests run, in environments of exact versions; with `--all` also
//! programs and libraries of others, each run against a server of ours.

mod install;
mod report;
mod run;
mod table;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use crate::python::Dependencies;
use crate::repo::Profile;
use crate::stages::Stages;
use crate::{files, kit, model, npm, packages, python, repo, setup, shell};

/// What the Python clients in the tests use, with all that they need.
const PYTHON_CLIENTS: &str = include_str!("clients/python.txt");

/// What makes calls of the OpenAPI document, with all that it needs.
const SCHEMATHESIS: &str = include_str!("clients/schemathesis.txt");

/// What the Node clients in the tests use, with all that they need.
const NODE_CLIENTS: &[npm::Package] = &[
    npm::Package {
        spec: "@anthropic-ai/sdk@1.15.0",
        integrity: "sha512-N6noVzTApqN4S7XQvaxjDJtoxlDj36lAdj1DfDmh4puzUJjVlR7cYPLJa8Ch2pRaBhRd3of/4a5apg8Wn52g0A==",
    },
    npm::Package {
        spec: "@opentelemetry/api@1.10.0",
        integrity: "sha512-lMkyes8iHrG+mk6WH7X70MdCLI2RS0FwNBY1PyQ8UemaijE2m5mv5A0Niy3HtbYTFrgkUEQjFMXmSAk2hQDuPQ==",
    },
    npm::Package {
        spec: "@stablelib/base64@1.0.1",
        integrity: "sha512-1bnPQqSxSuc3Ii6MhBysoWCg58j97aUjuCSZrGSmDxNqtytIi0k8utUenAwTZN4V5mXXYGsVUI9zeBqy+jBOSQ==",
    },
    npm::Package {
        spec: "fast-sha256@1.3.0",
        integrity: "sha512-n11RGP/lrWEFI/bWdygLxhI+pVeo1ZYIVwvvPkW7azl/rOy+F3HYRZ2K5zeE9mmkhQppyv9sQFx0JM9UabnpPQ==",
    },
    npm::Package {
        spec: "openai@6.49.0",
        integrity: "sha512-aYCc0C6L864eR6WSYIwQGyXriw/nIyZx0ObvhzOEVuk0zoBDpynjSbrionWI7q65B5H8jJX0DXR9snEzM6bfPg==",
    },
    npm::Package {
        spec: "standardwebhooks@1.1.1",
        integrity: "sha512-bCbX9ZEyFkWPsRz7Bl3NuQUJohmwGSev/yhr7vhaGPlc4AfIrspIRa6cPTBuI1ItmrTDJ4d/S2hCsfe4+vQGnQ==",
    },
];

/// Installs what the tests run, which `cargo xtask test` does, too; `--all` installs and runs everything, or the clients named,
/// and writes `docs/clients.md`.
pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    match arguments {
        [] => ensure(),
        [all, names @ ..] if all == "--all" => run_all(names),
        [inside, tokbar, scripted, model, names @ ..] if inside == INSIDE => {
            run_inside([tokbar, scripted, model].map(Path::new), names)
        }
        _ => bail!("`clients` takes no arguments but --all and the names of clients after it"),
    }
}

/// Marks the second start of this program, in a network of its own.
const INSIDE: &str = "--inside";

fn run_all(names: &[String]) -> anyhow::Result<()> {
    setup::ensure()?;
    let stages = Stages::new("clients");
    packages::ensure(&[packages::PYTHON, packages::NODE], &stages)?;
    kit::bring(&stages)?;
    install::all(&stages)?;
    let tokbar = stages.run("building tokbar", || repo::build_tokbar(Profile::Dev))?;
    let scripted = stages.run("building the scripted servers", build_scripted)?;
    let model = model::bring(&model::SMOLLM2, &tokbar, &stages)?;
    let own = std::env::current_exe().context("this program has no path")?;
    let mut command = alone(&stages);
    command.arg(own).args(["clients", INSIDE]).args([&tokbar, &scripted, &model]).args(names);
    shell::show(&mut command)
}

fn build_scripted() -> anyhow::Result<PathBuf> {
    shell::capture_with_progress(repo::cargo()?.args([
        "build",
        "--package",
        "tokbar-server",
        "--example",
        "scripted",
    ]))?;
    Ok(repo::target_dir()?.join("debug/examples/scripted"))
}

/// The start of a command that reaches this machine only, where the system lets us have that.
fn alone(stages: &Stages) -> Command {
    const UP: &str = "ip link set lo up && exec \"$@\"";
    for flags in ["-n", "-rn"] {
        let mut command = Command::new("unshare");
        command.args([flags, "sh", "-c", UP, "sh"]);
        let mut trial = Command::new("unshare");
        if shell::succeeds(trial.args([flags, "sh", "-c", UP, "sh", "true"])) {
            return command;
        }
    }
    stages.note(
        "no network namespace can be made here (`unshare -n` and `ip` are needed): clients can reach the network",
    );
    Command::new("env")
}

fn run_inside([tokbar, scripted, model]: [&Path; 3], names: &[String]) -> anyhow::Result<()> {
    let lab = run::Lab::open(tokbar, scripted, model)?;
    let tried = lab.run(names)?;
    drop(lab);
    if names.is_empty() {
        files::write_if_new(&repo::root()?.join("docs/clients.md"), &report::page(&tried))?;
    }
    let wrong: Vec<&str> = tried.iter().filter(|tried| !tried.is_right()).map(|tried| tried.row.name).collect();
    if !wrong.is_empty() {
        bail!("these clients did not do what they should: {}; their output is above", wrong.join(", "));
    }
    Ok(())
}

/// Environments under the names that the tests know.
pub fn ensure() -> anyhow::Result<()> {
    let testkit = repo::testkit()?;
    python::environment(&testkit.join("sdk-python"), PYTHON_CLIENTS, Dependencies::Resolved)?;
    python::environment(&testkit.join("schemathesis"), SCHEMATHESIS, Dependencies::Resolved)?;
    npm::environment(&testkit.join("sdk-node"), NODE_CLIENTS)
}
