//! Where tensors lie in their files, for reading parts of them when they are needed.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use tokbar_hub::safetensors::{Dtype as Stored, TensorInfo};

use crate::mx::{self, Array, Dtype, Error, Result};
use crate::{LoadError, LoadResult};

/// An open file of weights.
pub struct Source {
    file: File,
    path: PathBuf,
}

/// Where a tensor lies.
#[derive(Clone)]
pub struct Place {
    source: Rc<Source>,
    offset: u64,
    shape: Vec<i32>,
    dtype: Dtype,
    n_bytes: u64,
}

impl Source {
    /// Opens a file.
    pub fn open(path: &Path) -> LoadResult<Rc<Self>> {
        let file = File::open(path).map_err(|source| LoadError::Read { path: path.to_owned(), source })?;
        Ok(Rc::new(Self { file, path: path.to_owned() }))
    }

    /// Where it has a tensor; `None` for types that no weights have.
    pub fn place(self: &Rc<Self>, info: &TensorInfo) -> Option<Place> {
        let dtype = match info.dtype {
            Stored::F32 => Dtype::Float32,
            Stored::F16 => Dtype::Float16,
            Stored::BF16 => Dtype::Bfloat16,
            Stored::U32 => Dtype::Uint32,
            Stored::I32 => Dtype::Int32,
            Stored::U8 | Stored::I8 | Stored::F8_E4M3 | Stored::F8_E8M0 => Dtype::Uint8,
            _ => return None,
        };
        let shape = info.shape.iter().map(|n| i32::try_from(*n).ok()).collect::<Option<Vec<_>>>()?;
        Some(Place { source: Rc::clone(self), offset: info.offset, shape, dtype, n_bytes: info.n_bytes })
    }
}

impl Place {
    /// Entry `at` along the first axis, which goes: `[E, ..]` to `[..]`.
    pub fn entry(&self, at: usize) -> Result<Array> {
        let (n, rest) = self.shape.split_first().map_or((1, &[][..]), |(n, rest)| (*n as usize, rest));
        if at >= n {
            return Err(Error { what: format!("entry {at} of {n} in {}", self.source.path.display()) });
        }
        let n_bytes = self.n_bytes / n as u64;
        self.read(self.offset + at as u64 * n_bytes, n_bytes, rest)
    }

    /// All of it.
    pub fn whole(&self) -> Result<Array> {
        self.read(self.offset, self.n_bytes, &self.shape)
    }

    fn read(&self, offset: u64, n_bytes: u64, shape: &[i32]) -> Result<Array> {
        let mut bytes = vec![0; n_bytes as usize];
        let read = self.source.file.read_exact_at(&mut bytes, offset);
        read.map_err(|error| Error { what: format!("cannot read {}: {error}", self.source.path.display()) })?;
        mx::from_bytes(&bytes, shape, self.dtype)
    }
}
