//! Controls: small programs and broken apps of which it is known whether they are fine, so that a check that passes
//! everything is found out.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};

use super::Programs;
use super::target::Mac;
use crate::audit::{self, Signer};
use crate::bundle::{self, Parts};
use crate::setup::mac_mlx;
use crate::{dist, files, repo};

/// A source text, and what a check of it has to say.
struct Control {
    name: &'static str,
    source: &'static str,
    expected: Expected,
}

enum Expected {
    Passes,
    /// It fails, and says this.
    Fails(&'static str),
}

const TYPES: &[Control] = &[
    Control {
        name: "code for the Mac only",
        source: "#[cfg(target_os = \"macos\")] pub fn id() -> u32 { std::process::id() }",
        expected: Expected::Passes,
    },
    Control {
        name: "a wrong type in code for the Mac only",
        source: "#[cfg(target_os = \"macos\")] pub fn id() -> u32 { \"one\" }",
        expected: Expected::Fails("E0308"),
    },
    Control {
        name: "a function of mlx-c",
        source: "pub unsafe fn set(p: *const i8) { unsafe { mlx_sys::mlx_metal_set_metallib_path(p) }; }",
        expected: Expected::Passes,
    },
    Control {
        name: "a function that mlx-c does not have",
        source: "pub unsafe fn set(p: *const i8) { unsafe { mlx_sys::mlx_metal_set_no_such_path(p) }; }",
        expected: Expected::Fails("E0425"),
    },
];

const LINKS: &[Control] = &[
    Control {
        name: "a function of the system",
        source: "unsafe extern \"C\" { fn getpid() -> i32; } fn main() { unsafe { getpid() }; }",
        expected: Expected::Passes,
    },
    Control {
        name: "a function that the system does not have",
        source: "unsafe extern \"C\" { fn getpid_of_nobody() -> i32; } fn main() { unsafe { getpid_of_nobody() }; }",
        expected: Expected::Fails("getpid_of_nobody"),
    },
    Control {
        name: "a function of a framework",
        source: "#[link(name = \"CoreFoundation\", kind = \"framework\")] unsafe extern \"C\" { fn CFRelease(x: *const u8); } fn main() { unsafe { CFRelease(&0) }; }",
        expected: Expected::Passes,
    },
    Control {
        name: "a function that the framework does not have",
        source: "#[link(name = \"CoreFoundation\", kind = \"framework\")] unsafe extern \"C\" { fn CFNothing(x: *const u8); } fn main() { unsafe { CFNothing(&0) }; }",
        expected: Expected::Fails("CFNothing"),
    },
];

/// The type check finds what is wrong and passes what is not.
pub fn of_types(mac: &Mac) -> anyhow::Result<()> {
    let bindings = only_rmeta(&mac.target_dir()?.join("debug/deps"), "libmlx_sys-")?;
    let more = ["--crate-type=lib".to_owned(), "--emit=metadata".to_owned(), format!("--extern=mlx_sys={bindings}")];
    run(mac, TYPES, &more)
}

/// The linker finds what is missing.
pub fn of_links(mac: &Mac) -> anyhow::Result<()> {
    run(mac, LINKS, &["--crate-type=bin".to_owned(), format!("-Clinker={}", mac.linker().display())])
}

fn run(mac: &Mac, controls: &[Control], more: &[String]) -> anyhow::Result<()> {
    let folder = mac.target_dir()?.join("controls");
    files::empty_dir(&folder)?;
    for control in controls {
        let source = folder.join("control.rs");
        fs::write(&source, control.source).context("writing a control")?;
        let mut rustc = mac.rustc()?;
        rustc.current_dir(&folder).args(["--edition=2024", "-Dwarnings"]).args(more).arg(&source);
        let output = rustc.output().context("starting the Mac's rustc")?;
        judge(control, output.status.success(), &String::from_utf8_lossy(&output.stderr))?;
    }
    Ok(())
}

/// Compares with what was expected, and shows the line that decided.
fn judge(control: &Control, passed: bool, said: &str) -> anyhow::Result<()> {
    match control.expected {
        Expected::Passes => ensure!(passed, "control `{}` has to pass, but: {said}", control.name),
        Expected::Fails(cause) => {
            ensure!(!passed, "control `{}` passes, but has to fail", control.name);
            let line = said.lines().find(|line| line.contains(cause));
            let line = line.with_context(|| format!("control `{}` fails without `{cause}`: {said}", control.name))?;
            println!("  control `{}` fails: {}", control.name, line.trim());
        }
    }
    Ok(())
}

/// The newest file of a crate's type information.
fn only_rmeta(deps: &Path, start: &str) -> anyhow::Result<String> {
    let found = files::find(deps, |name| name.starts_with(start) && name.ends_with(".rmeta"))?;
    let newest = found.into_iter().max_by_key(|path| path.metadata().and_then(|metadata| metadata.modified()).ok());
    Ok(newest.with_context(|| format!("no {start}*.rmeta in {}", deps.display()))?.display().to_string())
}

/// The app of the linked programs passes its audit; with any part broken it does not.
pub fn of_bundle(mac: &Mac, programs: &Programs) -> anyhow::Result<()> {
    let folder = mac.target_dir()?.join("bundle");
    let libraries = mac_mlx::libraries(&mac.mlx);
    let resources = dist::resources(&folder.join("resources"), &Command::new(repo::build_tokbar(repo::Profile::Dev)?))?;
    let parts = Parts {
        version: dist::version()?,
        app: programs.app.clone(),
        cli: programs.tokbar.clone(),
        libraries: vec![libraries.join("libmlx.dylib")],
        metallib: libraries.join("mlx.metallib"),
        icons: dist::icons()?,
        resources,
    };
    let app = bundle::assemble(&parts, &folder)?;
    let report = audit::app_report(&app, Signer::Anybody)?;
    print!("{report}");
    ensure!(report.problems.is_empty(), "the app has {} problems", report.problems.len());
    print!("{}", dist::size_report(&app)?);
    for breakage in BREAKAGES {
        break_and_audit(&app, breakage)?;
    }
    Ok(())
}

/// A way to break an app, and what its audit has to say.
struct Breakage {
    name: &'static str,
    /// The file that is changed, inside the app.
    file: &'static str,
    /// What becomes of its bytes; nothing when it is removed.
    change: fn(Vec<u8>) -> Option<Vec<u8>>,
    cause: &'static str,
}

#[rustfmt::skip] // A table: one row per line.
const BREAKAGES: &[Breakage] = &[
    Breakage { name: "no kernels", file: bundle::METALLIB, change: |_| None, cause: "mlx.metallib: is not there" },
    Breakage { name: "no library", file: "Contents/Frameworks/libmlx.dylib", change: |_| None, cause: "loads @rpath/libmlx.dylib" },
    Breakage { name: "no rpath", file: bundle::APP_PROGRAM, change: |bytes| replace(bytes, b"@executable_path/../Frameworks", b"@executable_path/../Framewerks"), cause: "has no rpath" },
    Breakage { name: "a library of this machine", file: bundle::CLI_PROGRAM, change: |bytes| replace(bytes, b"@rpath/libmlx.dylib", b"/tmp/libs/mlx.dylib"), cause: "other Macs do not have" },
    Breakage { name: "no signature", file: bundle::APP_PROGRAM, change: |bytes| replace(bytes, &[0x1d, 0, 0, 0, 0x10, 0, 0, 0], &[0x1b, 0, 0, 0, 0x10, 0, 0, 0]), cause: "is not signed" },
    Breakage { name: "a program for Intel", file: bundle::CLI_PROGRAM, change: |mut bytes| { bytes[4] = 7; Some(bytes) }, cause: "not for Apple silicon" },
    Breakage { name: "an older system", file: "Contents/Info.plist", change: |bytes| replace(bytes, b"14.0", b"13.0"), cause: "needs macOS (14, 0)" },
    Breakage { name: "an icon in the Dock", file: "Contents/Info.plist", change: |bytes| replace(bytes, b"LSUIElement", b"LSUIelement"), cause: "LSUIElement is None" },
    Breakage { name: "no licence", file: "Contents/Resources/LICENSE-APACHE", change: |_| None, cause: "LICENSE-APACHE: is not there" },
];

/// The bytes with the first `from` in them replaced by `to`, which is as long.
fn replace(mut bytes: Vec<u8>, from: &[u8], to: &[u8]) -> Option<Vec<u8>> {
    let at = bytes.windows(from.len()).position(|window| window == from)?;
    bytes[at..at + to.len()].copy_from_slice(to);
    Some(bytes)
}

fn break_and_audit(app: &Path, breakage: &Breakage) -> anyhow::Result<()> {
    let path: PathBuf = app.join(breakage.file);
    let whole = fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
    match (breakage.change)(whole.clone()) {
        Some(bytes) => fs::write(&path, bytes),
        None => fs::remove_file(&path),
    }
    .with_context(|| format!("breaking {}", path.display()))?;
    let problems = audit::app_report(app, Signer::Anybody)?.problems;
    // Written back into a file of the same permissions where it was only changed.
    fs::write(&path, whole).with_context(|| format!("mending {}", path.display()))?;
    let Some(problem) = problems.iter().find(|problem| problem.contains(breakage.cause)) else {
        bail!("control `{}` has to say `{}`, but says {problems:?}", breakage.name, breakage.cause);
    };
    println!("  control `{}` fails: {problem}", breakage.name);
    Ok(())
}
