//! Rust's standard library for a Mac, on Linux: built from Debian's package of its source, of exactly the machine's compiler.
//!
//! The machine's own toolchain and apt stay as they are: the library goes into a copy of the toolchain made of hard links,
//! and apt works in folders of its own. The switch for unstable options reaches this one build only, never the project's.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use super::TARGET;
use crate::stages::Stages;
use crate::{files, shell};

/// Debian's suite that packages the sources of many compilers.
const SUITE: &str = "trixie-backports";
/// Rises when the copy is made in another way.
const LAYOUT: u32 = 1;

/// What a call by `cargo xtask` leaves in the environment. It belongs to the machine's toolchain: above all, a compiler looks
/// for its library beside the libraries that it was loaded with.
const OF_THE_CALLER: &[&str] =
    &["CARGO", "CARGO_ENCODED_RUSTFLAGS", "LD_LIBRARY_PATH", "RUSTC", "RUSTC_WRAPPER", "RUSTFLAGS", "RUSTUP_TOOLCHAIN"];

/// Frees a command of a copied toolchain from the one that runs this program.
pub fn alone(command: &mut Command) -> &mut Command {
    OF_THE_CALLER.iter().fold(command, |command, name| command.env_remove(name))
}

/// Folder of a toolchain that also builds for the Mac; made where it is not there.
pub fn toolchain(cache: &Path, stages: &Stages) -> anyhow::Result<PathBuf> {
    let version = shell::capture(Command::new("rustc").arg("--version"))?;
    let number = version.split(' ').nth(1).context("`rustc --version` names no version")?;
    let place = cache.join(format!("rust-{number}"));
    let stamp = format!("layout {LAYOUT}\n{version}");
    if files::says(&place.join("stamp"), &stamp) {
        return Ok(place);
    }
    let source = cache.join(format!("rust-src-{number}"));
    stages.run(&format!("source of Rust {number}'s library from Debian (45 MB)"), || take_source(number, &source))?;
    stages.run("Rust's library for the Mac (about 2 minutes)", || build(&source, &place))?;
    files::remove_dir(&source)?;
    fs::write(place.join("stamp"), stamp).context("writing the stamp")?;
    Ok(place)
}

/// `library/` of the compiler's source, in `place`.
fn take_source(number: &str, place: &Path) -> anyhow::Result<()> {
    let scratch = files::with_ending(place, "download");
    let apt = Apt::new(&scratch)?;
    shell::capture(apt.command("apt-get").args(["update", "--quiet"]))?;
    let listing = shell::capture(apt.command("apt-cache").args(["madison", "rust-src"]))?;
    let Some(version) = newest_of(&listing, number) else {
        bail!(
            "Debian has no rust-src {number} in {SUITE}; a toolchain of a version that it has works: see `apt-cache madison rust-src`"
        );
    };
    let mut download = apt.command("apt-get");
    shell::capture(download.current_dir(&scratch).args(["download", "--quiet", &format!("rust-src={version}")]))?;
    let package = files::only_entry(&scratch, |name| name.ends_with(".deb"))?;
    let unpacked = scratch.join("unpacked");
    shell::capture(Command::new("dpkg-deb").arg("--extract").args([&package, &unpacked]))?;
    let source = files::only_entry(&unpacked.join("usr/src"), |name| name.starts_with("rustc-"))?;
    files::replace_dir(&source, place)?;
    files::remove_dir(&scratch)
}

/// The package's version in what `apt-cache madison` prints, `NAME | VERSION | SOURCE` a line, for this compiler.
fn newest_of<'a>(listing: &'a str, number: &str) -> Option<&'a str> {
    let versions = listing.lines().filter_map(|line| line.split('|').nth(1).map(str::trim));
    let mut fitting = versions.filter(|version| version.strip_prefix(number).is_some_and(|rest| rest.starts_with('+')));
    fitting.next()
}

/// apt in folders of its own, reading one suite from the mirror that the machine's apt reads.
struct Apt {
    config: PathBuf,
}

