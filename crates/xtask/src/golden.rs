//! `cargo xtask golden`: writes what the Python reference says, or checks that it still says so.

use std::path::{Path, PathBuf};

use anyhow::bail;

use crate::reference::Reference;
use crate::repo::Profile;
use crate::stages::Stages;
use crate::{kit, model, repo, setup, shell};

/// `models [--check] [NAME...]`: logits of tiny models. `chat`: token ids and templates. `real`: what real models say.
pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    let stages = Stages::new("golden");
    match arguments {
        [set, rest @ ..] if set == "models" => models(&stages, rest),
        [set] if set == "chat" => chat(&stages),
        [set] if set == "real" => real(&stages),
        _ => bail!("say which: `golden models [--check] [NAME...]`, `golden chat` or `golden real`"),
    }
}

fn models(stages: &Stages, arguments: &[String]) -> anyhow::Result<()> {
    let reference = Reference::prepare(stages)?;
    let mut call = reference.script("golden.py");
    call.arg(fixtures("models/tests/golden")?).args(arguments);
    stages.run("logits of tiny models", || shell::capture(&mut call)).map(drop)
}

fn chat(stages: &Stages) -> anyhow::Result<()> {
    let reference = Reference::prepare(stages)?;
    imported(stages)?;
    let mut call = reference.script("tokens.py");
    call.arg(fixtures("chat/tests/fixtures")?).arg(repo::testkit()?);
    stages.run("token ids and templates", || shell::capture(&mut call))?;
    kit::bring(stages)?;
    let mut call = reference.script("tekken.py");
    call.arg(fixtures("chat/tests/fixtures")?.join("tekken.json")).arg(repo::testkit()?.join(kit::TEKKEN_FILE));
    stages.run("token ids of tekken", || shell::capture(&mut call))?;
    let mut call = reference.script("public_templates.py");
    call.arg(repo::testkit()?.join(kit::TEMPLATES_FOLDER));
    call.arg(fixtures("chat/tests/fixtures")?.join("public_templates.json"));
    stages.run("renders of public templates", || shell::capture(&mut call)).map(drop)
}

fn real(stages: &Stages) -> anyhow::Result<()> {
    let reference = Reference::prepare(stages)?;
    for (model, folder) in model::MODELS.iter().zip(imported(stages)?) {
        let dense = reference.dense(&folder, stages)?;
        let file = fixtures("app/tests/fixtures")?.join(format!("{}.json", model.name));
        ask(&reference, stages, model.name, (&dense, &file))?;
    }
    Ok(())
}

/// The folders of the real models.
fn imported(stages: &Stages) -> anyhow::Result<Vec<PathBuf>> {
    setup::ensure()?;
    let tokbar = stages.run("building tokbar", || repo::build_tokbar(Profile::Dev))?;
    model::MODELS.iter().map(|model| model::bring(model, &tokbar, stages)).collect()
}

fn ask(reference: &Reference, stages: &Stages, name: &str, (dense, file): (&Path, &Path)) -> anyhow::Result<()> {
    let mut call = reference.script("real.py");
    call.arg(name).arg(dense).arg(file);
    stages.run(&format!("what {name} says"), || shell::capture(&mut call)).map(drop)
}

fn fixtures(folder: &str) -> anyhow::Result<PathBuf> {
    Ok(repo::root()?.join("crates").join(folder))
}
