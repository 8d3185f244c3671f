//! System packages by their Debian names, each with the sign that what it brings is there.

use std::path::Path;
use std::process::Command;

use anyhow::bail;

use crate::shell;
use crate::stages::Stages;

enum Sign {
    /// A program that answers `--version`.
    Program(&'static str),
    /// A Python module that imports.
    PythonModule(&'static str),
    /// A file under any of the compilers' and linker's usual folders.
    File(&'static str),
    /// A shared library that the dynamic linker finds.
    Library(&'static str),
    /// A library in any installed LLVM's folder.
    Llvm(&'static str),
}

/// A package and the sign that what it brings is there, from whatever source.
pub struct Package(&'static str, Sign);

/// What building MLX's C interface and its bindings takes.
pub const BUILD: &[Package] = &[
    Package("g++", Sign::Program("c++")),
    Package("make", Sign::Program("make")),
    Package("cmake", Sign::Program("cmake")),
    Package("clang", Sign::Program("clang")),
    Package("libclang-dev", Sign::Llvm("libclang.so")),
    Package("libfmt-dev", Sign::File("/usr/include/fmt/format.h")),
    Package("libopenblas0", Sign::Library("libopenblas.so.0")),
];

/// What downloading wheels takes, and running programs from them.
pub const PYTHON: &[Package] = &[
    Package("python3", Sign::Program("python3")),
    Package("python3-pip", Sign::PythonModule("pip")),
    Package("python3-venv", Sign::PythonModule("ensurepip")),
];

/// What downloading npm packages takes, and running programs from them.
pub const NODE: &[Package] = &[Package("nodejs", Sign::Program("node")), Package("npm", Sign::Program("npm"))];

/// What building the desktop app takes, and running it without a desktop. A Mac has its own.
#[cfg(target_os = "linux")]
pub const DESKTOP: &[Package] = &[
    Package("libwebkit2gtk-4.1-dev", Sign::File("/usr/include/webkitgtk-4.1/webkit2/webkit2.h")),
    Package("libayatana-appindicator3-1", Sign::Library("libayatana-appindicator3.so.1")),
    Package("xvfb", Sign::File("/usr/bin/Xvfb")),
    Package("dbus", Sign::Program("dbus-daemon")),
    Package("webkit2gtk-driver", Sign::File("/usr/bin/WebKitWebDriver")),
    Package("minisign", Sign::File("/usr/bin/minisign")),
];
#[cfg(not(target_os = "linux"))]
pub const DESKTOP: &[Package] = &[];

/// What making a Debian package takes.
pub const DEBIAN: &[Package] =
    &[Package("patchelf", Sign::Program("patchelf")), Package("binutils", Sign::Program("strip"))];

/// What testing pages takes: a browser, and the fonts that stand in for a Mac's.
pub const BROWSER: &[Package] = &[
    Package("chromium", Sign::Program("/usr/bin/chromium")),
    Package("fonts-inter", Sign::File("/usr/share/fonts/opentype/inter/Inter-Regular.otf")),
];

/// Installs what is missing of these lists, all at once.
pub fn ensure(lists: &[&[Package]], stages: &Stages) -> anyhow::Result<()> {
    let packages = lists.iter().copied().flatten();
    let missing: Vec<&str> = packages.filter(|package| !present(&package.1)).map(|package| package.0).collect();
    if missing.is_empty() {
        return Ok(());
    }
    stages.run(&format!("packages ({})", missing.join(" ")), || install(&missing))
}

fn present(sign: &Sign) -> bool {
    match sign {
        Sign::Program(name) => shell::succeeds(Command::new(name).arg("--version")),
        Sign::PythonModule(name) => shell::succeeds(Command::new("python3").args(["-c", &format!("import {name}")])),
        Sign::File(path) => Path::new(path).is_file(),
        Sign::Library(name) => library(name).is_some(),
        Sign::Llvm(name) => llvm_has(name),
    }
}

fn llvm_has(library: &str) -> bool {
    let Ok(entries) = std::fs::read_dir("/usr/lib") else { return false };
    let llvm = |name: &std::ffi::OsStr| name.to_str().is_some_and(|name| name.starts_with("llvm-"));
    entries.flatten().any(|entry| llvm(&entry.file_name()) && entry.path().join("lib").join(library).exists())
}

/// Path of a shared library as the dynamic linker's cache has it.
pub fn library(name: &str) -> Option<String> {
    // Not every user has /sbin on PATH.
    let listing = ["ldconfig", "/sbin/ldconfig"].iter().find_map(|ldconfig| {
        let mut command = Command::new(ldconfig);
        shell::capture(command.arg("-p")).ok()
    })?;
    library_in(&listing, name).map(str::to_owned)
}

/// Finds a 64-bit library in what `ldconfig -p` prints: `\tNAME (libc6,x86-64) => PATH`.
fn library_in<'a>(listing: &'a str, name: &str) -> Option<&'a str> {
    listing.lines().find_map(|line| {
        let (entry, path) = line.split_once(" => ")?;
        let (found, kind) = entry.trim().split_once(' ')?;
        (found == name && kind.contains("x86-64")).then_some(path.trim())
    })
}

/// Installs packages, as root or by `sudo` without a password; otherwise stops with the command to run.
fn install(packages: &[&str]) -> anyhow::Result<()> {
    let command = format!("apt-get install -y --no-install-recommends {}", packages.join(" "));
    if !shell::succeeds(Command::new("apt-get").arg("--version")) {
        bail!(
            "missing: {}. This system has no apt-get: install what they provide, then run this again",
            packages.join(", ")
        );
    }
    let prefix: &[&str] = if is_root() {
        &[]
    } else if shell::succeeds(Command::new("sudo").args(["-n", "true"])) {
        &["sudo", "-n"]
    } else {
        bail!("missing: {}. Run this, then this set-up again:\n\n    sudo {command}\n", packages.join(", "));
    };
    let apt = |words: &str| {
        let words: Vec<&str> =
            prefix.iter().copied().chain(["env", "DEBIAN_FRONTEND=noninteractive"]).chain(words.split(' ')).collect();
        shell::capture(Command::new(words[0]).args(&words[1..]))
    };
    // A machine whose package lists are fresh saves the update; one without lists fails at once.
    if apt(&command).is_err() {
        apt("apt-get update")?;
        apt(&command)?;
    }
    Ok(())
}

fn is_root() -> bool {
    shell::capture(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

#[cfg(test)]
#[path = "packages_tests.rs"]
mod tests;
