//! A large file on its way, in pieces that several connections bring: bytes go to their place in one file, and a journal
//! beside it says how much of each piece is there. Both outlive the process; the hash over all has the last word.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::blob::unwritten;
use super::error::DownloadError;
use super::listing::HubFile;

/// Starts a journal; the last byte is its version.
const MAGIC: &[u8; 8] = b"tokbarp\x01";
/// Magic, bytes of the file, bytes of a piece.
const N_HEADER_BYTES: u64 = 24;
/// More pieces than this are no journal of ours.
const N_PIECES_MAX: u64 = 1 << 20;

/// The pieces of one file.
pub struct Pieces {
    path: PathBuf,
    journal_path: PathBuf,
    file: File,
    journal: File,
    n_bytes: u64,
    n_piece: u64,
    state: Mutex<State>,
}

struct State {
    /// Bytes that are there, from the start of each piece.
    done: Vec<u64>,
    /// Which pieces a connection works on.
    is_claimed: Vec<bool>,
}

/// A piece that one connection brings. Given back when dropped.
pub struct Claim<'a> {
    pieces: &'a Pieces,
    idx: usize,
    at: u64,
    end: u64,
}

impl Pieces {
    /// Goes on with what `partial`, the file's name while it is written, and the journal beside it hold; a file that came in
    /// one stream so far counts from its start.
    pub fn open(partial: &Path, file: &HubFile, n_piece: u64) -> Result<Self, DownloadError> {
        let (path, journal_path) =
            (partial.with_extension("pieces.incomplete"), partial.with_extension("journal.incomplete"));
        let n_pieces = file.n_bytes.div_ceil(n_piece);
        assert!(n_pieces <= N_PIECES_MAX, "pieces of {n_piece} bytes are too small");
        let known = read_journal(&journal_path, file.n_bytes, n_piece).filter(|_| path.is_file());
        let done = match known {
            Some(done) => done,
            None => adopt(partial, &path, file.n_bytes, n_piece)?,
        };
        let open = |path: &Path| {
            let opened = File::options().read(true).write(true).create(true).truncate(false).open(path);
            opened.map_err(DownloadError::io("create", path))
        };
        let (data, journal) = (open(&path)?, open(&journal_path)?);
        let mut header = MAGIC.to_vec();
        header.extend(file.n_bytes.to_le_bytes());
        header.extend(n_piece.to_le_bytes());
        header.extend(done.iter().flat_map(|n| n.to_le_bytes()));
        let written = journal.set_len(0).and_then(|()| journal.write_all_at(&header, 0));
        written.map_err(DownloadError::io("write", &journal_path))?;
        let is_claimed = vec![false; done.len()];
        let state = Mutex::new(State { done, is_claimed });
        Ok(Self { path, journal_path, file: data, journal, n_bytes: file.n_bytes, n_piece, state })
    }

    /// Bytes that are there.
    pub fn n_bytes(&self) -> u64 {
        self.state().done.iter().sum()
    }

    /// Whether all bytes are there.
    pub fn is_whole(&self) -> bool {
        self.n_bytes() == self.n_bytes
    }

