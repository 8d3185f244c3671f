//! A bounds-checked GGUF reader (versions 2 and 3, little-endian).
//!
//! Knows the container and trusts nothing in it: every count and length is checked against a cap and the bytes that
//! remain before memory is asked for, and every tensor lies inside the file. Must not know models.
//! Source: the GGUF specification of the ggml library.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::error::{ImportError, Malformed};
use super::kind::Kind;
use super::metadata::{Metadata, Value};

const N_TENSORS_MAX: u64 = 1 << 17;
const N_KEYS_MAX: u64 = 1 << 16;
const N_VALUES_MAX: u64 = 1 << 23;
const N_STRING_BYTES_MAX: u64 = 1 << 24;
const N_TEXT_BYTES_MAX: u64 = 1 << 28;
const N_NAME_BYTES_MAX: u64 = 1 << 10;
const N_DIMS_MAX: u32 = 4;
const DEPTH_MAX: usize = 4;
const ALIGNMENT_MAX: u64 = 1 << 16;

/// One tensor of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Name as stored, such as `blk.0.attn_q.weight`.
    pub name: String,
    /// How the weights are stored.
    pub kind: Kind,
    /// Row-major shape (the file stores it reversed); the last dimension is what a block runs along.
    pub shape: Vec<usize>,
    /// First byte, counted from the start of the file.
    pub offset: u64,
    /// Length in bytes.
    pub n_bytes: u64,
}

impl Tensor {
    /// Weights in a row.
    pub fn row_len(&self) -> usize {
        self.shape.last().copied().unwrap_or(1)
    }

    /// Rows: the product of all dimensions but the last.
    pub fn n_rows(&self) -> usize {
        self.shape.iter().rev().skip(1).product()
    }

    /// Bytes of one row.
    pub fn row_n_bytes(&self) -> usize {
        self.row_len() / self.kind.block_len() * self.kind.block_n_bytes()
    }
}

/// An open, validated file. Tensor bytes are read on demand.
#[derive(Debug)]
pub struct Gguf {
    path: PathBuf,
    file: File,
    /// Key-value part.
    pub metadata: Metadata,
    /// Tensors by name.
    pub tensors: BTreeMap<String, Tensor>,
}

impl Gguf {
    /// Opens `path` and validates everything but the weights themselves.
    pub fn open(path: &Path) -> Result<Self, ImportError> {
        // Before opening: a pipe would block until somebody writes to it.
        let meta = fs::metadata(path).map_err(ImportError::io("open", path))?;
        if !meta.is_file() {
            return Err(ImportError::Malformed { path: path.to_owned(), problem: Malformed::Magic });
        }
        let file = File::open(path).map_err(ImportError::io("open", path))?;
        let mut header = HeaderReader::new(BufReader::with_capacity(1 << 16, &file), meta.len());
        let (metadata, tensors) = header.read().map_err(|error| error.at(path))?;
        Ok(Self { path: path.to_owned(), file, metadata, tensors })
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Fills `bytes` from byte `at` of `tensor`.
    pub fn read_at(&self, tensor: &Tensor, at: u64, bytes: &mut [u8]) -> Result<(), ImportError> {
        assert!(at + bytes.len() as u64 <= tensor.n_bytes, "bytes outside the tensor");
        self.file.read_exact_at(bytes, tensor.offset + at).map_err(ImportError::io("read", &self.path))
    }
}

/// A failure before the path is known to the reader.
enum ReadError {
    Malformed(Malformed),
    Io(std::io::Error),
    Kind { tensor: String, kind: String },
}

impl From<Malformed> for ReadError {
    fn from(problem: Malformed) -> Self {
        Self::Malformed(problem)
    }
}

impl ReadError {
    fn at(self, path: &Path) -> ImportError {
        match self {
            Self::Malformed(problem) => ImportError::Malformed { path: path.to_owned(), problem },
            Self::Io(source) => ImportError::io("read", path)(source),
            Self::Kind { tensor, kind } => ImportError::UnsupportedKind { tensor, kind },
        }
    }
}

/// A tensor's entry before its place in the file is known.
struct Entry {
    name: String,
    shape: Vec<u64>,
    kind: Kind,
    offset: u64,
}

/// Reads a header front to back and keeps what is left of the file and of the caps.
struct HeaderReader<R> {
    input: R,
    n_file: u64,
    n_read: u64,
    n_values: u64,
    n_text_bytes: u64,
}

impl<R: Read> HeaderReader<R> {
    fn new(input: R, n_file: u64) -> Self {
        Self { input, n_file, n_read: 0, n_values: 0, n_text_bytes: 0 }
    }

