//! The same app as a Debian package: both programs, MLX's libraries, manual pages, completions, icons, notices.
//!
//! MLX's libraries keep their folders, by which they find one another; only the programs are told anew where those are.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};

use crate::repo::Profile;
use crate::setup::{self, pins};
use crate::stages::Stages;
use crate::{bundle, files, packages, repo, shell, ui};

mod prove;

/// Where the programs look for MLX, from where they are.
const RPATH: &str = "$ORIGIN/../lib/tokbar/lib:$ORIGIN/../lib/tokbar/wheel/mlx/lib";
/// Programs that are shipped.
const PROGRAMS: &[&str] = &["tokbar", "tokbar-desktop"];
/// What is opened at run time, so that no library's list names it: the icon in the panel, and the linear algebra that stands
/// in for that of MLX's wheel.
const OPENED_LATE: &[&str] = &["libayatana-appindicator3-1", "libopenblas0"];
/// Sizes of the icon that desktops look for.
const ICONS: &[u32] = &[32, 128, 256, 512];

/// `dist deb [--dev]`: for release, or of what tests build.
pub fn make(arguments: &[String]) -> anyhow::Result<()> {
    let profile = match arguments {
        [] => Profile::Release,
        [dev] if dev == "--dev" => Profile::Dev,
        _ => bail!("nothing but --dev is taken"),
    };
    setup::ensure()?;
    let stages = Stages::new("dist");
    packages::ensure(&[packages::DESKTOP, packages::DEBIAN], &stages)?;
    ui::ensure(&stages)?;
    let package = build(profile, &stages)?;
    println!("{}: {} bytes", package.display(), package.metadata().context("reading the package")?.len());
    Ok(())
}

/// `dist try-deb FILE MODEL`: installs a package in a folder, and sees whether it works and goes.
pub fn attempt(arguments: &[String]) -> anyhow::Result<()> {
    let [package, model] = arguments else { bail!("a package and a model's folder are taken") };
    prove::works(Path::new(package), Path::new(model))
}

/// Makes the package of what tests have built and sees whether it works: a part of `cargo xtask test`.
pub fn check(model: &Path, stages: &Stages) -> anyhow::Result<()> {
    packages::ensure(&[packages::DEBIAN], stages)?;
    let package = build(Profile::Dev, stages)?;
    stages.run("the package, installed and used", || prove::works(&package, model))
}

fn build(profile: Profile, stages: &Stages) -> anyhow::Result<PathBuf> {
    let programs = stages.run("building the programs", || programs(profile))?;
    stages.run("the package", || {
        let version = super::version()?;
        let tree = super::folder()?.join("deb");
        files::empty_dir(&tree)?;
        fill(&tree, &programs)?;
        let control = control(&version, &depends(&tree)?, files_bytes(&tree)?);
        put_text(&control, &tree.join("DEBIAN/control"))?;
        let package = super::folder()?.join(format!("tokbar_{version}_amd64.deb"));
        // Tests wait for it; people download it.
        let compression = if matches!(profile, Profile::Dev) { ["-Zgzip", "-z1"] } else { ["-Zxz", "-z6"] };
        let mut dpkg = Command::new("dpkg-deb");
        shell::capture(dpkg.args(["--root-owner-group", "--build"]).args(compression).arg(&tree).arg(&package))?;
        files::remove_dir(&tree)?;
        Ok(package)
    })
}

fn programs(profile: Profile) -> anyhow::Result<Vec<PathBuf>> {
    let mut cargo = repo::cargo()?;
    match profile {
        // As the tests are built, so that nothing is built twice.
        Profile::Dev => cargo.args(["test", "--workspace", "--no-run"]),
        Profile::Release => {
            cargo.args(["build", "--release", "--package", "tokbar-app", "--package", "tokbar-desktop"])
        }
    };
    let messages = shell::capture_with_progress(cargo.args(["--message-format", "json-render-diagnostics"]))?;
    let find = |name: &&str| repo::program_in(&messages, name).with_context(|| format!("Cargo built no `{name}`"));
    PROGRAMS.iter().map(find).collect()
}

