//! Writing safetensors files piece by piece, so that a checkpoint of any size passes through a small buffer.
//!
//! Room for the header is kept free at the front and filled in last: a tensor's dtype may change while it is written.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::safetensors::Dtype;

#[cfg(target_endian = "big")]
compile_error!("tensor bytes are written as they lie in memory, which must be little-endian");

/// Name, element type and row-major shape of a tensor to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Name in the file.
    pub name: String,
    /// Element type.
    pub dtype: Dtype,
    /// Row-major shape.
    pub shape: Vec<usize>,
}

impl Slot {
    /// Size in bytes.
    pub fn n_bytes(&self) -> u64 {
        self.shape.iter().map(|&n| n as u64).product::<u64>() * self.dtype.n_bytes()
    }

    /// Longest header entry of this slot, whatever its dtype and offsets become.
    fn n_header_bytes_max(&self) -> usize {
        json!(self.name).to_string().len() + 22 * (self.shape.len() + 2) + 80
    }
}

/// Where a slot's bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region(usize);

/// One safetensors file being written.
#[derive(Debug)]
pub struct ShardWriter {
    file: File,
    path: PathBuf,
    n_header: u64,
    end: u64,
    slots: Vec<(Slot, u64)>,
}

impl ShardWriter {
    /// Creates `path` with room for the header of `slots`; only those may be added.
    pub fn create(path: &Path, slots: &[Slot]) -> io::Result<Self> {
        let n_entries: usize = slots.iter().map(Slot::n_header_bytes_max).sum();
        // The data that follows the header then starts at a multiple of eight.
        let n_header = (n_entries + 64).next_multiple_of(8) as u64;
        let file = File::create_new(path)?;
        Ok(Self { file, path: path.to_owned(), n_header, end: 0, slots: Vec::with_capacity(slots.len()) })
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Places `slot` after everything added so far.
    pub fn add(&mut self, slot: Slot) -> Region {
        let begin = self.end;
        self.end += slot.n_bytes();
        self.slots.push((slot, begin));
        Region(self.slots.len() - 1)
    }

    /// Makes the last added slot one of `dtype`. What was written to it must be written again.
    pub fn retype_last(&mut self, dtype: Dtype) {
        let (slot, begin) = self.slots.last_mut().expect("a slot was added");
        slot.dtype = dtype;
        self.end = *begin + slot.n_bytes();
    }

    /// Writes `bytes` at byte `at` of `region`.
    pub fn write(&self, region: Region, at: u64, bytes: &[u8]) -> io::Result<()> {
        let (slot, begin) = &self.slots[region.0];
        assert!(at + bytes.len() as u64 <= slot.n_bytes(), "more bytes than `{}` holds", slot.name);
        self.file.write_all_at(bytes, 8 + self.n_header + begin + at)
    }

    /// Writes the header and waits for the disk. Returns the path and the names written.
    pub fn finish(self) -> io::Result<(PathBuf, Vec<String>)> {
        let mut header = Map::new();
        header.insert("__metadata__".into(), json!({"format": "mlx"}));
        for (slot, begin) in &self.slots {
            let offsets = [*begin, begin + slot.n_bytes()];
            header.insert(
                slot.name.clone(),
                json!({"dtype": slot.dtype.to_string(), "shape": slot.shape, "data_offsets": offsets}),
            );
        }
        let mut json = Value::Object(header).to_string().into_bytes();
        assert!(json.len() as u64 <= self.n_header, "the header outgrew its room");
        json.resize(self.n_header as usize, b' ');
        self.file.write_all_at(&self.n_header.to_le_bytes(), 0)?;
        self.file.write_all_at(&json, 8)?;
        self.file.set_len(8 + self.n_header + self.end)?;
        self.file.sync_all()?;
        Ok((self.path, self.slots.into_iter().map(|(slot, _)| slot.name).collect()))
    }
}

#[cfg(test)]
#[path = "shards_tests.rs"]
mod tests;
