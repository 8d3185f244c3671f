//! MLX for Linux in one folder: `wheel/` (MLX's CPU build), `lib/libmlxc.so` (mlx-c over it), `bindings/bindings.rs`.
//!
//! Everything is built beside the folder and moved there when complete, with a stamp that names the versions, so a set-up
//! that is killed leaves nothing that looks finished.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use super::pins;
use crate::stages::Stages;
use crate::{files, packages, python, repo, shell};

/// Stands in for what mlx-c expects of Apple's compilers.
const SHIM: &str = include_str!("mlx_c_linux.h");
const STAMP: &str = "stamp";

/// True if the folder holds what this set-up would build.
pub fn is_complete(install_dir: &Path) -> bool {
    fs::read_to_string(install_dir.join(STAMP)).is_ok_and(|stamp| stamp == expected_stamp())
}

fn expected_stamp() -> String {
    format!("layout {}\n{}{SHIM}", pins::LAYOUT, pins::MLX_WHEEL.pinned())
}

/// Builds the folder anew and puts it in place.
pub fn install(install_dir: &Path, stages: &Stages) -> anyhow::Result<()> {
    let partial = files::with_ending(install_dir, "partial");
    files::remove_dir(&partial)?;
    let wheel = partial.join("wheel");
    fs::create_dir_all(&wheel).with_context(|| format!("creating {}", wheel.display()))?;
    let shim = partial.join("mlx_c_linux.h");
    fs::write(&shim, SHIM).with_context(|| format!("writing {}", shim.display()))?;

    stages.run(&format!("wheel {} from PyPI (10 MB)", pins::MLX_WHEEL.requirement), || unpack_wheel(&wheel))?;
    let mlx_c = stages.run("sources of all dependencies", mlx_c_dir)?;
    stages.run("mlx-c, compiled with CMake (about 90 s of one core)", || build_mlx_c(&mlx_c, &partial, &shim))?;
    stages.run("Rust bindings of mlx-c (builds bindgen first)", || generate_bindings(&mlx_c, &partial, &shim))?;
    stages.run("loading the result", || check_loads(&partial.join("lib/libmlxc.so")))?;

    fs::write(partial.join(STAMP), expected_stamp()).context("writing the stamp")?;
    files::replace_dir(&partial, install_dir)
}

fn unpack_wheel(wheel: &Path) -> anyhow::Result<()> {
    let download = wheel.with_file_name("download");
    python::download(&[pins::MLX_WHEEL], &download)?;
    python::unpack(&files::only_entry(&download, |name| name.ends_with(".whl"))?, wheel)?;
    files::remove_dir(&download)?;
    use_openblas(&wheel.join("mlx_cpu.libs"))
}

/// The wheel carries the slow reference BLAS; matrix products are about 20 times faster with OpenBLAS in its place.
fn use_openblas(libs: &Path) -> anyhow::Result<()> {
    let openblas = packages::library("libopenblas.so.0").context("libopenblas.so.0 is not installed")?;
    let blas = files::only_entry(libs, |name| name.starts_with("libblas-"))?;
    fs::rename(&blas, files::with_ending(&blas, "orig"))?;
    std::os::unix::fs::symlink(&openblas, &blas).with_context(|| format!("linking {} to {openblas}", blas.display()))
}

/// The mlx-c sources inside the `mlx-sys` crate that the lock file names.
pub fn mlx_c_dir() -> anyhow::Result<PathBuf> {
    let metadata = repo::metadata()?;
    let packages = metadata["packages"].as_array().context("`cargo metadata` lists no packages")?;
    let wrapper = packages.iter().find(|package| package["name"] == "mlx-sys");
    let manifest = wrapper.and_then(|package| package["manifest_path"].as_str());
    let mlx_c =
        Path::new(manifest.context("mlx-sys is not among the dependencies")?).with_file_name("src").join("mlx-c");

    let cmake_lists = mlx_c.join("CMakeLists.txt");
    let text = fs::read_to_string(&cmake_lists).with_context(|| format!("reading {}", cmake_lists.display()))?;
    let tag = format!("GIT_TAG v{}", pins::MLX_VERSION);
    ensure!(
        text.contains(&tag),
        "mlx-c wants another MLX than {}: raise the versions in setup/pins.rs",
        pins::MLX_VERSION
    );
    Ok(mlx_c)
}

fn build_mlx_c(mlx_c: &Path, partial: &Path, shim: &Path) -> anyhow::Result<()> {
    let (wheel, build) = (partial.join("wheel/mlx"), partial.join("build"));
    let flags = format!("-isystem {} -include {}", wheel.join("include").display(), shim.display());
    shell::capture(
        Command::new("cmake")
            .arg("-S")
            .arg(mlx_c)
            .arg("-B")
            .arg(&build)
            .arg(format!("-DMLX_DIR={}", wheel.join("share/cmake/MLX").display()))
            .arg(format!("-DCMAKE_CXX_FLAGS={flags}"))
            .args(["-DMLX_C_USE_SYSTEM_MLX=ON", "-DMLX_C_BUILD_EXAMPLES=OFF"])
            .args(["-DBUILD_SHARED_LIBS=ON", "-DCMAKE_BUILD_TYPE=Release"])
            // The folder moves when it is complete, so the library looks for MLX beside itself.
            .args(["-DCMAKE_BUILD_WITH_INSTALL_RPATH=ON", "-DCMAKE_INSTALL_RPATH=$ORIGIN/../wheel/mlx/lib"]),
    )?;
    let n_jobs = std::thread::available_parallelism().map_or(1, usize::from);
    shell::capture(Command::new("cmake").arg("--build").arg(&build).args(["--parallel", &n_jobs.to_string()]))?;
    let lib = partial.join("lib");
    fs::create_dir(&lib)?;
    fs::rename(build.join("libmlxc.so"), lib.join("libmlxc.so")).context("CMake built no libmlxc.so")?;
    files::remove_dir(&build)
}

fn generate_bindings(mlx_c: &Path, partial: &Path, shim: &Path) -> anyhow::Result<()> {
    let bindings = partial.join("bindings");
    fs::create_dir(&bindings)?;
    let shim = shim.to_str().context("the cache folder's path is not UTF-8")?;
    run_bindgen(mlx_c, &bindings.join("bindings.rs"), &["-include".to_owned(), shim.to_owned()])
}

/// Writes Rust declarations of mlx-c, read with these arguments for libclang.
pub fn run_bindgen(mlx_c: &Path, out: &Path, clang_arguments: &[String]) -> anyhow::Result<()> {
    let mut cargo = repo::cargo()?;
    cargo.args(["run", "--quiet", "--package", "xtask", "--bin", "bindings", "--features", "bindings", "--"]);
    shell::capture(cargo.args([mlx_c, out]).args(clang_arguments)).map(drop)
}

/// Lets the dynamic linker resolve every library now, with its own words if one is missing or too new.
fn check_loads(library: &Path) -> anyhow::Result<()> {
    let script = "import ctypes, os, sys; ctypes.CDLL(sys.argv[1], mode=os.RTLD_NOW)";
    shell::capture(python::python().args(["-c", script]).arg(library)).map(drop)
}