/// Puts everything where Debian wants it.
fn fill(tree: &Path, programs: &[PathBuf]) -> anyhow::Result<()> {
    let (root, usr) = (repo::root()?, tree.join("usr"));
    for program in programs {
        let place = usr.join("bin").join(program.file_name().context("a program has a name")?);
        bundle::put(program, &place, 0o755)?;
        shell::capture(Command::new("strip").arg("--strip-debug").arg(&place))?;
        shell::capture(Command::new("patchelf").args(["--set-rpath", RPATH]).arg(&place))?;
    }
    put_mlx(&repo::dev_dir()?.join(format!("mlx-{}", pins::MLX_VERSION)), &usr.join("lib/tokbar"))?;
    let made = tree.with_extension("made");
    for file in super::resources(&made, &Command::new(&programs[0]))? {
        let name = file.file_name().context("a file has a name")?.to_string_lossy().into_owned();
        bundle::put(&file, &usr.join("share").join(place(&name)?), 0o644)?;
    }
    files::remove_dir(&made)?;
    bundle::put(&root.join("LICENSE-APACHE"), &usr.join("share/doc/tokbar/copyright"), 0o644)?;
    for size in ICONS {
        let icon = format!("share/icons/hicolor/{size}x{size}/apps/tokbar.png");
        bundle::put(&root.join(format!("assets/app/icon-{size}.png")), &usr.join(icon), 0o644)?;
    }
    bundle::put(&root.join("packaging/tokbar.desktop"), &usr.join("share/applications/tokbar.desktop"), 0o644)?;
    let pages = files::find(&usr.join("share/man"), |name| name.ends_with(".1"))?;
    shell::capture(Command::new("gzip").args(["-9n"]).args(pages)).map(drop)
}

/// Where below `share` a file goes that `tokbar` or this program made.
fn place(name: &str) -> anyhow::Result<PathBuf> {
    Ok(match name {
        "THIRD-PARTY.txt" => Path::new("doc/tokbar").join(name),
        "tokbar.bash" => "bash-completion/completions/tokbar".into(),
        "tokbar.fish" => "fish/vendor_completions.d/tokbar.fish".into(),
        "_tokbar" => "zsh/vendor-completions/_tokbar".into(),
        page if page.ends_with(".1") => Path::new("man/man1").join(page),
        _ => bail!("nobody knows where {name} goes"),
    })
}

/// MLX and mlx-c, as set-up has them.
fn put_mlx(from: &Path, to: &Path) -> anyhow::Result<()> {
    let is_library = |name: &str| name.contains(".so") && !name.ends_with(".orig");
    let mut n_libraries = 0;
    for part in ["lib", "wheel/mlx/lib", "wheel/mlx_cpu.libs"] {
        for library in files::find(&from.join(part), is_library)? {
            let place = to.join(library.strip_prefix(from).context("a library outside its folder")?);
            n_libraries += 1;
            match fs::read_link(&library) {
                Err(_) => bundle::put(&library, &place, 0o644)?,
                Ok(target) => {
                    fs::create_dir_all(place.parent().context("a file has a folder")?)?;
                    symlink(target, &place).with_context(|| format!("linking {}", place.display()))?;
                }
            }
        }
    }
    ensure!(n_libraries >= 4, "MLX has {n_libraries} libraries in {}: run `cargo xtask setup`", from.display());
    Ok(())
}

/// Packages that have the libraries which the programs load, by the machine on which they were linked.
fn depends(tree: &Path) -> anyhow::Result<Vec<String>> {
    let mut owners: Vec<String> = OPENED_LATE.iter().map(|name| (*name).to_owned()).collect();
    let libraries = files::find(&tree.join("usr"), |name| name.contains(".so"))?;
    for file in PROGRAMS.iter().map(|name| tree.join("usr/bin").join(name)).chain(libraries) {
        if file.is_symlink() {
            continue;
        }
        for library in shell::capture(Command::new("patchelf").arg("--print-needed").arg(&file))?.lines() {
            if files::find(&tree.join("usr/lib"), |name| name == library)?.is_empty() {
                owners.push(owner(library)?);
            }
        }
    }
    owners.sort_unstable();
    owners.dedup();
    Ok(owners)
}

/// The package that a library of the system is from.
fn owner(library: &str) -> anyhow::Result<String> {
    let said = shell::capture(Command::new("dpkg-query").args(["--search", &format!("*/{library}")]))?;
    let names = said.lines().filter_map(|line| line.split_once(": ").map(|(names, _)| names));
    // A library of a compiler for another processor has the same name.
    let name = names.into_iter().find(|name| name.ends_with(":amd64")).context(said.clone())?;
    Ok(name.trim_end_matches(":amd64").to_owned())
}

fn files_bytes(tree: &Path) -> anyhow::Result<u64> {
    Ok(bundle::sizes(tree)?.iter().map(|(_, n_bytes)| n_bytes).sum())
}

/// What Debian's tools read of a package.
fn control(version: &str, depends: &[String], n_bytes: u64) -> String {
    format!(
        "Package: tokbar\nVersion: {version}\nArchitecture: amd64\nMaintainer: Tokbar <https://github.com/tokbar/tokbar>\n\
         Installed-Size: {}\nDepends: {}\nSection: utils\nPriority: optional\nHomepage: https://github.com/tokbar/tokbar\n\
         Description: Local LLM server in the panel\n Runs language models on this machine, for programs that speak the \
         dialects of\n OpenAI, Anthropic or Ollama.\n",
        n_bytes.div_ceil(1024),
        depends.join(", ")
    )
}

fn put_text(text: &str, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to.parent().context("a file has a folder")?)?;
    fs::write(to, text).with_context(|| format!("writing {}", to.display()))
}

#[cfg(test)]
#[path = "deb_tests.rs"]
mod tests;
