//! Zig as the C compiler and linker for the Mac: it carries Apple's libc headers and the list of libSystem's symbols.
//!
//! Compilers and linkers are called through small scripts, because Cargo and build scripts pass options that Zig does not
//! take. Another option in Cargo's `rustflags` would rebuild everything; in a script it rebuilds nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::MIN_MACOS;
use crate::python::Wheel;
use crate::stages::Stages;
use crate::{files, python};

/// Zig's compiler as a wheel for Linux.
const ZIG: Wheel = Wheel {
    requirement: "ziglang==0.17.1",
    sha256: &["ea6cc5d87b033cf0aedfbc8f9549a908cae6c50ac31f1698188fa48a74524b54"],
};

/// Zig's C++ library uses `NAN` and `INFINITY` before the header that defines them.
const NUMBERS: &str =
    "#pragma once\n#undef NAN\n#define NAN __builtin_nanf(\"\")\n#undef INFINITY\n#define INFINITY __builtin_inff()\n";

/// Scripts in one folder, and what they call.
pub struct Zig {
    /// Holds `mac-cc`, `mac-c++`, `mac-ar`, `mac-ranlib`, `mac-ld`, and an `xcrun` that build scripts find.
    pub scripts: PathBuf,
    /// Where stubs of Apple's libraries are.
    pub sdk: PathBuf,
    /// Zig's own headers.
    pub headers: PathBuf,
    /// A header to force on C++ sources.
    pub numbers: PathBuf,
}

/// Brings Zig and writes the scripts.
pub fn prepare(cache: &Path, stages: &Stages) -> anyhow::Result<Zig> {
    let wheel = cache.join("zig");
    if !files::says(&wheel.join("stamp"), &ZIG.pinned()) {
        stages.run("Zig from PyPI (101 MB)", || unpack(&wheel))?;
    }
    let zig = Zig {
        scripts: cache.join("scripts"),
        sdk: cache.join("MacOSX.sdk"),
        headers: wheel.join("ziglang/lib"),
        numbers: cache.join("scripts/numbers.h"),
    };
    for folder in [&zig.scripts, &zig.sdk.join("usr/lib"), &zig.sdk.join("System/Library/Frameworks")] {
        fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    }
    files::write_if_new(&zig.numbers, NUMBERS)?;
    for (name, text) in scripts(&wheel.join("ziglang/zig"), cache, &zig.sdk) {
        let path = zig.scripts.join(name);
        files::write_if_new(&path, &text)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
            .with_context(|| format!("making {} executable", path.display()))?;
    }
    Ok(zig)
}

fn unpack(wheel: &Path) -> anyhow::Result<()> {
    let (download, partial) = (files::with_ending(wheel, "download"), files::with_ending(wheel, "partial"));
    python::download(&[ZIG], &download)?;
    files::empty_dir(&partial)?;
    python::unpack(&files::only_entry(&download, |name| name.ends_with(".whl"))?, &partial)?;
    files::remove_dir(&download)?;
    let program = partial.join("ziglang/zig");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))
        .with_context(|| format!("making {} executable", program.display()))?;
    fs::write(partial.join("stamp"), ZIG.pinned()).context("writing the stamp")?;
    files::replace_dir(&partial, wheel)
}

/// Names and texts of the scripts.
fn scripts(zig: &Path, cache: &Path, sdk: &Path) -> [(&'static str, String); 6] {
    let (zig, sdk) = (zig.display(), sdk.display());
    let start = format!(
        "#!/usr/bin/env bash\nset -eu\nexport ZIG_GLOBAL_CACHE_DIR='{cache}/zig-cache' ZIG_LOCAL_CACHE_DIR='{cache}/zig-cache'\n",
        cache = cache.display()
    );
    // `-arch`, `--target` and the rest are said once, in the words that Zig takes.
    let filter = "options=(); skip=\nfor word in \"$@\"; do\n  if [ -n \"$skip\" ]; then skip=; continue; fi\n  case $word in\n    --target=*|-mmacosx-version-min=*|-mmacos-version-min=*) ;;\n    -target|-arch|-isysroot) skip=1 ;;\n    *) options+=(\"$word\") ;;\n  esac\ndone\n";
    let compile = |language: &str, more: &str| {
        format!(
            "{start}{filter}exec '{zig}' {language} -target aarch64-macos.{MIN_MACOS}.0 -g0 {more}\"${{options[@]}}\"\n"
        )
    };
    let pass = |tool: &str| format!("{start}exec '{zig}' {tool} \"$@\"\n");
    let stubs = format!("-F'{sdk}/System/Library/Frameworks' -L'{sdk}/usr/lib' ");
    let xcrun = format!(
        "#!/usr/bin/env bash\n# Answers where the SDK is, and nothing else.\ncase \"$*\" in\n  *--show-sdk-path*) echo '{sdk}' ;;\n  *--show-sdk-version*) echo {MIN_MACOS}.0 ;;\n  *) exit 1 ;;\nesac\n"
    );
    [
        ("mac-cc", compile("cc", "")),
        ("mac-c++", compile("c++", "")),
        ("mac-ld", compile("cc", &stubs)),
        ("mac-ar", pass("ar")),
        ("mac-ranlib", pass("ranlib")),
        ("xcrun", xcrun),
    ]
}

#[cfg(test)]
#[path = "zig_tests.rs"]
mod tests;
