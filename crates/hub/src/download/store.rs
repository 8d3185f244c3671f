//! The Hugging Face cache: `models--owner--name/{blobs,snapshots/<commit>,refs}`, shared with Python's `huggingface_hub`.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::error::DownloadError;
use super::listing::HubFile;
use super::pieces::n_bytes_held;
use crate::id::HubId;

/// Links, refs, and the file system's own needs.
const N_SPARE_BYTES: u64 = 64 << 20;

/// Where one commit of one repository goes.
pub struct Store {
    repository: PathBuf,
    locks: PathBuf,
    commit: String,
}

/// Where the bytes of one file go.
pub struct Blob {
    /// The whole file.
    pub path: PathBuf,
    n_bytes: u64,
    lock: PathBuf,
}

impl Store {
    /// Makes the folders that a download needs; a reader of the cache still sees no model in them.
    pub fn new(cache: &Path, id: &HubId<'_>, commit: &str) -> Result<Self, DownloadError> {
        let name = id.cache_folder();
        let (repository, locks) = (cache.join(&name), cache.join(".locks").join(&name));
        for dir in [&repository.join("blobs"), &locks] {
            fs::create_dir_all(dir).map_err(DownloadError::io("create", dir))?;
        }
        Ok(Self { repository, locks, commit: commit.to_owned() })
    }

    /// Place of the bytes of `file`.
    pub fn blob(&self, file: &HubFile) -> Blob {
        let hash = file.hash.hex();
        let path = self.repository.join("blobs").join(hash);
        Blob { path, n_bytes: file.n_bytes, lock: self.locks.join(format!("{hash}.lock")) }
    }

    /// Holds the free space of the disk against what `files` still lack.
    pub fn check_disk(&self, files: &[HubFile]) -> Result<(), DownloadError> {
        let n_missing: u64 = files.iter().map(|file| self.blob(file).n_missing()).sum();
        let free = free_bytes(&self.repository).map_err(DownloadError::io("measure", &self.repository))?;
        let needed = n_missing.saturating_add(N_SPARE_BYTES);
        if n_missing > 0 && free < needed {
            return Err(DownloadError::DiskFull { dir: self.repository.clone(), needed, free });
        }
        Ok(())
    }

    /// Makes the model appear, all of whose blobs are there. Returns the folder of the snapshot.
    pub fn publish(&self, files: &[HubFile], revision: &str) -> Result<PathBuf, DownloadError> {
        let snapshot = self.repository.join("snapshots").join(&self.commit);
        let refs = self.repository.join("refs");
        for dir in [&snapshot, &refs] {
            fs::create_dir_all(dir).map_err(DownloadError::io("create", dir))?;
        }
        // A folder counts as a model by its config.json, so that one comes last.
        let is_config = |file: &&HubFile| file.name.rsplit('/').next() == Some("config.json");
        let (config, others): (Vec<_>, Vec<_>) = files.iter().partition(is_config);
        for file in others.into_iter().chain(config) {
            let link = snapshot.join(&file.name);
            place_link(&snapshot, file).map_err(DownloadError::io("link", &link))?;
        }
        if revision != self.commit {
            let path = refs.join(revision);
            place_ref(&refs, revision, &self.commit).map_err(DownloadError::io("write", &path))?;
        }
        Ok(snapshot)
    }
}

impl Blob {
    /// Whether all bytes are there. A blob gets its name only after its hash was checked, so the size is enough.
    pub fn is_there(&self) -> bool {
        n_bytes_of(&self.path) == Some(self.n_bytes)
    }

    /// The file while it is written.
    pub fn incomplete(&self) -> PathBuf {
        self.path.with_extension("incomplete")
    }

    /// Keeps other programs, Python's included, from writing the same blob until the file is dropped.
    pub fn lock(&self, name: &str) -> Result<File, DownloadError> {
        let file = File::options().write(true).create(true).truncate(false).open(&self.lock);
        let file = file.map_err(DownloadError::io("create", &self.lock))?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => Err(DownloadError::Busy { name: name.to_owned() }),
            Err(TryLockError::Error(error)) => Err(DownloadError::io("lock", &self.lock)(error)),
        }
    }

    fn n_missing(&self) -> u64 {
        if self.is_there() {
            return 0;
        }
        let held = n_bytes_of(&self.incomplete()).or_else(|| n_bytes_held(&self.incomplete(), self.n_bytes));
        self.n_bytes.saturating_sub(held.unwrap_or(0))
    }
}

/// Whether this user may write to `dir`.
pub fn is_writable(dir: &Path) -> bool {
    rustix::fs::access(dir, rustix::fs::Access::WRITE_OK).is_ok()
}

/// Free bytes, for this user, on the disk of `dir`.
pub fn free_bytes(dir: &Path) -> io::Result<u64> {
    let stat = rustix::fs::statvfs(dir)?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

fn n_bytes_of(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().filter(|meta| meta.is_file()).map(|meta| meta.len())
}

fn place_link(snapshot: &Path, file: &HubFile) -> io::Result<()> {
    let n_folders = file.name.matches('/').count();
    let target = Path::new(&"../".repeat(2 + n_folders)).join("blobs").join(file.hash.hex());
    let link = snapshot.join(&file.name);
    if let Some(folder) = link.parent() {
        fs::create_dir_all(folder)?;
    }
    if fs::read_link(&link).is_ok_and(|now| now == target) {
        return Ok(());
    }
    let new = snapshot.join(format!(".{}.incomplete", file.hash.hex()));
    absent(fs::remove_file(&new))?;
    symlink(&target, &new)?;
    fs::rename(&new, &link)
}

fn place_ref(refs: &Path, revision: &str, commit: &str) -> io::Result<()> {
    let new = refs.join(format!(".{revision}.incomplete"));
    fs::write(&new, commit)?;
    File::open(&new)?.sync_all()?;
    fs::rename(&new, refs.join(revision))
}

fn absent(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