    fn read(&mut self) -> Result<(Metadata, BTreeMap<String, Tensor>), ReadError> {
        self.magic()?;
        let n_tensors = self.counted("tensors", N_TENSORS_MAX)?;
        let n_keys = self.counted("metadata keys", N_KEYS_MAX)?;
        let mut values = BTreeMap::new();
        for _ in 0..n_keys {
            let key = self.string("a metadata key", N_NAME_BYTES_MAX)?;
            let number = self.u32("a value type")?;
            let value = self.value(&key, number, 0)?;
            if values.contains_key(&key) {
                return Err(Malformed::DuplicateKey { key }.into());
            }
            values.insert(key, value);
        }
        let metadata = Metadata(values);
        let mut entries = Vec::new();
        for _ in 0..n_tensors {
            entries.push(self.entry()?);
        }
        let tensors = self.placed(entries, alignment(&metadata)?)?;
        Ok((metadata, tensors))
    }

    fn magic(&mut self) -> Result<(), ReadError> {
        if self.n_file < 4 || self.bytes::<4>("the header")? != *b"GGUF" {
            return Err(Malformed::Magic.into());
        }
        match self.u32("the header")? {
            2 | 3 => Ok(()),
            version if version != 0 && version & 0xffff == 0 => Err(Malformed::BigEndian.into()),
            version => Err(Malformed::Version { version }.into()),
        }
    }

    fn entry(&mut self) -> Result<Entry, ReadError> {
        let name = self.string("a tensor name", N_NAME_BYTES_MAX)?;
        let n_dims = self.u32("a tensor's shape")?;
        if n_dims > N_DIMS_MAX {
            let (claimed, cap) = (n_dims.into(), N_DIMS_MAX.into());
            return Err(Malformed::TooMany { what: "dimensions of a tensor", claimed, cap }.into());
        }
        let mut shape = Vec::new();
        for _ in 0..n_dims {
            shape.push(self.u64("a tensor's shape")?);
        }
        shape.reverse();
        let number = self.u32("a tensor's type")?;
        let offset = self.u64("a tensor's offset")?;
        match Kind::from_number(number) {
            Ok(kind) => Ok(Entry { name, shape, kind, offset }),
            Err(kind) => Err(ReadError::Kind { tensor: name, kind }),
        }
    }

    /// Checks sizes, alignment, overlap and that every tensor ends inside the file.
    fn placed(&self, entries: Vec<Entry>, alignment: u64) -> Result<BTreeMap<String, Tensor>, ReadError> {
        // Without tensors (a vocabulary-only file) the padding after the header may be missing.
        let data_start = self.n_read.next_multiple_of(alignment);
        let mut tensors = Vec::with_capacity(entries.len());
        let mut names = HashSet::with_capacity(entries.len());
        for entry in entries {
            if !names.insert(entry.name.clone()) {
                return Err(Malformed::DuplicateTensor { tensor: entry.name }.into());
            }
            tensors.push(place(entry, data_start, alignment, self.n_file)?);
        }
        tensors.sort_by_key(|tensor| tensor.offset);
        for pair in tensors.windows(2) {
            if pair[0].offset + pair[0].n_bytes > pair[1].offset {
                let (first, second) = (pair[0].name.clone(), pair[1].name.clone());
                return Err(Malformed::Overlap { first, second }.into());
            }
        }
        Ok(tensors.into_iter().map(|tensor| (tensor.name.clone(), tensor)).collect())
    }

    fn value(&mut self, key: &str, number: u32, depth: usize) -> Result<Value, ReadError> {
        const WHAT: &str = "a metadata value";
        self.n_values += 1;
        if self.n_values > N_VALUES_MAX {
            let (claimed, cap) = (self.n_values, N_VALUES_MAX);
            return Err(Malformed::TooMany { what: "metadata values", claimed, cap }.into());
        }
        Ok(match number {
            0 => Value::Unsigned(self.bytes::<1>(WHAT)?[0].into()),
            1 => Value::Signed(i8::from_le_bytes(self.bytes(WHAT)?).into()),
            2 => Value::Unsigned(u16::from_le_bytes(self.bytes(WHAT)?).into()),
            3 => Value::Signed(i16::from_le_bytes(self.bytes(WHAT)?).into()),
            4 => Value::Unsigned(self.u32(WHAT)?.into()),
            5 => Value::Signed(i32::from_le_bytes(self.bytes(WHAT)?).into()),
            6 => Value::Float(f32::from_le_bytes(self.bytes(WHAT)?).into()),
            7 => Value::Bool(self.bytes::<1>(WHAT)?[0] != 0),
            8 => Value::Text(self.string("a metadata value", N_STRING_BYTES_MAX)?),
            9 if depth < DEPTH_MAX => self.array(key, depth)?,
            10 => Value::Unsigned(self.u64(WHAT)?),
            11 => Value::Signed(i64::from_le_bytes(self.bytes(WHAT)?)),
            12 => Value::Float(f64::from_le_bytes(self.bytes(WHAT)?)),
            _ => return Err(Malformed::ValueType { key: key.to_owned(), number }.into()),
        })
    }

