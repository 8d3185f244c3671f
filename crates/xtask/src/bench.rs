//! `cargo xtask bench`: tokbar and mlx-lm in turn, in one run: the same weights, prompt, MLX and BLAS. Prints paired ratios.
//! `cargo xtask bench rivals` does so with whole servers.

mod figures;
mod options;
mod rivals;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::reference::Reference;
use crate::repo::Profile;
use crate::stages::Stages;
use crate::{model, repo, setup};
use figures::{Figures, table};
use options::Options;

pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    match arguments.split_first() {
        Some((first, rest)) if first == "rivals" => rivals::run(rest),
        Some((first, [])) if first == "hybrids" => hybrids(),
        _ => engines(arguments),
    }
}

/// What long prompts cost networks with recurrent layers, written to `docs/hybrids.md` by the test that checks it.
fn hybrids() -> anyhow::Result<()> {
    setup::ensure()?;
    let test = "families::recurrent_tests::the_page_of_long_prompts_is_whole";
    let mut call = repo::cargo()?;
    call.args(["test", "--package", "tokbar-models", "--lib", "--", "--exact", "--nocapture", test]);
    let status = call.env("TOKBAR_MEASURE_HYBRIDS", "1").status().context("cargo cannot be run")?;
    anyhow::ensure!(status.success(), "some network takes too long, see above");
    Ok(())
}

/// Both engines' inner loops, without servers.
fn engines(arguments: &[String]) -> anyhow::Result<()> {
    let options = Options::parse(arguments)?;
    // A release build is too long a wait for a mistyped path.
    options.models.iter().try_for_each(|model| n_vocab(model).map(drop))?;
    setup::ensure()?;
    let stages = Stages::new("bench");
    let reference = Reference::prepare(&stages)?;
    let tokbar = stages.run("release build of tokbar", || repo::build_tokbar(Profile::Release))?;
    let sides = Sides { tokbar, reference };
    for model in sides.models(&options, &stages)? {
        for &n_prompt in &options.prompt_tokens {
            let prompt = write_prompt(&sides.reference.work, &model, n_prompt)?;
            let pairs = sides.pairs(&model, &prompt, &options, &stages)?;
            let name = model.file_name().unwrap_or(model.as_os_str()).to_string_lossy();
            println!(
                "\n{name}: {n_prompt} prompt tokens, {} output tokens, {} pairs",
                options.output_tokens,
                pairs.len()
            );
            print!("{}", table(&pairs));
        }
    }
    Ok(())
}

/// Both programs under measurement.
struct Sides {
    tokbar: PathBuf,
    reference: Reference,
}

impl Sides {
    fn models(&self, options: &Options, stages: &Stages) -> anyhow::Result<Vec<PathBuf>> {
        if !options.models.is_empty() {
            return Ok(options.models.clone());
        }
        let imported = model::bring(&model::SMOLLM2, &self.tokbar, stages)?;
        Ok(vec![self.reference.dense(&imported, stages)?, self.reference.deep(stages)?])
    }

    /// Runs both in turn; each pair is tokbar's figures and mlx-lm's, taken right after one another.
    fn pairs(
        &self,
        model: &Path,
        prompt: &Path,
        options: &Options,
        stages: &Stages,
    ) -> anyhow::Result<Vec<[Figures; 2]>> {
        read_once(model)?;
        let workload = ["--output-tokens".to_owned(), options.output_tokens.to_string(), "--runs".into(), "1".into()];
        let pair = |index: usize| {
            stages.run(&format!("{}: pair {} of {}", model.display(), index + 1, options.pairs), || {
                let mut ours = Command::new(&self.tokbar);
                ours.args(["bench", "engine"]).arg(model).arg("--prompt-ids").arg(prompt).args(&workload).arg("--json");
                let mut theirs = self.reference.script("compare.py");
                theirs.arg(model).arg(prompt).args(&workload);
                Ok([Figures::of(&mut ours)?, Figures::of(&mut theirs)?])
            })
        };
        (0..options.pairs).map(pair).collect()
    }
}

/// Brings the weights into the page cache, so that neither side pays for the disk.
fn read_once(model: &Path) -> anyhow::Result<()> {
    for entry in fs::read_dir(model).with_context(|| format!("no model folder {}", model.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "safetensors") {
            io::copy(&mut File::open(&path)?, &mut io::sink())
                .with_context(|| format!("reading {}", path.display()))?;
        }
    }
    Ok(())
}

/// A file with made-up token ids below the model's vocabulary size.
fn write_prompt(work: &Path, model: &Path, n_tokens: usize) -> anyhow::Result<PathBuf> {
    let n_vocab = n_vocab(model)?;
    let ids: Vec<u64> = (1..=n_tokens as u64).map(|index| index.wrapping_mul(2_654_435_761) % n_vocab).collect();
    let file = work.join(format!("prompt-{n_tokens}-{n_vocab}.json"));
    fs::write(&file, serde_json::to_string(&ids)?).with_context(|| format!("writing {}", file.display()))?;
    Ok(file)
}

fn n_vocab(model: &Path) -> anyhow::Result<u64> {
    let path = model.join("config.json");
    let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let config: serde_json::Value =
        serde_json::from_str(&text).with_context(|| format!("parsing {}", path.display()))?;
    config["vocab_size"].as_u64().filter(|&n| n > 0).with_context(|| format!("{} has no vocab_size", path.display()))
}
