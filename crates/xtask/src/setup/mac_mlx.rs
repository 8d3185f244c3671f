//! MLX for the Mac in one folder: `wheel/` (Apple's own build), `lib/libmlxc.a` (mlx-c over it), `bindings/bindings.rs`.
//!
//! Why Apple's build and not one of our own: `docs/decisions/mlx-on-the-mac.md`. A Mac compiles with Apple's tools, Linux
//! with Zig's to prove the Mac's build; all else is the same for both.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, ensure};

use super::{cargo_config, pins};
use crate::stages::Stages;
use crate::{files, python, repo, shell};

const STAMP: &str = "stamp";

/// Compilers for the Mac, and what they need to be told.
pub struct Tools {
    pub cxx: PathBuf,
    pub ar: PathBuf,
    pub cxx_flags: Vec<String>,
    /// Arguments that let libclang read C headers as a Mac's compiler does.
    pub clang_arguments: Vec<String>,
}

/// Builds the folder anew and puts it in place, unless it is complete.
pub fn ensure(install_dir: &Path, tools: &Tools, stages: &Stages) -> anyhow::Result<()> {
    let stamp = format!("layout {}\n{}{:?}\n", pins::MAC_LAYOUT, pins::MLX_METAL_WHEEL.pinned(), tools.cxx_flags);
    if files::says(&install_dir.join(STAMP), &stamp) {
        return Ok(());
    }
    let partial = files::with_ending(install_dir, "partial");
    files::empty_dir(&partial)?;
    let wheel = partial.join("wheel");
    fs::create_dir(&wheel).with_context(|| format!("creating {}", wheel.display()))?;
    let name = format!("wheel {} from PyPI (43 MB)", pins::MLX_METAL_WHEEL.requirement);
    stages.run(&name, || unpack(&wheel))?;
    let mlx_c = stages.run("sources of all dependencies", super::install::mlx_c_dir)?;
    stages.run("Rust bindings of mlx-c for the Mac", || {
        let bindings = partial.join("bindings");
        fs::create_dir(&bindings).with_context(|| format!("creating {}", bindings.display()))?;
        super::install::run_bindgen(&mlx_c, &bindings.join("bindings.rs"), &tools.clang_arguments)
    })?;
    stages.run("mlx-c for the Mac", || archive(&mlx_c, &partial, tools))?;
    fs::write(partial.join(STAMP), stamp).context("writing the stamp")?;
    files::replace_dir(&partial, install_dir)
}

/// Cargo's table for this MLX; the linker also gets `flags`.
pub fn cargo_table(install_dir: &Path) -> anyhow::Result<String> {
    let dir = cargo_config::checked(install_dir)?;
    Ok(format!(
        r#"[target.aarch64-apple-darwin.mlx]
rustc-link-lib = ["static=mlxc", "dylib=mlx", "dylib=c++", "dylib=objc", "framework=Foundation"]
rustc-link-search = ["native={dir}/lib", "native={lib}"]
rustc-env = {{ OUT_DIR = "{dir}/bindings" }}
"#,
        lib = libraries(Path::new(dir)).display()
    ))
}

/// Where `libmlx.dylib` and `mlx.metallib` are.
pub fn libraries(install_dir: &Path) -> PathBuf {
    install_dir.join("wheel/mlx/lib")
}

fn unpack(wheel: &Path) -> anyhow::Result<()> {
    let download = wheel.with_file_name("download");
    python::download_for(&pins::MLX_METAL_WHEEL, pins::MLX_METAL_PLATFORM, &download)?;
    python::unpack(&files::only_entry(&download, |name| name.ends_with(".whl"))?, wheel)?;
    files::remove_dir(&download)
}

/// Compiles mlx-c, as many files at once as there are cores, into one archive.
fn archive(mlx_c: &Path, partial: &Path, tools: &Tools) -> anyhow::Result<()> {
    let (objects, lib) = (partial.join("objects"), partial.join("lib"));
    files::empty_dir(&objects)?;
    fs::create_dir(&lib).with_context(|| format!("creating {}", lib.display()))?;
    let sources = files::find(&mlx_c.join("mlx/c"), |name| name.ends_with(".cpp"))?;
    ensure!(!sources.is_empty(), "mlx-c has no sources in {}", mlx_c.display());
    let include = partial.join("wheel/mlx/include");
    let (mut made, mut running): (Vec<PathBuf>, Vec<(Child, &Path)>) = (Vec::new(), Vec::new());
    let n_jobs = std::thread::available_parallelism().map_or(1, usize::from);
    for source in &sources {
        // `object.cpp` is a draft that mlx-c's own build leaves out.
        if source.ends_with("object.cpp") {
            continue;
        }
        if running.len() == n_jobs {
            finish(running.remove(0))?;
        }
        let object = objects.join(source.with_extension("o").file_name().context("a source without a name")?);
        let mut compile = Command::new(&tools.cxx);
        compile.args(["-std=c++20", "-O2", "-fPIC", "-c"]).args(&tools.cxx_flags);
        compile.arg("-I").arg(mlx_c).arg("-isystem").arg(&include).arg("-isystem").arg(include.join("metal_cpp"));
        compile.arg(source).arg("-o").arg(&object).stdin(Stdio::null());
        running.push((compile.spawn().with_context(|| format!("starting {}", tools.cxx.display()))?, source));
        made.push(object);
    }
    running.into_iter().try_for_each(finish)?;
    shell::capture(Command::new(&tools.ar).arg("crs").arg(lib.join("libmlxc.a")).args(&made))?;
    files::remove_dir(&objects)
}

fn finish((mut compiler, source): (Child, &Path)) -> anyhow::Result<()> {
    let status = compiler.wait().with_context(|| format!("waiting for the compiler of {}", source.display()))?;
    ensure!(status.success(), "compiling {} failed ({status}); the compiler's words are above", source.display());
    Ok(())
}

/// The folder for the machine's user, which all checkouts share.
pub fn install_dir() -> anyhow::Result<PathBuf> {
    Ok(repo::dev_dir()?.join(format!("mlx-metal-{}", pins::MLX_VERSION)))
}
