//! Which files may be in an app, and where.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::Context;

use crate::bundle;

/// Without these an app does not start, or must not be given away.
const NEEDED: &[&str] = &[
    bundle::APP_PROGRAM,
    bundle::CLI_PROGRAM,
    bundle::METALLIB,
    "Contents/Frameworks/libmlx.dylib",
    "Contents/Info.plist",
    "Contents/PkgInfo",
    "Contents/Resources/LICENSE-APACHE",
    "Contents/Resources/THIRD-PARTY.txt",
    "Contents/Resources/Tokbar.icns",
];

/// Folders whose files are code, each signed by itself.
const CODE: &[&str] = &["Contents/MacOS/", "Contents/Helpers/", "Contents/Frameworks/"];
/// More than any version of the app has.
const MAX_FILES: usize = 1000;

pub fn is_place_of_code(inside: &str) -> bool {
    CODE.iter().any(|folder| inside.starts_with(folder))
}

/// Paths of all files inside the app, with `/` between folders.
pub fn files(app: &Path, problems: &mut Vec<String>) -> anyhow::Result<Vec<String>> {
    let mut files = Vec::new();
    walk(app, "", &mut files, problems)?;
    files.sort_unstable();
    for needed in NEEDED.iter().filter(|needed| !files.iter().any(|file| file == *needed)) {
        problems.push(format!("{needed}: is not there"));
    }
    Ok(files)
}

fn walk(app: &Path, inside: &str, files: &mut Vec<String>, problems: &mut Vec<String>) -> anyhow::Result<()> {
    let folder = app.join(inside);
    for entry in fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))? {
        let entry = entry?;
        let name = entry.file_name().into_string().ok().context("a name that is not UTF-8")?;
        let path = if inside.is_empty() { name.clone() } else { format!("{inside}/{name}") };
        let metadata = entry.path().symlink_metadata().with_context(|| format!("reading {path}"))?;
        if name.starts_with("._") || name == ".DS_Store" {
            problems.push(format!("{path}: a leaving of the Finder or of tar, which breaks the signature"));
        } else if metadata.is_symlink() {
            problems.push(format!("{path}: a link; the app is made of files only"));
        } else if metadata.is_dir() {
            walk(app, &path, files, problems)?;
        } else {
            if metadata.permissions().mode() & 0o022 != 0 {
                problems.push(format!("{path}: others may write to it"));
            }
            if is_place_of_code(&path) && metadata.permissions().mode() & 0o111 != 0o111 {
                problems.push(format!("{path}: is not executable"));
            }
            files.push(path);
        }
        anyhow::ensure!(files.len() <= MAX_FILES, "more than {MAX_FILES} files");
    }
    Ok(())
}
