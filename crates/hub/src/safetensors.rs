//! The safetensors header: which tensors a file holds and where their bytes lie.
//!
//! Knows the container and checks it; must not know what a tensor means. A header is untrusted until [`Header::read`]
//! has accepted it: its length is capped, every tensor lies inside the file, none overlap, and each byte count is
//! what its dtype and shape make.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

/// Longest header accepted, in bytes. The largest published checkpoints stay below a tenth of it.
pub const N_HEADER_BYTES_MAX: u64 = 100_000_000;
/// Most dimensions accepted in one shape.
pub const N_DIMS_MAX: usize = 16;

/// Element type of a stored tensor, named as in the file.
#[allow(missing_docs, non_camel_case_types)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Dtype {
    BOOL,
    U8,
    I8,
    F8_E4M3,
    F8_E5M2,
    F8_E8M0,
    U16,
    I16,
    F16,
    BF16,
    U32,
    I32,
    F32,
    U64,
    I64,
    F64,
    C64,
}

impl Dtype {
    /// Bytes of one element.
    pub fn n_bytes(self) -> u64 {
        match self {
            Self::BOOL | Self::U8 | Self::I8 | Self::F8_E4M3 | Self::F8_E5M2 | Self::F8_E8M0 => 1,
            Self::U16 | Self::I16 | Self::F16 | Self::BF16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 | Self::C64 => 8,
        }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// One tensor of a file: `n_bytes` bytes at `offset` from the start of the file, row-major, little-endian.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorInfo {
    /// Element type.
    pub dtype: Dtype,
    /// Row-major shape; empty for a scalar.
    pub shape: Vec<usize>,
    /// First byte, counted from the start of the file.
    pub offset: u64,
    /// Length in bytes.
    pub n_bytes: u64,
}

impl TensorInfo {
    /// Number of elements.
    pub fn n_elements(&self) -> u64 {
        self.n_bytes / self.dtype.n_bytes()
    }
}

/// A validated header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Tensors by name.
    pub tensors: BTreeMap<String, TensorInfo>,
    /// The free-form `__metadata__` strings.
    pub metadata: BTreeMap<String, String>,
    /// Size of the whole file in bytes.
    pub file_n_bytes: u64,
}

/// Why a safetensors file was refused. Every message names the file.
#[derive(Debug, thiserror::Error)]
pub enum SafetensorsError {
    /// The file could not be opened or read.
    #[error("cannot read {path}: {source}")]
    Io {
        /// File in question.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The bytes do not form a valid file.
    #[error("{path} is not a usable safetensors file: {problem}. Download or convert it again.")]
    Malformed {
        /// File in question.
        path: PathBuf,
        /// What is wrong with it.
        problem: Problem,
    },
}

/// What is wrong with a header.
#[allow(missing_docs)]
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("it ends after {n_bytes} bytes, before the header length")]
    NoLength { n_bytes: u64 },
    #[error("its header claims {claimed} bytes, more than the {cap} allowed")]
    HeaderTooLong { claimed: u64, cap: u64 },
    #[error("its header claims {claimed} bytes, but the file has {n_bytes}")]
    HeaderCut { claimed: u64, n_bytes: u64 },
    #[error("its header is not valid JSON ({0})")]
    Json(String),
    #[error("tensor `{name}` appears twice")]
    Duplicate { name: String },
    #[error("tensor `{name}` has a shape of {n_dims} dimensions, more than {cap}")]
    TooManyDims { name: String, n_dims: usize, cap: usize },
    #[error("the size of tensor `{name}` overflows")]
    Overflow { name: String },
    #[error("tensor `{name}` needs {needed} bytes for its dtype and shape but spans {spanned}")]
    SizeMismatch { name: String, needed: u64, spanned: u64 },
    #[error("tensor `{name}` reaches {missing} bytes past the end of the file (it looks truncated)")]
    OutOfFile { name: String, missing: u64 },
    #[error("tensors `{first}` and `{second}` overlap")]
    Overlap { first: String, second: String },
}

/// A tensor's entry as the JSON spells it.
#[derive(Deserialize)]
struct Entry {
    dtype: Dtype,
    shape: Vec<u64>,
    data_offsets: [u64; 2],
}

/// The header object with its entries in file order, so that a repeated name is seen and not silently replaced.
#[derive(Default)]
struct Wire {
    metadata: BTreeMap<String, String>,
    entries: Vec<(String, Entry)>,
}

