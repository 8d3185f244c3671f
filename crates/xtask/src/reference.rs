//! The Python side that our numbers are compared with: pinned packages in a virtual environment, and our scripts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use crate::stages::Stages;
use crate::{packages, python, repo, shell};

/// A prepared virtual environment.
pub struct Reference {
    python: PathBuf,
    scripts: PathBuf,
    /// Takes the place of the wheel's slow BLAS, as set-up does for our side.
    preload: Option<String>,
    /// Folder for what the scripts make: models of the benchmark, dequantized ones.
    pub work: PathBuf,
}

impl Reference {
    /// Makes the environment if it is missing or its requirements have changed.
    pub fn prepare(stages: &Stages) -> anyhow::Result<Reference> {
        let scripts = repo::root()?.join("crates/xtask/reference");
        let work = repo::target_dir()?.join("reference");
        let environment = work.join("venv");
        let wanted = fs::read_to_string(scripts.join("requirements.txt")).context("reading requirements.txt")?;
        packages::ensure(packages::PYTHON, stages)?;
        stages.run("mlx-lm in a virtual environment (about 200 MB)", || python::environment(&environment, &wanted))?;
        Ok(Reference {
            python: environment.join("bin/python"),
            scripts,
            preload: packages::library("libopenblas.so.0"),
            work,
        })
    }

    /// A call of one of the scripts, to be given its arguments.
    pub fn script(&self, name: &str) -> Command {
        let mut command = Command::new(&self.python);
        command.arg(self.scripts.join(name));
        // Nothing here may reach for a model hub, or leave caches in the source tree.
        command.envs([("HF_HUB_OFFLINE", "1"), ("PYTHONDONTWRITEBYTECODE", "1")]);
        if let Some(library) = &self.preload {
            command.env("LD_PRELOAD", library);
        }
        command
    }

    /// An imported model with its weights dequantized to f32, made once.
    pub fn dense(&self, source: &Path, stages: &Stages) -> anyhow::Result<PathBuf> {
        ensure!(
            source.join("config.json").is_file(),
            "no imported model in {}: set TOKBAR_TESTKIT to the folder that holds the test models",
            source.display()
        );
        let name = source.file_name().context("a model folder needs a name")?.to_string_lossy();
        self.checkpoint(&format!("{name}-f32"), stages, |call, folder| call.arg("dense").arg(folder).arg(source))
    }

    /// The deep tiny model: 28 layers of almost nothing, made once.
    pub fn deep(&self, stages: &Stages) -> anyhow::Result<PathBuf> {
        self.checkpoint("deep-tiny", stages, |call, folder| call.arg("deep").arg(folder))
    }

    fn checkpoint(
        &self,
        name: &str,
        stages: &Stages,
        arguments: impl for<'a> FnOnce(&'a mut Command, &Path) -> &'a mut Command,
    ) -> anyhow::Result<PathBuf> {
        let folder = self.work.join("models").join(name);
        if folder.is_dir() {
            return Ok(folder);
        }
        let partial = folder.with_extension("partial");
        let mut call = self.script("checkpoints.py");
        stages.run(&format!("model {name}"), || shell::capture(arguments(&mut call, &partial)))?;
        fs::rename(&partial, &folder).with_context(|| format!("moving {} in place", partial.display()))?;
        Ok(folder)
    }
}
