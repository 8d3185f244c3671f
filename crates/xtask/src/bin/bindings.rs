//! `bindings MLX_C_DIR OUT_FILE [CLANG_ARGUMENT...]`: Rust declarations of mlx-c, as `mlx-sys` includes them.
//!
//! A binary of its own, behind a feature: bindgen takes several times longer to build than the rest of this package, and
//! is needed once per machine. As a dependency it is pinned by the lock file (`mlx-sys` names it too, for Apple systems)
//! and needs no installed tool; every other `cargo xtask` call stays free of it.

use std::path::PathBuf;

use anyhow::{Context, bail};

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [mlx_c, out, clang_arguments @ ..] = &arguments[..] else {
        bail!("usage: bindings MLX_C_DIR OUT_FILE [CLANG_ARGUMENT...]")
    };
    let mlx_c = PathBuf::from(mlx_c);

    let header_dir = mlx_c.join("mlx/c");
    let entries = std::fs::read_dir(&header_dir).with_context(|| format!("reading {}", header_dir.display()))?;
    let mut headers: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    headers.retain(|path| path.extension().is_some_and(|extension| extension == "h"));
    headers.sort();

    // The options of mlx-sys's own build script, so that mlx-rs meets the same declarations as on a Mac.
    let builder = bindgen::Builder::default()
        .rust_target("1.73.0".parse().map_err(anyhow::Error::msg)?)
        .clang_arg(format!("-I{}", mlx_c.display()))
        .clang_args(clang_arguments)
        .blocklist_function("malloc")
        .blocklist_function("realloc");
    let builder = headers.iter().fold(builder, |builder, header| builder.header(header.to_string_lossy()));
    let bindings = builder.generate().context("bindgen could not read mlx-c's headers")?;
    bindings.write_to_file(out).with_context(|| format!("writing {out}"))
}
