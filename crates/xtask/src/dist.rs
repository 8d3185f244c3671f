//! `cargo xtask dist`: what a release is made of, besides what only a Mac's tools make (`packaging/*.sh` call both).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};

use crate::bundle::{self, Parts};
use crate::setup::{self, mac_mlx};
use crate::stages::Stages;
use crate::{audit, files, repo, shell, ui};

mod cask;
mod crates;
pub mod deb;
mod manifest;
mod notices;
mod pages;
mod sbom;
mod size;

pub use size::report as size_report;

/// What `dist` makes.
struct Product {
    name: &'static str,
    arguments: &'static str,
    make: fn(&[String]) -> anyhow::Result<()>,
}

#[rustfmt::skip] // A table: one row per line.
const PRODUCTS: &[Product] = &[
    Product { name: "app", arguments: "", make: app },
    Product { name: "cask", arguments: "VERSION DMG_SHA256", make: cask::write },
    Product { name: "deb", arguments: "[--dev]", make: deb::make },
    Product { name: "manifest", arguments: "VERSION URL SIGNATURE_FILE NOTES_FILE DATE", make: manifest::print },
    Product { name: "notices", arguments: "FILE", make: notices::write },
    Product { name: "sbom", arguments: "FILE", make: sbom::write },
    Product { name: "size", arguments: "APP [DMG]", make: size::check },
    Product { name: "try-deb", arguments: "FILE MODEL", make: deb::attempt },
    Product { name: "version", arguments: "", make: |_| { println!("{}", version()?); Ok(()) } },
];

pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    let (name, rest) = arguments.split_first().map_or(("", arguments), |(name, rest)| (name.as_str(), rest));
    let Some(product) = PRODUCTS.iter().find(|product| product.name == name) else {
        let names: Vec<String> = PRODUCTS.iter().map(|row| format!("  dist {} {}", row.name, row.arguments)).collect();
        bail!("`dist` makes one of:\n{}", names.join("\n"));
    };
    (product.make)(rest).with_context(|| format!("dist {} {}", product.name, product.arguments))
}

/// Builds for release on a Mac and assembles `target/dist/Tokbar.app`, unsigned.
fn app(arguments: &[String]) -> anyhow::Result<()> {
    ensure!(arguments.is_empty(), "no arguments are taken");
    ensure!(
        cfg!(target_os = "macos"),
        "only a Mac builds the app; `cargo xtask check-macos --bundle` proves it elsewhere"
    );
    setup::ensure()?;
    let stages = Stages::new("dist");
    // Before the programs are built: they take the pages in.
    ui::ensure(&stages)?;
    let (tokbar, desktop) = stages.run("building for release", || {
        let mut cargo = repo::cargo()?;
        // Not the rpath that this machine's own builds get: a release finds its libraries in the app alone.
        cargo.env("CARGO_ENCODED_RUSTFLAGS", "");
        cargo.args(["build", "--release", "--package", "tokbar-app", "--package", "tokbar-desktop"]);
        let messages = shell::capture_with_progress(cargo.args(["--message-format", "json-render-diagnostics"]))?;
        let program =
            |name: &str| repo::program_in(&messages, name).with_context(|| format!("Cargo built no `{name}`"));
        Ok((program("tokbar")?, program("tokbar-desktop")?))
    })?;
    let folder = folder()?;
    let libraries = mac_mlx::libraries(&mac_mlx::install_dir()?);
    let parts = Parts {
        version: version()?,
        app: desktop,
        cli: tokbar.clone(),
        libraries: vec![libraries.join("libmlx.dylib")],
        metallib: libraries.join("mlx.metallib"),
        resources: resources(&folder.join("resources"), &generator(&libraries, &tokbar))?,
    };
    let app = bundle::assemble(&parts, &folder)?;
    let report = audit::app_report(&app, audit::Signer::Anybody)?;
    print!("{report}{}", size_report(&app)?);
    ensure!(report.problems.is_empty(), "the app has {} problems", report.problems.len());
    println!("{}", app.display());
    Ok(())
}

/// The program, told where MLX's library is: in the app it lies elsewhere.
fn generator(libraries: &Path, tokbar: &Path) -> Command {
    let mut command = Command::new(tokbar);
    command.env("DYLD_LIBRARY_PATH", libraries);
    command
}

/// Files for the app's resources: completions and manual pages, which `tokbar` itself writes, and the notices.
pub fn resources(folder: &Path, tokbar: &Command) -> anyhow::Result<Vec<PathBuf>> {
    files::empty_dir(folder)?;
    let mut generate = Command::new(tokbar.get_program());
    for (name, value) in tokbar.get_envs() {
        generate.env(name, value.unwrap_or_default());
    }
    shell::capture(generate.arg("generate").arg(folder))?;
    notices::write(&[folder.join("THIRD-PARTY.txt").display().to_string()])?;
    files::find(folder, |_| true)
}

/// The workspace's version.
pub fn version() -> anyhow::Result<String> {
    let text = shell::capture(repo::cargo()?.args(["metadata", "--format-version", "1", "--no-deps"]))?;
    let metadata: serde_json::Value = serde_json::from_str(&text).context("reading the output of `cargo metadata`")?;
    let packages = metadata["packages"].as_array().context("`cargo metadata` lists no packages")?;
    let app = packages.iter().find(|package| package["name"] == "tokbar-app").context("no package tokbar-app")?;
    Ok(app["version"].as_str().context("tokbar-app has no version")?.to_owned())
}

/// Where releases are made.
fn folder() -> anyhow::Result<PathBuf> {
    let folder = repo::target_dir()?.join("dist");
    fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
    Ok(folder)
}

#[cfg(test)]
#[path = "dist/scripts_tests.rs"]
mod scripts_tests;