    fn array(&mut self, key: &str, depth: usize) -> Result<Value, ReadError> {
        let number = self.u32("an array")?;
        let n = self.counted("array elements", N_VALUES_MAX)?;
        // A count above what the file can still hold fails here, not after the allocation.
        if n > self.n_file - self.n_read {
            return Err(Malformed::Truncated { what: "an array" }.into());
        }
        let mut values = Vec::new();
        for _ in 0..n {
            values.push(self.value(key, number, depth + 1)?);
        }
        Ok(Value::Array(values))
    }

    fn counted(&mut self, what: &'static str, cap: u64) -> Result<u64, ReadError> {
        let claimed = self.u64(what)?;
        if claimed > cap {
            return Err(Malformed::TooMany { what, claimed, cap }.into());
        }
        Ok(claimed)
    }

    fn string(&mut self, what: &'static str, cap: u64) -> Result<String, ReadError> {
        let n = self.u64(what)?;
        if n > self.n_file - self.n_read {
            return Err(Malformed::Truncated { what }.into());
        }
        self.n_text_bytes += n;
        if n > cap || self.n_text_bytes > N_TEXT_BYTES_MAX {
            let (claimed, cap) = if n > cap { (n, cap) } else { (self.n_text_bytes, N_TEXT_BYTES_MAX) };
            return Err(Malformed::TooMany { what: "bytes of text", claimed, cap }.into());
        }
        let mut text = vec![0; n as usize];
        self.fill(&mut text, what)?;
        String::from_utf8(text).map_err(|_| Malformed::NotUtf8.into())
    }

    fn u32(&mut self, what: &'static str) -> Result<u32, ReadError> {
        Ok(u32::from_le_bytes(self.bytes(what)?))
    }

    fn u64(&mut self, what: &'static str) -> Result<u64, ReadError> {
        Ok(u64::from_le_bytes(self.bytes(what)?))
    }

    fn bytes<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], ReadError> {
        let mut bytes = [0; N];
        self.fill(&mut bytes, what)?;
        Ok(bytes)
    }

    fn fill(&mut self, bytes: &mut [u8], what: &'static str) -> Result<(), ReadError> {
        if bytes.len() as u64 > self.n_file - self.n_read {
            return Err(Malformed::Truncated { what }.into());
        }
        self.n_read += bytes.len() as u64;
        self.input.read_exact(bytes).map_err(ReadError::Io)
    }
}

fn alignment(metadata: &Metadata) -> Result<u64, ReadError> {
    match metadata.0.get("general.alignment") {
        None => Ok(32),
        Some(Value::Unsigned(n)) if n.is_power_of_two() && *n <= ALIGNMENT_MAX => Ok(*n),
        Some(Value::Unsigned(n)) => Err(Malformed::Alignment { alignment: *n }.into()),
        Some(_) => Err(Malformed::Alignment { alignment: 0 }.into()),
    }
}

fn place(entry: Entry, data_start: u64, alignment: u64, n_file: u64) -> Result<Tensor, Malformed> {
    let Entry { name, shape, kind, offset } = entry;
    let Some((shape, n_bytes)) = sized(&shape, kind) else { return Err(Malformed::TensorSize { tensor: name }) };
    if offset % alignment != 0 {
        return Err(Malformed::Unaligned { tensor: name });
    }
    let end = data_start.checked_add(offset).and_then(|start| start.checked_add(n_bytes));
    match end {
        Some(end) if end <= n_file => Ok(Tensor { name, kind, shape, offset: data_start + offset, n_bytes }),
        Some(end) => Err(Malformed::OutOfFile { tensor: name, missing: end - n_file }),
        None => Err(Malformed::TensorSize { tensor: name }),
    }
}

/// The shape as `usize` and the byte count, or `None` for an empty, overflowing or ragged tensor.
fn sized(shape: &[u64], kind: Kind) -> Option<(Vec<usize>, u64)> {
    let (block_len, block_n_bytes) = (kind.block_len() as u64, kind.block_n_bytes() as u64);
    let row_len = *shape.last()?;
    if row_len % block_len != 0 {
        return None;
    }
    let n_weights = shape.iter().try_fold(1u64, |n, &dim| n.checked_mul(dim))?;
    let n_bytes = (n_weights / block_len).checked_mul(block_n_bytes)?;
    let shape = shape.iter().map(|&dim| usize::try_from(dim).ok()).collect::<Option<_>>()?;
    // Four bytes a weight is the widest that a consumer unpacks to.
    n_weights.checked_mul(4).filter(|&n| n > 0)?;
    Some((shape, n_bytes))
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
