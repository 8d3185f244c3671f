//! A folder that appears whole or not at all: written beside its destination, then renamed over it.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::error::ImportError;

/// The file that marks a folder as made by an import.
pub const MARKER: &str = "tokbar.json";

/// What may be replaced at the destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// Only a folder that an earlier import made, or an empty one.
    #[default]
    ReplaceOurs,
    /// Any model folder: one with config.json.
    Replace,
}

/// A folder being written. Dropping it before [`Staging::publish`] removes every trace.
#[derive(Debug)]
pub struct Staging {
    dst: PathBuf,
    parent: PathBuf,
    dir: PathBuf,
    /// Where what is replaced waits until the new folder is there.
    replaced: PathBuf,
    existing: Existing,
    lock: PathBuf,
    /// Held, not read: the system frees the lock when the process ends in whatever way.
    _locked: File,
}

impl Staging {
    /// Starts a folder that will become `dst` and take about `n_bytes`. Leftovers of an interrupted import go first.
    pub fn begin(dst: &Path, existing: Existing, n_bytes: u64) -> Result<Self, ImportError> {
        let name = dst.file_name().ok_or_else(|| ImportError::NotAFolder { path: dst.to_owned() })?;
        check_existing(dst, existing)?;
        let parent = dst.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(parent).map_err(ImportError::io("create", parent))?;
        let sibling = |suffix: &str| {
            let mut sibling = std::ffi::OsString::from(".");
            sibling.push(name);
            sibling.push(suffix);
            parent.join(sibling)
        };
        let (dir, replaced, lock) = (sibling(".import"), sibling(".replaced"), sibling(".import.lock"));
        let locked = locked(&lock, dst)?;
        let (dst, parent) = (dst.to_owned(), parent.to_owned());
        // Whatever fails from here on, the drop cleans up.
        let staging = Self { dst, parent, dir, replaced, existing, lock, _locked: locked };
        staging.clear_leftovers()?;
        check_disk(&staging.parent, &staging.dst, n_bytes)?;
        fs::create_dir(&staging.dir).map_err(ImportError::io("create", &staging.dir))?;
        Ok(staging)
    }

    /// What an import killed while it published had moved aside comes back; the rest of an interrupted import goes.
    fn clear_leftovers(&self) -> Result<(), ImportError> {
        if self.replaced.exists() && !self.dst.exists() {
            fs::rename(&self.replaced, &self.dst).map_err(ImportError::io("restore", &self.dst))?;
            check_existing(&self.dst, self.existing)?;
        }
        remove_tree(&self.dir)?;
        remove_tree(&self.replaced)
    }

    /// Where to write.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Writes a whole file and waits for the disk.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), ImportError> {
        let path = self.dir.join(name);
        let write = || {
            let mut file = File::create_new(&path)?;
            file.write_all(bytes)?;
            file.sync_all()
        };
        write().map_err(ImportError::io("write", &path))
    }

    /// Makes the folder appear at its destination.
    pub fn publish(self) -> Result<(), ImportError> {
        check_existing(&self.dst, self.existing)?;
        let swap = || {
            sync_dir(&self.dir)?;
            let old = &self.replaced;
            if self.dst.exists() {
                fs::rename(&self.dst, old)?;
            }
            if let Err(error) = fs::rename(&self.dir, &self.dst) {
                if old.exists() {
                    fs::rename(old, &self.dst)?;
                }
                return Err(error);
            }
            sync_dir(&self.parent)?;
            if old.exists() { fs::remove_dir_all(old) } else { Ok(()) }
        };
        swap().map_err(ImportError::io("replace", &self.dst))
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if let Err(error) = remove_tree(&self.dir) {
            tracing::warn!(%error, "an unfinished import could not be removed");
        }
        if let Err(error) = fs::remove_file(&self.lock) {
            tracing::warn!(%error, path = %self.lock.display(), "a lock file could not be removed");
        }
    }
}

fn check_existing(dst: &Path, existing: Existing) -> Result<(), ImportError> {
    let path = dst.to_owned();
    match fs::symlink_metadata(dst) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(ImportError::io("look at", dst)(error)),
        Ok(meta) if !meta.is_dir() => Err(ImportError::NotAFolder { path }),
        Ok(_) if dst.join(MARKER).is_file() => Ok(()),
        Ok(_) if fs::read_dir(dst).map_err(ImportError::io("look into", dst))?.next().is_none() => Ok(()),
        Ok(_) if existing == Existing::ReplaceOurs => Err(ImportError::NotOurs { path }),
        Ok(_) if dst.join("config.json").is_file() => Ok(()),
        Ok(_) => Err(ImportError::NotAModel { path }),
    }
}

/// Opens and locks `lock`. A holder that has just finished may remove the file in between, hence the second look.
fn locked(lock: &Path, dst: &Path) -> Result<File, ImportError> {
    loop {
        let file = File::options().write(true).create(true).truncate(false).open(lock);
        let file = file.map_err(ImportError::io("create", lock))?;
        match file.try_lock() {
            Ok(()) if is_same(&file, lock) => return Ok(file),
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(ImportError::Busy { path: dst.to_owned() }),
            Err(TryLockError::Error(error)) => return Err(ImportError::io("lock", lock)(error)),
        }
    }
}

fn is_same(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let inode = |meta: fs::Metadata| (meta.dev(), meta.ino());
    matches!((file.metadata().map(inode), fs::metadata(path).map(inode)), (Ok(a), Ok(b)) if a == b)
}

fn check_disk(parent: &Path, dst: &Path, n_bytes: u64) -> Result<(), ImportError> {
    let stat = rustix::fs::statvfs(parent).map_err(|error| ImportError::io("measure", parent)(error.into()))?;
    let free = stat.f_bavail.saturating_mul(stat.f_frsize);
    // Headers, tokenizer, and the file system's own needs.
    let needed = n_bytes.saturating_add(n_bytes / 64).saturating_add(64 << 20);
    if free < needed {
        return Err(ImportError::DiskFull { path: dst.to_owned(), needed, free });
    }
    Ok(())
}

fn remove_tree(dir: &Path) -> Result<(), ImportError> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(ImportError::io("remove", dir)(error)),
        _ => Ok(()),
    }
}

fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}
