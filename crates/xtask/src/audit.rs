//! `cargo xtask audit APP`: whether an app is what Macs will take, as far as its bytes tell.
//!
//! A Mac's own tools (`codesign`, `spctl`, `stapler`) say the rest, in `packaging/sign.sh` and `packaging/notarise.sh`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::bundle;

pub mod info;
pub mod macho;
mod programs;
#[cfg(test)]
pub mod sample;
mod tree;

use macho::MachO;

/// Who has to have signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signer {
    /// Anybody: what a linker adds is enough for a processor.
    Anybody,
    /// A developer with a certificate of Apple's, with the hardened runtime.
    Developer,
}

/// `audit APP [--signed]`
pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    let (app, signer) = match arguments {
        [app] => (app, Signer::Anybody),
        [app, signed] if signed == "--signed" => (app, Signer::Developer),
        _ => bail!("`audit` takes the path of an app, and --signed for one that has been signed for release"),
    };
    let report = app_report(Path::new(app), signer)?;
    print!("{report}");
    match report.problems.len() {
        0 => Ok(()),
        n => bail!("{n} problems"),
    }
}

/// What an app is made of, and what is wrong with it.
#[derive(Debug, Default)]
pub struct Report {
    /// A line for each program and library.
    pub lines: Vec<String>,
    pub problems: Vec<String>,
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.lines.iter().try_for_each(|line| writeln!(f, "{line}"))?;
        self.problems.iter().try_for_each(|problem| writeln!(f, "PROBLEM {problem}"))?;
        writeln!(f, "audit: {}", if self.problems.is_empty() { "fine" } else { "not fine" })
    }
}

/// One program or library of an app.
pub struct Binary {
    /// Path inside the app.
    pub inside: String,
    pub macho: MachO,
}

/// Audits an app. An error is an app that cannot be read at all.
pub fn app_report(app: &Path, signer: Signer) -> anyhow::Result<Report> {
    let mut report = Report::default();
    let files = tree::files(app, &mut report.problems)?;
    let info = info::check(app, &files, &mut report.problems)?;
    let mut binaries = Vec::new();
    for inside in &files {
        let bytes = fs::read(app.join(inside)).with_context(|| format!("reading {inside}"))?;
        let is_place_of_code = tree::is_place_of_code(inside);
        if macho::is_macho(&bytes) != is_place_of_code {
            let what = if is_place_of_code { "is no program or library" } else { "is code where no code belongs" };
            report.problems.push(format!("{inside}: {what}"));
            continue;
        }
        if is_place_of_code {
            match macho::read(&bytes) {
                Ok(macho) => binaries.push(Binary { inside: inside.clone(), macho }),
                Err(error) => report.problems.push(format!("{inside}: {error:#}")),
            }
        }
        if inside == bundle::METALLIB && !bytes.starts_with(b"MTLB") {
            report.problems.push(format!("{inside}: holds no Metal kernels"));
        }
    }
    for binary in &binaries {
        report.lines.push(format!("{}: {}", binary.inside, describe(&binary.macho)));
        report.problems.extend(programs::problems(binary, &files, info.min_macos, signer));
    }
    report.lines.push(info.line);
    Ok(report)
}

/// One line about a program that is in no app yet.
pub fn summary(program: &Path) -> anyhow::Result<String> {
    let bytes = fs::read(program).with_context(|| format!("reading {}", program.display()))?;
    let macho = macho::read(&bytes).with_context(|| format!("{}", program.display()))?;
    let name = program.file_name().map(PathBuf::from).unwrap_or_default();
    Ok(format!("{}: {}, {} bytes", name.display(), describe(&macho), bytes.len()))
}

fn describe(macho: &MachO) -> String {
    let cpu = if macho.is_arm64 { "arm64" } else { "not arm64" };
    let system =
        macho.min_macos.map_or_else(|| "no macOS".to_owned(), |(major, minor)| format!("macOS {major}.{minor}"));
    let n_system = macho.dylibs.iter().filter(|name| programs::is_of_the_system(name)).count();
    let own: Vec<&str> =
        macho.dylibs.iter().map(String::as_str).filter(|name| !programs::is_of_the_system(name)).collect();
    let signature = match &macho.signature {
        None => "unsigned",
        Some(signature) if signature.is_ad_hoc => "signed ad hoc",
        Some(signature) if signature.has_hardened_runtime => "signed, hardened runtime",
        Some(_) => "signed, no hardened runtime",
    };
    format!("{cpu}, {system}, {n_system} system libraries, own {own:?}, rpaths {:?}, {signature}", macho.rpaths)
}

#[cfg(test)]
#[path = "audit_tests.rs"]
mod tests;
