//! Debian packages that the Linux build needs, each with the sign that it is there.

use std::path::Path;
use std::process::Command;

use anyhow::bail;

use crate::shell;

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

const PACKAGES: &[(&str, Sign)] = &[
    ("g++", Sign::Program("c++")),
    ("make", Sign::Program("make")),
    ("cmake", Sign::Program("cmake")),
    ("clang", Sign::Program("clang")),
    ("libclang-dev", Sign::Llvm("libclang.so")),
    ("libfmt-dev", Sign::File("/usr/include/fmt/format.h")),
    ("libopenblas0", Sign::Library("libopenblas.so.0")),
    ("python3", Sign::Program("python3")),
    ("python3-pip", Sign::PythonModule("pip")),
    ("python3-venv", Sign::PythonModule("ensurepip")),
];

/// Packages that are not there.
pub fn missing() -> Vec<&'static str> {
    PACKAGES.iter().filter(|(_, sign)| !present(sign)).map(|(package, _)| *package).collect()
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
pub fn install(packages: &[&str]) -> anyhow::Result<()> {
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