    /// The first piece that lacks bytes and that nobody brings.
    pub fn claim(&self) -> Option<Claim<'_>> {
        let mut state = self.state();
        let n_lacking = |idx: usize| self.end(idx) - self.start(idx) - state.done[idx];
        let idx = (0..state.done.len()).find(|&idx| !state.is_claimed[idx] && n_lacking(idx) > 0)?;
        state.is_claimed[idx] = true;
        let at = self.start(idx) + state.done[idx];
        Some(Claim { pieces: self, idx, at, end: self.end(idx) })
    }

    /// The whole file under the name of one that came in one stream, ready to be checked. The journal goes first: without
    /// it nothing counts.
    pub fn into_partial(self, partial: &Path) -> Result<(), DownloadError> {
        fs::remove_file(&self.journal_path).map_err(DownloadError::io("remove", &self.journal_path))?;
        fs::rename(&self.path, partial).map_err(DownloadError::io("rename", &self.path))
    }

    /// Forgets everything: the server sends the file in one stream only.
    pub fn discard(self) -> Result<(), DownloadError> {
        for path in [&self.journal_path, &self.path] {
            fs::remove_file(path).map_err(DownloadError::io("remove", path))?;
        }
        Ok(())
    }

    fn start(&self, idx: usize) -> u64 {
        idx as u64 * self.n_piece
    }

    fn end(&self, idx: usize) -> u64 {
        (self.start(idx) + self.n_piece).min(self.n_bytes)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Claim<'_> {
    /// The next byte that is wanted.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// One past the last byte of the piece.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Whether the piece is whole.
    pub fn is_done(&self) -> bool {
        self.at == self.end
    }

    /// Puts bytes in their place, as many as are still wanted; first the bytes, then the journal's word for them.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), DownloadError> {
        let n_wanted = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        let bytes = &bytes[..bytes.len().min(n_wanted)];
        let Pieces { path, file, journal, journal_path, n_bytes, .. } = self.pieces;
        file.write_all_at(bytes, self.at).map_err(|error| unwritten(path, n_bytes - self.at, error))?;
        self.at += bytes.len() as u64;
        let n_done = self.at - self.pieces.start(self.idx);
        let place = N_HEADER_BYTES + 8 * self.idx as u64;
        journal.write_all_at(&n_done.to_le_bytes(), place).map_err(DownloadError::io("write", journal_path))?;
        self.pieces.state().done[self.idx] = n_done;
        Ok(())
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.pieces.state().is_claimed[self.idx] = false;
    }
}

/// What there is of a file that has pieces, whole or not: its bytes on disk count towards the space that is needed.
pub fn n_bytes_held(partial: &Path, n_bytes: u64) -> Option<u64> {
    let journal = partial.with_extension("journal.incomplete");
    let mut header = [0; N_HEADER_BYTES as usize];
    let file = File::open(&journal).ok()?;
    file.read_exact_at(&mut header, 0).ok()?;
    let n_piece = u64::from_le_bytes(header[16..24].try_into().ok()?);
    Some(read_journal(&journal, n_bytes, n_piece)?.iter().sum())
}

/// How much of each piece is there; `None` when the file is no journal for these sizes.
fn read_journal(path: &Path, n_bytes: u64, n_piece: u64) -> Option<Vec<u64>> {
    let n_pieces = n_bytes.div_ceil(n_piece.max(1));
    let meta = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
    if n_pieces > N_PIECES_MAX || meta.len() != N_HEADER_BYTES + 8 * n_pieces {
        return None;
    }
    let bytes = fs::read(path).ok()?;
    let number = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    if bytes.get(..8)? != MAGIC || number(8)? != n_bytes || number(16)? != n_piece {
        return None;
    }
    let done = (0..n_pieces as usize).map(|idx| number(N_HEADER_BYTES as usize + 8 * idx));
    let length = |idx: u64| ((idx + 1) * n_piece).min(n_bytes) - idx * n_piece;
    let is_sound = |(idx, n): (usize, &u64)| *n <= length(idx as u64);
    done.collect::<Option<Vec<_>>>().filter(|done| done.iter().enumerate().all(is_sound))
}

/// Takes over what came in one stream, as the first pieces; or starts with nothing.
fn adopt(partial: &Path, path: &Path, n_bytes: u64, n_piece: u64) -> Result<Vec<u64>, DownloadError> {
    let n_there = match fs::rename(partial, path) {
        Ok(()) => fs::metadata(path).map_err(DownloadError::io("look at", path))?.len(),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            absent(fs::remove_file(path)).map_err(DownloadError::io("remove", path))?;
            0
        }
        Err(error) => return Err(DownloadError::io("rename", partial)(error)),
    };
    // More than all is nothing that can be trusted.
    let n_there = if n_there > n_bytes { 0 } else { n_there };
    let starts = (0..n_bytes.div_ceil(n_piece)).map(|idx| idx * n_piece);
    Ok(starts.map(|start| n_there.saturating_sub(start).min(n_piece).min(n_bytes - start)).collect())
}

fn absent(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[path = "pieces_tests.rs"]
mod tests;
