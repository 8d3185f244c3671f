//! Finds the records of a file by reading their headers only, whatever else the file holds.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::record::{ALIGNMENT, Flaw, Header, MAGIC, n_needed};

/// Read at once while looking for the next record after damage.
const N_SEARCH: usize = 1 << 20;

/// What was skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flaws {
    /// Stretches without a sound record, and payloads that do not match their checksum.
    pub n_corrupt: u64,
    /// Records that end before their length.
    pub n_truncated: u64,
    /// Records of another model, of another version, or beyond a limit.
    pub n_foreign: u64,
}

impl Flaws {
    /// All of them.
    pub fn n_all(&self) -> u64 {
        self.n_corrupt + self.n_truncated + self.n_foreign
    }

    pub(super) fn add(&mut self, other: Self) {
        self.n_corrupt += other.n_corrupt;
        self.n_truncated += other.n_truncated;
        self.n_foreign += other.n_foreign;
    }

    pub(super) fn count(&mut self, flaw: Flaw) {
        match flaw {
            Flaw::NoRecord | Flaw::Corrupt => self.n_corrupt += 1,
            Flaw::Truncated => self.n_truncated += 1,
            Flaw::Version => self.n_foreign += 1,
        }
    }
}

/// Calls `each` with the offset and header of every record, in order, and says what was skipped.
///
/// # Errors
/// When the file cannot be read.
pub(super) fn scan(file: &File, mut each: impl FnMut(u64, Header)) -> io::Result<Flaws> {
    let n_file = file.metadata()?.len();
    let mut flaws = Flaws::default();
    let mut offset = 0;
    while offset < n_file {
        match header_at(file, offset)? {
            Ok(header) if offset + header.n_header() + header.n_payload > n_file => {
                flaws.count(Flaw::Truncated);
                break;
            }
            Ok(header) => {
                let at = offset;
                offset += header.n_record();
                each(at, header);
            }
            Err(flaw) => {
                flaws.count(flaw);
                offset = search(file, offset + ALIGNMENT, n_file)?;
            }
        }
    }
    Ok(flaws)
}

/// The header at an offset.
pub(super) fn header_at(file: &File, offset: u64) -> io::Result<Result<Header, Flaw>> {
    let mut bytes = vec![0; ALIGNMENT as usize];
    let n_read = read_up_to(file, &mut bytes, offset)?;
    bytes.truncate(n_read);
    let n_header = match n_needed(&bytes) {
        Ok(n_header) => n_header,
        Err(flaw) => return Ok(Err(flaw)),
    };
    if n_header > bytes.len() {
        bytes.resize(n_header, 0);
        let n_read = read_up_to(file, &mut bytes, offset)?;
        bytes.truncate(n_read);
    }
    Ok(Header::from_bytes(&bytes))
}

/// The first offset from `offset` on that may start a record, or the end.
fn search(file: &File, mut offset: u64, n_file: u64) -> io::Result<u64> {
    let mut bytes = vec![0; N_SEARCH];
    while offset < n_file {
        let n_read = read_up_to(file, &mut bytes, offset)?;
        let is_start = |chunk: &[u8]| chunk.starts_with(&MAGIC);
        if let Some(at) = bytes[..n_read].chunks(ALIGNMENT as usize).position(is_start) {
            return Ok(offset + at as u64 * ALIGNMENT);
        }
        offset += N_SEARCH as u64;
    }
    Ok(n_file)
}

fn read_up_to(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut n_read = 0;
    while n_read < bytes.len() {
        match file.read_at(&mut bytes[n_read..], offset + n_read as u64) {
            Ok(0) => break,
            Ok(n) => n_read += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(n_read)
}
