//! Puts the app together: `Tokbar.app` of programs, libraries, MLX's kernels, licences and `packaging/Info.plist`.
//!
//! Runs the same on Linux, where its result is audited, and on a Mac, where `packaging/sign.sh` signs it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

use crate::{files, repo};

pub mod plist;

/// The app's folder.
pub const APP: &str = "Tokbar.app";
/// The program with the menu-bar item. Disks of Macs take `Tokbar` and `tokbar` for one name, so the other is elsewhere.
pub const APP_PROGRAM: &str = "Contents/MacOS/Tokbar";
/// The program for the terminal.
pub const CLI_PROGRAM: &str = "Contents/Helpers/tokbar";
/// Libraries, where both programs look for them.
pub const FRAMEWORKS: &str = "Contents/Frameworks";
/// What programs look for libraries by; `crates/app/build.rs` gives it to the linker.
pub const RPATH: &str = "@executable_path/../Frameworks";
/// MLX's kernels. Beside MLX's library would be shorter, but that folder is for signed code only.
pub const METALLIB: &str = "Contents/Resources/mlx.metallib";

/// The icon's file in `Contents/Resources`.
pub const ICON: &str = "Tokbar.icns";

/// What goes in.
pub struct Parts {
    pub version: String,
    pub app: PathBuf,
    pub cli: PathBuf,
    pub libraries: Vec<PathBuf>,
    pub metallib: PathBuf,
    /// Further files for `Contents/Resources`: notices, completions, the manual page.
    pub resources: Vec<PathBuf>,
}

/// Assembles the app in `folder`, in place of one that is there; returns its path.
pub fn assemble(parts: &Parts, folder: &Path) -> anyhow::Result<PathBuf> {
    let root = repo::root()?;
    let place = folder.join(APP);
    let partial = files::with_ending(&place, "partial");
    files::empty_dir(&partial)?;
    let plist = fs::read_to_string(root.join("packaging/Info.plist")).context("reading packaging/Info.plist")?;
    put_text(&info_plist(&plist, &parts.version)?, &partial.join("Contents/Info.plist"))?;
    put_text("APPL????", &partial.join("Contents/PkgInfo"))?;
    put(&parts.app, &partial.join(APP_PROGRAM), 0o755)?;
    put(&parts.cli, &partial.join(CLI_PROGRAM), 0o755)?;
    for library in &parts.libraries {
        put_into(library, &partial.join(FRAMEWORKS), 0o755)?;
    }
    put(&parts.metallib, &partial.join(METALLIB), 0o644)?;
    let resources = partial.join("Contents/Resources");
    for file in std::iter::once(&root.join("LICENSE-APACHE")).chain(&parts.resources) {
        put_into(file, &resources, 0o644)?;
    }
    put(&root.join("assets/app/icon.icns"), &resources.join(ICON), 0o644)?;
    files::replace_dir(&partial, &place)?;
    Ok(place)
}

/// The property list with the version in its places.
pub fn info_plist(template: &str, version: &str) -> anyhow::Result<String> {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = version.split('.').collect();
    ensure!(parts.len() == 3 && parts.iter().all(|part| is_number(part)), "`{version}` is no version such as 1.2.3");
    Ok(template.replace("@VERSION@", version))
}

fn put_into(from: &Path, folder: &Path, mode: u32) -> anyhow::Result<()> {
    let name = from.file_name().with_context(|| format!("{} has no name", from.display()))?;
    put(from, &folder.join(name), mode)
}

/// Copies a file; the mode is what the app's users get, whatever it was before.
pub fn put(from: &Path, to: &Path, mode: u32) -> anyhow::Result<()> {
    let folder = to.parent().context("a file has a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    ensure!(!to.exists(), "two files for {}", to.display());
    fs::copy(from, to).with_context(|| format!("copying {} into the app", from.display()))?;
    fs::set_permissions(to, fs::Permissions::from_mode(mode))
        .with_context(|| format!("permissions of {}", to.display()))
}

fn put_text(text: &str, to: &Path) -> anyhow::Result<()> {
    let folder = to.parent().context("a file has a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    fs::write(to, text).with_context(|| format!("writing {}", to.display()))
}

/// Bytes of every part of an app, largest first, by path inside it.
pub fn sizes(app: &Path) -> anyhow::Result<Vec<(String, u64)>> {
    let mut sizes = Vec::new();
    for path in files::find(app, |_| true)? {
        let inside = path.strip_prefix(app).context("a file outside the app")?.display().to_string();
        sizes.push((inside, path.symlink_metadata().with_context(|| format!("reading {}", path.display()))?.len()));
    }
    sizes.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    Ok(sizes)
}

#[cfg(test)]
#[path = "bundle_tests.rs"]
mod tests;
