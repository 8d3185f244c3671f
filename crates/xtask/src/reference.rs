//! The Python side that our numbers are compared with: pinned packages in a virtual environment, and our scripts.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::python::Dependencies;
use crate::stages::Stages;
use crate::{files, packages, python, repo, shell};

/// A prepared virtual environment.
pub struct Reference {
    /// Of the environment.
    pub python: PathBuf,
    /// Folder of our scripts and lists of requirements.
    pub scripts: PathBuf,
    /// Takes the place of the wheel's slow BLAS, as set-up does for our side.
    pub preload: Option<String>,
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
        packages::ensure(&[packages::PYTHON], stages)?;
        stages.run("mlx-lm in a virtual environment (about 200 MB)", || {
            python::environment(&environment, &wanted, Dependencies::Resolved)
        })?;
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

    /// An imported model with its weights dequantized to f32, made anew when the import changes.
    pub fn dense(&self, source: &Path, stages: &Stages) -> anyhow::Result<PathBuf> {
        let name = source.file_name().context("a model folder needs a name")?.to_string_lossy();
        let stamp = source.join("stamp");
        let import = fs::read_to_string(&stamp).with_context(|| format!("reading {}", stamp.display()))?;
        let source = source.as_os_str();
        self.checkpoint(&Checkpoint { name: &format!("{name}-f32"), how: "dense", source: &[source], import }, stages)
    }

    /// The deep tiny model: 28 layers of almost nothing.
    pub fn deep(&self, stages: &Stages) -> anyhow::Result<PathBuf> {
        self.checkpoint(&Checkpoint { name: "deep-tiny", how: "deep", source: &[], import: String::new() }, stages)
    }

    fn checkpoint(&self, wanted: &Checkpoint<'_>, stages: &Stages) -> anyhow::Result<PathBuf> {
        let folder = self.work.join("models").join(wanted.name);
        let script = fs::read_to_string(self.scripts.join("checkpoints.py")).context("reading checkpoints.py")?;
        let stamp = format!("{}{script}", wanted.import);
        if files::says(&folder.join("stamp"), &stamp) {
            return Ok(folder);
        }
        let partial = files::with_ending(&folder, "partial");
        files::empty_dir(&partial)?;
        let mut call = self.script("checkpoints.py");
        call.arg(wanted.how).arg(&partial).args(wanted.source);
        stages.run(&format!("model {}", wanted.name), || shell::capture(&mut call))?;
        fs::write(partial.join("stamp"), stamp).context("writing the stamp")?;
        files::replace_dir(&partial, &folder)?;
        Ok(folder)
    }
}

/// A checkpoint that a script of ours makes.
struct Checkpoint<'a> {
    name: &'a str,
    how: &'a str,
    source: &'a [&'a OsStr],
    /// What the source was made from.
    import: String,
}
