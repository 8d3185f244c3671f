//! The bytes of one file on their way: written to `<hash>.incomplete`, hashed as they come, renamed when they are right.

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};

use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY, SHA256};

use super::error::DownloadError;
use super::listing::{Hash, HubFile};
use super::store::free_bytes;

const N_CHUNK_BYTES: usize = 1 << 20;

/// A file of which some bytes may be there. It stays on disk when dropped, so that a later download goes on with it.
pub struct Partial {
    name: String,
    path: PathBuf,
    file: File,
    expected: Hash,
    n_bytes_expected: u64,
    n_bytes: u64,
    digest: Context,
    is_resumed: bool,
}

impl Partial {
    /// Opens `path`, and hashes what an earlier download left there.
    pub fn open(path: &Path, expected: &HubFile) -> Result<Self, DownloadError> {
        let io = |action| DownloadError::io(action, path);
        let file = File::options().read(true).write(true).create(true).truncate(false).open(path);
        let mut partial = Self {
            name: expected.name.clone(),
            path: path.to_owned(),
            file: file.map_err(io("create"))?,
            expected: expected.hash.clone(),
            n_bytes_expected: expected.n_bytes,
            n_bytes: 0,
            digest: new_digest(&expected.hash, expected.n_bytes),
            is_resumed: false,
        };
        let n_bytes = partial.file.metadata().map_err(io("look at"))?.len();
        if n_bytes > expected.n_bytes {
            partial.restart()?;
        } else if n_bytes > 0 {
            partial.take_over().map_err(io("read"))?;
        }
        Ok(partial)
    }

    /// Bytes that are there.
    pub fn n_bytes(&self) -> u64 {
        self.n_bytes
    }

    /// Whether some of the bytes come from an earlier download.
    pub fn is_resumed(&self) -> bool {
        self.is_resumed
    }

    /// Whether all bytes are there and their hash is the promised one.
    pub fn is_right(&self) -> bool {
        let found = self.digest.clone().finish();
        let hex: String = found.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        self.n_bytes == self.n_bytes_expected && hex == self.expected.hex()
    }

    /// Drops all bytes.
    pub fn restart(&mut self) -> Result<(), DownloadError> {
        let empty = self.file.set_len(0).and_then(|()| self.file.rewind());
        empty.map_err(DownloadError::io("empty", &self.path))?;
        self.digest = new_digest(&self.expected, self.n_bytes_expected);
        (self.n_bytes, self.is_resumed) = (0, false);
        Ok(())
    }

    /// Adds bytes, as many as are still wanted.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), DownloadError> {
        let n_wanted = usize::try_from(self.n_bytes_expected - self.n_bytes).unwrap_or(usize::MAX);
        let bytes = &bytes[..bytes.len().min(n_wanted)];
        self.file.write_all(bytes).map_err(|error| self.unwritten(error))?;
        self.digest.update(bytes);
        self.n_bytes += bytes.len() as u64;
        Ok(())
    }

    /// Removes the file, whose hash is wrong, and says so.
    pub fn discard(&self) -> DownloadError {
        match fs::remove_file(&self.path) {
            Ok(()) => DownloadError::Corrupt { name: self.name.clone() },
            Err(error) => DownloadError::io("remove", &self.path)(error),
        }
    }

    /// Makes the file appear as `dst`.
    pub fn finish(self, dst: &Path) -> Result<(), DownloadError> {
        self.file.sync_all().map_err(|error| self.unwritten(error))?;
        fs::rename(&self.path, dst).map_err(DownloadError::io("rename", &self.path))
    }

    /// Hashes the bytes that are there.
    fn take_over(&mut self) -> std::io::Result<()> {
        let mut chunk = vec![0; N_CHUNK_BYTES];
        // Another program may still add to the file: no more than what is wanted is read.
        let mut rest = (&self.file).take(self.n_bytes_expected);
        loop {
            match rest.read(&mut chunk)? {
                0 => break,
                n => {
                    self.digest.update(&chunk[..n]);
                    self.n_bytes += n as u64;
                }
            }
        }
        self.is_resumed = true;
        Ok(())
    }

    fn unwritten(&self, error: std::io::Error) -> DownloadError {
        unwritten(&self.path, self.n_bytes_expected - self.n_bytes, error)
    }
}

/// Why the `n_left` bytes of a file that are still to come could not be written.
pub fn unwritten(path: &Path, n_left: u64, error: std::io::Error) -> DownloadError {
    let dir = path.parent().unwrap_or(Path::new("."));
    match (error.kind(), free_bytes(dir)) {
        (ErrorKind::StorageFull | ErrorKind::QuotaExceeded, Ok(free)) => {
            DownloadError::DiskFull { dir: dir.to_owned(), needed: n_left, free }
        }
        _ => DownloadError::io("write", path)(error),
    }
}

/// Git hashes a header before the bytes. SHA-1 finds damage; it does not keep out who can forge it.
fn new_digest(hash: &Hash, n_bytes: u64) -> Context {
    match hash {
        Hash::Sha256(_) => Context::new(&SHA256),
        Hash::Git(_) => {
            let mut digest = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
            digest.update(format!("blob {n_bytes}\0").as_bytes());
            digest
        }
    }
}

#[cfg(test)]
#[path = "blob_tests.rs"]
mod tests;
