//! Where the app is, as far as that decides whether it can be replaced there.

use std::path::{Path, PathBuf};

/// Where the running app is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a folder that this user may write to.
    Installed,
    /// In a folder that this user may not write to.
    ReadOnly,
    /// Run by macOS from a hidden copy, because it was never moved since its download.
    Translocated,
    /// On a disk image.
    DiskImage,
    /// Not in an app at all.
    Loose,
}

/// What an update replaces: the Mac's app that a program is part of, or the AppImage that it was started from.
#[must_use]
pub fn app_of(program: &Path, image: Option<&Path>) -> Option<PathBuf> {
    if let Some(image) = image {
        return Some(image.to_owned());
    }
    let contents = program.parent()?.parent()?;
    let app = contents.parent()?;
    (contents.ends_with("Contents") && app.extension().is_some_and(|ending| ending == "app")).then(|| app.to_owned())
}

/// Where an app is. `can_write` says whether this user may write to a file, or create files in a folder.
pub fn place_of(app: Option<&Path>, can_write: impl Fn(&Path) -> bool) -> Place {
    let Some(app) = app else { return Place::Loose };
    if app.components().any(|part| part.as_os_str() == "AppTranslocation") {
        return Place::Translocated;
    }
    // The new app goes beside the old one before it takes its place: both have to be writable.
    let is_writable = app.parent().is_some_and(&can_write) && can_write(app);
    match is_writable {
        true => Place::Installed,
        false if app.starts_with("/Volumes") => Place::DiskImage,
        false => Place::ReadOnly,
    }
}

#[cfg(test)]
#[path = "place_tests.rs"]
mod tests;
