//! Cargo as it compiles for the Mac from here: a toolchain, compilers, MLX, and a configuration that names them.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::Context;

use super::zig::Zig;
use super::{MIN_MACOS, TARGET, frameworks, rust_std, zig};
use crate::setup::mac_mlx;
use crate::stages::Stages;
use crate::{files, repo};

/// All that is needed to compile for a Mac.
pub struct Mac {
    toolchain: PathBuf,
    scripts: PathBuf,
    config: PathBuf,
    /// Where MLX for the Mac is.
    pub mlx: PathBuf,
}

/// Brings and makes what is missing, in the user's cache folder.
pub fn prepare(stages: &Stages) -> anyhow::Result<Mac> {
    let cache = repo::dev_dir()?.join("macos");
    fs::create_dir_all(&cache).with_context(|| format!("creating {}", cache.display()))?;
    let lock = crate::setup::lock(&cache, stages)?;
    let toolchain = rust_std::toolchain(&cache, stages)?;
    let zig = zig::prepare(&cache, stages)?;
    let mlx = mac_mlx::install_dir()?;
    mac_mlx::ensure(&mlx, &tools(&zig), stages)?;
    let n_stubs = frameworks::write_stubs(&zig.sdk)?;
    stages.note(&format!("stubs of {n_stubs} Apple libraries"));
    let config = cache.join("cargo.toml");
    files::write_if_new(&config, &config_text(&zig, &mac_mlx::cargo_table(&mlx)?))?;
    lock.unlock().context("releasing the lock")?;
    Ok(Mac { toolchain, scripts: zig.scripts, config, mlx })
}

/// Zig's compilers for mlx-c, and its headers for libclang.
fn tools(zig: &Zig) -> mac_mlx::Tools {
    let path = |path: PathBuf| path.display().to_string();
    let system = |folder: &str| ["-isystem".to_owned(), path(zig.headers.join(folder))];
    // Debian's libclang does not know that every Apple processor has the 16-bit types of mlx-c.
    let clang = [&format!("--target=arm64-apple-macosx{MIN_MACOS}.0"), "-march=armv8.6-a", "-nostdlibinc"];
    mac_mlx::Tools {
        cxx: zig.scripts.join("mac-c++"),
        ar: zig.scripts.join("mac-ar"),
        cxx_flags: vec!["-include".to_owned(), path(zig.numbers.clone())],
        clang_arguments: clang.map(str::to_owned).into_iter().chain(system("libc/include/any-darwin-any")).collect(),
    }
}

fn config_text(zig: &Zig, mlx_table: &str) -> String {
    let script = |name: &str| zig.scripts.join(name).display().to_string();
    format!(
        r#"[env]
MACOSX_DEPLOYMENT_TARGET = "{MIN_MACOS}.0"
SDKROOT = "{sdk}"
CC_aarch64_apple_darwin = "{cc}"
CXX_aarch64_apple_darwin = "{cxx}"
AR_aarch64_apple_darwin = "{ar}"
RANLIB_aarch64_apple_darwin = "{ranlib}"

[target.{TARGET}]
linker = "{ld}"

{mlx_table}"#,
        sdk = zig.sdk.display(),
        cc = script("mac-cc"),
        cxx = script("mac-c++"),
        ar = script("mac-ar"),
        ranlib = script("mac-ranlib"),
        ld = script("mac-link"),
    )
}

impl Mac {
    /// `cargo` with these words, for the Mac. Words after a `--` have to be added by the caller.
    pub fn cargo(&self, words: &[&str]) -> anyhow::Result<Command> {
        let mut cargo = repo::cargo_at(&self.toolchain.join("bin/cargo"))?;
        self.settle(&mut cargo)?;
        cargo.args(words).arg("--config").arg(&self.config).args(["--target", TARGET]);
        cargo.arg("--target-dir").arg(repo::target_dir()?.join("macos"));
        Ok(cargo)
    }

    /// `rustc` for the Mac.
    pub fn rustc(&self) -> anyhow::Result<Command> {
        let mut rustc = Command::new(self.toolchain.join("bin/rustc"));
        self.settle(&mut rustc)?;
        rustc.args(["--target", TARGET]).stdin(Stdio::null());
        Ok(rustc)
    }

    pub fn linker(&self) -> PathBuf {
        self.scripts.join("mac-link")
    }

    /// Where Cargo puts what it builds for the Mac.
    pub fn target_dir(&self) -> anyhow::Result<PathBuf> {
        Ok(repo::target_dir()?.join("macos").join(TARGET))
    }

    /// Lets a command find this toolchain, and nothing of the one that runs this program.
    fn settle(&self, command: &mut Command) -> anyhow::Result<()> {
        let folders = [self.scripts.clone(), self.toolchain.join("bin")];
        let path: OsString = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(folders.into_iter().chain(std::env::split_paths(&path))).context("PATH")?;
        rust_std::alone(command).env("PATH", path);
        Ok(())
    }
}
