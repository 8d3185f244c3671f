//! `.cargo/mlx.toml`, which the committed `.cargo/config.toml` includes when it is there: where this machine's MLX is.
//!
//! `mlx-sys` declares `links = "mlx"`, so Cargo takes the `target.<triple>.mlx` table instead of running its build script,
//! which knows only Apple systems. Cargo wants absolute paths there: that is why the file is made, not committed.

use std::path::Path;

use anyhow::{Context, bail};

use crate::files;

/// Text of `mlx.toml` for an MLX installed in `install_dir`.
pub fn text(install_dir: &Path) -> anyhow::Result<String> {
    let dir = checked(install_dir)?;
    let (mlxc, mlx) = (format!("{dir}/lib"), format!("{dir}/wheel/mlx/lib"));
    Ok(format!(
        r#"[target.x86_64-unknown-linux-gnu]
rustflags = ["-C", "link-arg=-Wl,-rpath,{mlxc}", "-C", "link-arg=-Wl,-rpath,{mlx}"]

[target.x86_64-unknown-linux-gnu.mlx]
rustc-link-lib = ["dylib=mlxc", "dylib=mlx"]
rustc-link-search = ["{mlxc}", "{mlx}"]
rustc-env = {{ OUT_DIR = "{dir}/bindings" }}
"#
    ))
}

/// The path as text, if the linker and Cargo read it as it is meant.
pub fn checked(dir: &Path) -> anyhow::Result<&str> {
    let dir = dir.to_str().context("the cache folder's path is not UTF-8")?;
    // A comma would end the path inside `-Wl,`, and Cargo would read the rest as further linker arguments.
    if dir.contains([',', '"', '\\', '\n']) {
        bail!("the cache folder's path holds a comma, quote or backslash: {dir}; set XDG_CACHE_HOME to another one");
    }
    Ok(dir)
}

/// Writes the file in one step; Cargo rebuilds nothing for an untouched one.
pub fn write(repo_root: &Path, text: &str) -> anyhow::Result<()> {
    files::write_if_new(&repo_root.join(".cargo/mlx.toml"), text)
}

#[cfg(test)]
#[path = "cargo_config_tests.rs"]
mod tests;
