//! What tests read besides models: public chat templates and questions that call tools. Both are others' work under
//! licences of their own, so they are fetched and not kept with our sources.

use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};

use crate::python::{self, Wheel};
use crate::stages::Stages;
use crate::{files, repo, shell};

/// A source archive that carries the chat templates of seventy models.
const TEMPLATES: Wheel = Wheel {
    requirement: "llama-cpp-python==0.3.36",
    sha256: &["832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"],
};
/// Where the templates are in the test kit.
pub const TEMPLATES_FOLDER: &str = "chat-templates";

/// Questions with tools, and the calls that answer them: the Berkeley Function-Calling Leaderboard.
const QUESTIONS: Wheel = Wheel {
    requirement: "bfcl-eval==2026.3.23",
    sha256: &["3bb6dfa5f0c68ad403c9ec50b00db2bb3b4cc9b38ab1ff33f48fe30d853d3a0a"],
};
const QUESTIONS_FOLDER: &str = "bfcl";

/// Brings both into the test kit, if they are not there.
pub fn bring(stages: &Stages) -> anyhow::Result<()> {
    let testkit = repo::testkit()?;
    fs::create_dir_all(&testkit).with_context(|| format!("creating {}", testkit.display()))?;
    let templates = testkit.join(TEMPLATES_FOLDER);
    if !files::says(&templates.join("stamp"), &TEMPLATES.pinned()) {
        stages.run("chat templates from PyPI (77 MB)", || take_templates(&templates))?;
    }
    let questions = testkit.join(QUESTIONS_FOLDER);
    if !files::says(&questions.join("stamp"), &QUESTIONS.pinned()) {
        stages.run("questions with tools from PyPI (2 MB)", || take_questions(&questions))?;
    }
    Ok(())
}

fn take_templates(folder: &Path) -> anyhow::Result<()> {
    let scratch = files::with_ending(folder, "download");
    python::download_source(&TEMPLATES, &scratch)?;
    for archive in files::find(&scratch, |name| name.ends_with(".tar.gz"))? {
        shell::capture(python::python().args(["-m", "tarfile", "--extract"]).args([&archive, &scratch]))?;
    }
    let found = files::find(&scratch, |name| name.ends_with(".jinja"))?;
    keep(
        folder,
        &TEMPLATES,
        found.iter().filter(|path| path.parent().is_some_and(|dir| dir.ends_with("models/templates"))),
    )?;
    files::remove_dir(&scratch)
}

fn take_questions(folder: &Path) -> anyhow::Result<()> {
    let scratch = files::with_ending(folder, "download");
    python::download(&[QUESTIONS], &scratch)?;
    for wheel in files::find(&scratch, |name| name.ends_with(".whl"))? {
        python::unpack(&wheel, &scratch)?;
    }
    let wanted = ["simple_python", "multiple", "parallel", "parallel_multiple", "live_simple"];
    let answers = files::find(&scratch, |name| wanted.iter().any(|part| name == format!("BFCL_v4_{part}.json")))?;
    let of = |folder: &'static str| {
        answers.iter().filter(move |path| path.parent().is_some_and(|dir| dir.ends_with(folder)))
    };
    keep(&files::with_ending(folder, "answers"), &QUESTIONS, of("data/possible_answer"))?;
    keep(folder, &QUESTIONS, of("bfcl_eval/data"))?;
    files::remove_dir(&scratch)
}

/// Copies files into a folder that holds nothing else, and stamps it.
fn keep<'a>(folder: &Path, source: &Wheel, files: impl Iterator<Item = &'a std::path::PathBuf>) -> anyhow::Result<()> {
    let partial = files::with_ending(folder, "partial");
    files::empty_dir(&partial)?;
    let mut n_files = 0;
    for path in files {
        let name = path.file_name().context("a file needs a name")?;
        fs::copy(path, partial.join(name)).with_context(|| format!("copying {}", path.display()))?;
        n_files += 1;
    }
    ensure!(n_files > 0, "{} has none of the files that were looked for", source.requirement);
    fs::write(partial.join("stamp"), source.pinned()).context("writing the stamp")?;
    files::replace_dir(&partial, folder)
}