impl Apt {
    fn new(scratch: &Path) -> anyhow::Result<Apt> {
        let folder = scratch.join("apt");
        files::empty_dir(scratch)?;
        for part in ["parts", "lists/partial", "cache/archives/partial", "state"] {
            let part = folder.join(part);
            fs::create_dir_all(&part).with_context(|| format!("creating {}", part.display()))?;
        }
        fs::write(folder.join("state/status"), "")?;
        let mirror = fs::read_to_string("/etc/apt/sources.list.d/debian.sources").ok();
        let mirror =
            mirror.as_deref().and_then(mirror_in).context("no mirror in /etc/apt/sources.list.d/debian.sources")?;
        let keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";
        fs::write(folder.join("sources.list"), format!("deb [signed-by={keyring}] {mirror} {SUITE} main\n"))?;
        let at = folder.display();
        let config = folder.join("apt.conf");
        let text = format!(
            r#"Dir::Etc "{at}"; Dir::Etc::sourcelist "{at}/sources.list"; Dir::Etc::sourceparts "{at}/parts";
Dir::Etc::parts "{at}/parts"; Dir::State "{at}/state"; Dir::State::Lists "{at}/lists";
Dir::State::status "{at}/state/status"; Dir::Cache "{at}/cache"; APT::Sandbox::User ""; Acquire::Languages "none";
"#
        );
        fs::write(&config, text).with_context(|| format!("writing {}", config.display()))?;
        Ok(Apt { config })
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("APT_CONFIG", &self.config);
        command
    }
}

/// The first mirror in one of apt's `.sources` files.
fn mirror_in(sources: &str) -> Option<&str> {
    sources.lines().find_map(|line| line.strip_prefix("URIs:")).map(str::trim)
}

/// A copy of the machine's toolchain with the library built for the Mac.
fn build(source: &Path, place: &Path) -> anyhow::Result<()> {
    let sysroot = shell::capture(Command::new("rustc").args(["--print", "sysroot"]))?;
    let partial = files::with_ending(place, "partial");
    files::remove_dir(&partial)?;
    copy_by_links(Path::new(sysroot.trim()), &partial)?;
    let sources = partial.join("lib/rustlib/src");
    files::empty_dir(&sources)?;
    std::os::unix::fs::symlink(source, sources.join("rust")).context("linking the source into the toolchain")?;

    let empty = files::with_ending(place, "build");
    files::empty_dir(&empty.join("src"))?;
    fs::write(empty.join("src/lib.rs"), "#![no_std]\n")?;
    let manifest = "[package]\nname = \"empty\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n";
    fs::write(empty.join("Cargo.toml"), manifest)?;
    let mut cargo = Command::new(partial.join("bin/cargo"));
    alone(&mut cargo).env_remove("CARGO_TARGET_DIR");
    cargo.current_dir(&empty).env("RUSTC", partial.join("bin/rustc")).env("RUSTC_BOOTSTRAP", "1");
    cargo.args(["build", "--quiet", "--release", "--target", TARGET]);
    shell::capture(cargo.arg("-Zbuild-std=std,panic_unwind,panic_abort,proc_macro,test"))?;

    let library = partial.join("lib/rustlib").join(TARGET).join("lib");
    fs::create_dir_all(&library).with_context(|| format!("creating {}", library.display()))?;
    for built in files::find(&empty.join("target").join(TARGET).join("release/deps"), |name| name.ends_with(".rlib"))? {
        let name = built.file_name().context("a library without a name")?;
        if !name.to_string_lossy().starts_with("libempty") {
            fs::copy(&built, library.join(name)).with_context(|| format!("copying {}", built.display()))?;
        }
    }
    files::remove_dir(&empty)?;
    files::remove_dir(&sources)?;
    files::replace_dir(&partial, place)
}

/// Copies a folder as hard links, which take no space; as files where the cache is on another disk.
fn copy_by_links(from: &Path, to: &Path) -> anyhow::Result<()> {
    if shell::succeeds(Command::new("cp").arg("-al").args([from, to])) {
        return Ok(());
    }
    files::remove_dir(to)?;
    shell::capture(Command::new("cp").arg("-a").args([from, to])).map(drop)
}

#[cfg(test)]
#[path = "rust_std_tests.rs"]
mod tests;