impl<'de> Deserialize<'de> for Wire {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WireVisitor;
        impl<'de> Visitor<'de> for WireVisitor {
            type Value = Wire;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of tensors")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Wire, A::Error> {
                let mut wire = Wire::default();
                while let Some(name) = map.next_key::<String>()? {
                    match name.as_str() {
                        "__metadata__" => wire.metadata = map.next_value::<Option<_>>()?.unwrap_or_default(),
                        _ => wire.entries.push((name, map.next_value()?)),
                    }
                }
                Ok(wire)
            }
        }
        deserializer.deserialize_map(WireVisitor)
    }
}

impl Header {
    /// Reads and validates the header of `path`. Reads no tensor bytes.
    pub fn read(path: &Path) -> Result<Self, SafetensorsError> {
        let io = |source| SafetensorsError::Io { path: path.to_owned(), source };
        let malformed = |problem| SafetensorsError::Malformed { path: path.to_owned(), problem };
        // Before opening: a pipe would block until somebody writes to it.
        let meta = fs::metadata(path).map_err(io)?;
        if !meta.is_file() {
            return Err(io(io::Error::new(io::ErrorKind::InvalidInput, "it is no plain file")));
        }
        let mut file = File::open(path).map_err(io)?;
        let file_n_bytes = meta.len();
        if file_n_bytes < 8 {
            return Err(malformed(Problem::NoLength { n_bytes: file_n_bytes }));
        }
        let mut length = [0; 8];
        file.read_exact(&mut length).map_err(io)?;
        let n_header = checked_length(u64::from_le_bytes(length), file_n_bytes).map_err(malformed)?;
        let mut json = vec![0; n_header];
        file.read_exact(&mut json).map_err(io)?;
        Self::parse(&json, file_n_bytes).map_err(malformed)
    }

    /// Validates the JSON part of a header (`json`, without the length before it) of a file of `file_n_bytes`.
    pub fn parse(json: &[u8], file_n_bytes: u64) -> Result<Self, Problem> {
        let wire: Wire = serde_json::from_slice(json).map_err(|error| Problem::Json(error.to_string()))?;
        let data_start = 8 + json.len() as u64;
        let mut tensors = BTreeMap::new();
        for (name, entry) in wire.entries {
            let info = checked_tensor(&name, entry, data_start, file_n_bytes)?;
            if tensors.contains_key(&name) {
                return Err(Problem::Duplicate { name });
            }
            tensors.insert(name, info);
        }
        check_overlap(&tensors)?;
        Ok(Self { tensors, metadata: wire.metadata, file_n_bytes })
    }
}

fn checked_length(claimed: u64, file_n_bytes: u64) -> Result<usize, Problem> {
    if claimed > N_HEADER_BYTES_MAX {
        return Err(Problem::HeaderTooLong { claimed, cap: N_HEADER_BYTES_MAX });
    }
    if claimed > file_n_bytes - 8 {
        return Err(Problem::HeaderCut { claimed, n_bytes: file_n_bytes });
    }
    Ok(claimed as usize)
}

fn checked_tensor(name: &str, entry: Entry, data_start: u64, file_n_bytes: u64) -> Result<TensorInfo, Problem> {
    let overflow = || Problem::Overflow { name: name.to_owned() };
    if entry.shape.len() > N_DIMS_MAX {
        return Err(Problem::TooManyDims { name: name.to_owned(), n_dims: entry.shape.len(), cap: N_DIMS_MAX });
    }
    let mut needed = entry.dtype.n_bytes();
    let mut shape = Vec::with_capacity(entry.shape.len());
    for n in entry.shape {
        needed = needed.checked_mul(n).ok_or_else(overflow)?;
        shape.push(usize::try_from(n).map_err(|_| overflow())?);
    }
    let [begin, end] = entry.data_offsets;
    let spanned = end.checked_sub(begin).ok_or_else(overflow)?;
    if spanned != needed {
        return Err(Problem::SizeMismatch { name: name.to_owned(), needed, spanned });
    }
    let last = data_start.checked_add(end).ok_or_else(overflow)?;
    if last > file_n_bytes {
        return Err(Problem::OutOfFile { name: name.to_owned(), missing: last - file_n_bytes });
    }
    Ok(TensorInfo { dtype: entry.dtype, shape, offset: data_start + begin, n_bytes: spanned })
}

fn check_overlap(tensors: &BTreeMap<String, TensorInfo>) -> Result<(), Problem> {
    let mut by_offset: Vec<_> = tensors.iter().filter(|(_, info)| info.n_bytes > 0).collect();
    by_offset.sort_unstable_by_key(|(_, info)| info.offset);
    for pair in by_offset.windows(2) {
        let ((first, a), (second, b)) = (pair[0], pair[1]);
        if a.offset + a.n_bytes > b.offset {
            return Err(Problem::Overlap { first: first.clone(), second: second.clone() });
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "safetensors_tests.rs"]
mod tests;
