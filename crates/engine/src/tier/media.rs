//! What the tier asks of a disk, so that tests can give it a bad one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::time::SystemTime;

/// Where segments are written.
pub(crate) trait Media: Send {
    /// A new, empty file.
    ///
    /// # Errors
    /// When it is there already, or the folder takes no files.
    fn create(&self, path: &Path) -> io::Result<Box<dyn SegmentFile>>;

    /// Bytes that may still be written, and bytes of the whole disk.
    ///
    /// # Errors
    /// When the folder is gone.
    fn space(&self, dir: &Path) -> io::Result<Space>;
}

/// A file that only grows.
pub(crate) trait SegmentFile: Send {
    /// Appends all of it, or fails with some of it written.
    ///
    /// # Errors
    /// When the disk is full or broken.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Returns when what was appended would survive a loss of power.
    ///
    /// # Errors
    /// When the disk is broken.
    fn sync(&mut self) -> io::Result<()>;
}

/// Room on a disk, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Space {
    pub n_free: u64,
    pub n_total: u64,
}

/// The real disk.
pub(crate) struct RealMedia;

impl Media for RealMedia {
    fn create(&self, path: &Path) -> io::Result<Box<dyn SegmentFile>> {
        let file = OpenOptions::new().create_new(true).append(true).open(path)?;
        sync_dir(path.parent().unwrap_or(Path::new(".")))?;
        Ok(Box::new(file))
    }

    fn space(&self, dir: &Path) -> io::Result<Space> {
        let stat = rustix::fs::statvfs(dir)?;
        Ok(Space { n_free: stat.f_bavail * stat.f_frsize, n_total: stat.f_blocks * stat.f_frsize })
    }
}

impl SegmentFile for File {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }

    // On macOS the standard library asks for a full flush of the drive's own cache, which plain fsync would not.
    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}

/// Makes names in a folder survive a loss of power.
pub(super) fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// Remembers when a segment was last of use, as its time of modification.
pub(super) fn set_used(path: &Path, used: SystemTime) -> io::Result<()> {
    OpenOptions::new().append(true).open(path)?.set_modified(used)
}

/// When a segment was last of use.
pub(super) fn used(metadata: &fs::Metadata) -> SystemTime {
    metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH)
}
