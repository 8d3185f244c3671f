//! `tokbar doctor`: what is wrong on this machine, and what fixes it.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use directories::BaseDirs;
use serde::Serialize;
use tokbar_hub::download::{Patience, search};
use tokbar_hub::fit::gigabytes;
use tokbar_hub::scan::{Access, Condition, Owner, Shelf};

use crate::cli::DoctorArgs;
use crate::pressure::{self, Level};
use crate::redact::redact;
use crate::{control, hub, key_file, known, memory, say, shelf};

/// Less free disk than this holds no model worth having.
const N_DISK_BYTES_LEAST: u64 = 10 << 30;

/// What was looked at.
#[derive(Debug, Serialize)]
pub struct Finding {
    /// What it is.
    pub what: &'static str,
    /// How it stands.
    pub state: State,
    /// What was seen.
    pub found: String,
    /// What to do; empty when all is well.
    pub fix: String,
}

/// How something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// As it should.
    Fine,
    /// It could be better.
    Notable,
    /// It does not work.
    Wrong,
}

/// All that is told.
#[derive(Serialize)]
struct Report {
    version: &'static str,
    system: String,
    findings: Vec<Finding>,
}

/// Looks at everything and shows it; with `--bundle` also writes it, redacted.
pub fn run(args: &DoctorArgs) -> Result<()> {
    let system = format!("{} {}", std::env::consts::OS, std::env::consts::ARCH);
    let report = Report { version: env!("CARGO_PKG_VERSION"), system, findings: findings() };
    let json = serde_json::to_string_pretty(&report)?;
    if let Some(path) = &args.bundle {
        let home = BaseDirs::new().map(|dirs| dirs.home_dir().to_owned());
        write(path, &redact(&json, home.as_deref()))?;
    }
    if args.json {
        say::line(json)?;
    } else {
        say::piece(&table(&report.findings)?)?;
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<()> {
    let write = || -> std::io::Result<()> {
        let mut file = std::fs::File::create(path)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

/// Looks at everything.
pub fn findings() -> Vec<Finding> {
    let mut findings = vec![app(), licences(), memory_now(), disk(), settings(), network(), servers()];
    match shelf::shelves() {
        Ok(shelves) => findings.extend(models(&shelves)),
        Err(error) => findings.push(wrong("models", say::cause(&error), "correct or delete the file")),
    }
    findings
}

fn fine(what: &'static str, found: String) -> Finding {
    Finding { what, state: State::Fine, found, fix: String::new() }
}

fn wrong(what: &'static str, found: String, fix: &str) -> Finding {
    Finding { what, state: State::Wrong, found, fix: fix.to_owned() }
}

/// Whether the app that this program is part of is whole.
fn app() -> Finding {
    match tokbar_models::use_those_of_the_app() {
        Ok(None) => fine("app", "this program is part of no app".to_owned()),
        Ok(Some(kernels)) => fine("app", format!("kernels in {}", kernels.display())),
        Err(error) => wrong("app", error.to_string(), "install the app again"),
    }
}

/// Whose work is in this program: a page of the app, or of the package, that it is part of.
fn licences() -> Finding {
    let program = std::env::current_exe().and_then(|path| path.canonicalize()).unwrap_or_default();
    let above = program.parent().and_then(Path::parent).unwrap_or(Path::new(""));
    let pages = ["Resources", "share/doc/tokbar"].map(|folder| above.join(folder).join("THIRD-PARTY.txt"));
    match pages.iter().find(|page| page.is_file()) {
        Some(page) => fine("licences", format!("the work of others in Tokbar: {}", page.display())),
        None => {
            fine("licences", "built from source: `cargo xtask dist notices FILE` lists the work of others".to_owned())
        }
    }
}

fn memory_now() -> Finding {
    let machine = memory::machine();
    let level = pressure::source().and_then(|mut source| source.level()).unwrap_or_default();
    let gpu = machine.n_gpu_bytes.map_or_else(String::new, |limit| format!(", {} for the GPU", gigabytes(limit)));
    let found = format!("{} free of {}{gpu}", gigabytes(machine.n_free_bytes), gigabytes(machine.n_bytes));
    match level {
        Level::Normal => fine("memory", found),
        level => wrong("memory", format!("{found}, pressure {level:?}"), "close programs that use much memory"),
    }
}

fn disk() -> Finding {
    let Some(cache) = hub::cache() else {
        return wrong("disk", "this user has no home folder".to_owned(), "set HF_HUB_CACHE to a folder");
    };
    let there = cache.ancestors().find(|dir| dir.is_dir()).unwrap_or(&cache);
    if !tokbar_hub::download::is_writable(there) {
        let found = format!("nothing can be written to {}: downloads would fail", cache.display());
        return wrong("disk", found, "correct its permissions, or set HF_HUB_CACHE to a folder of yours");
    }
    match tokbar_hub::download::free_bytes(there) {
        Err(error) => {
            wrong("disk", format!("{}: {error}", cache.display()), "connect the drive, or unset HF_HUB_CACHE")
        }
        Ok(free) if free < N_DISK_BYTES_LEAST => {
            let found = format!("{} free for {}", gigabytes(free), cache.display());
            Finding { what: "disk", state: State::Notable, found, fix: "remove models with `tokbar rm`".to_owned() }
        }
        Ok(free) => fine("disk", format!("{} free for {}", gigabytes(free), cache.display())),
    }
}

/// Files of this user's that a command would refuse.
fn settings() -> Finding {
    let keys = key_file::place().and_then(|path| key_file::read(&path)).map(|keys| keys.len());
    let checked = keys.and_then(|n_keys| Ok((n_keys, known::catalog()?.models.len(), shelf::places()?.len())));
    match checked {
        Ok((n_keys, n_known, _)) => fine("settings", format!("{n_keys} API keys, {n_known} known models")),
        Err(error) => wrong("settings", say::cause(&error), "correct or delete the file that is named"),
    }
}

fn network() -> Finding {
    if hub::is_offline() {
        return fine("network", "HF_HUB_OFFLINE is set: nothing is downloaded".to_owned());
    }
    let asked = hub::options().map(|mut options| {
        let patience = Duration::from_secs(5);
        options.patience = Patience { stall: patience, n_retries: 0, ..options.patience };
        let found = search("smollm2", 1, &options).map(drop);
        (options, found)
    });
    match asked {
        Ok((options, Ok(()))) => {
            let token = if options.token.is_some() { "with a token" } else { "without a token" };
            fine("network", format!("{} answers, {token}", options.endpoint))
        }
        Ok((_, Err(error))) => {
            let fix = "check the network, HTTPS_PROXY and HF_ENDPOINT; models that are here run without it";
            Finding { what: "network", state: State::Notable, found: error.to_string(), fix: fix.to_owned() }
        }
        Err(error) => wrong("network", say::cause(&error), "set HF_HUB_CACHE to a folder"),
    }
}

fn servers() -> Finding {
    match control::servers() {
        Ok(servers) if servers.is_empty() => fine("servers", "none runs".to_owned()),
        Ok(servers) => {
            let each =
                servers.iter().map(|server| format!("{} at {} (pid {})", server.model, server.address, server.pid));
            fine("servers", each.collect::<Vec<_>>().join(", "))
        }
        Err(error) => wrong("servers", say::cause(&error), "name a folder with TOKBAR_CONFIG_DIR"),
    }
}

/// A sum, and each model that cannot be loaded with what repairs it.
fn models(shelves: &[Shelf]) -> Vec<Finding> {
    let all = || shelves.iter().flat_map(|shelf| &shelf.models);
    let n_ready = all().filter(|model| model.condition == Condition::Ready).count();
    let mut findings = vec![fine("models", format!("{n_ready} of {} can be loaded", all().count()))];
    for model in all() {
        let (Condition::Partial { reason } | Condition::Broken { reason }) = &model.condition else { continue };
        let fix = match model.owner {
            // What is all there is trusted unless it is to be checked.
            Owner::HuggingFace if matches!(model.condition, Condition::Broken { .. }) => {
                format!("tokbar pull {} --verify", model.name)
            }
            Owner::HuggingFace => format!("tokbar pull {}", model.name),
            Owner::Ollama => format!("ollama pull {}", model.name),
            Owner::LmStudio => "download it again in LM Studio".to_owned(),
            Owner::Person => format!("replace the files in {}, or `tokbar rm` it", model.path.display()),
        };
        let found = format!("{}: {reason}", model.name);
        findings.push(Finding { what: "model", state: State::Wrong, found, fix });
    }
    for shelf in shelves {
        let Access::Refused { reason } = &shelf.access else { continue };
        let found = format!("{} cannot be read: {reason}", shelf.place.path.display());
        let fix =
            "correct its permissions, or what names it (HF_HUB_CACHE, HF_HOME, OLLAMA_MODELS, `tokbar ls --forget`)";
        findings.push(wrong("folder", found, fix));
    }
    for shelf in shelves.iter().filter(|shelf| shelf.place.owner == Owner::Person && shelf.access == Access::Absent) {
        let found = format!("{} is not there", shelf.place.path.display());
        let fix = "connect its drive, or `tokbar ls --forget` it".to_owned();
        findings.push(Finding { what: "folder", state: State::Notable, found, fix });
    }
    findings
}

fn table(findings: &[Finding]) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    for Finding { what, state, found, fix } in findings {
        let mark = match state {
            State::Fine => "ok",
            State::Notable => "note",
            State::Wrong => "WRONG",
        };
        writeln!(text, "{mark:<6} {what:<9} {found}")?;
        if !fix.is_empty() {
            writeln!(text, "       {:<9} to fix: {fix}", "")?;
        }
    }
    let n_wrong = findings.iter().filter(|finding| finding.state == State::Wrong).count();
    writeln!(text, "{}", if n_wrong == 0 { "nothing is wrong".to_owned() } else { format!("{n_wrong} wrong") })?;
    Ok(text)
}
