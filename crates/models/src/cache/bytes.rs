//! Blocks and snapshots as bytes: a magic number, the length of a JSON header, the header, the raw elements of its tensors.
//! What comes in is compared with what the model would write, before anything is allocated for it.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::Layout;
use super::run::{Format, Piece, Run};
use super::snapshot::{LayerState, Snapshot};
use super::template::{Template, Tensor};
use crate::mx::{self, Array, Dtype};

const MAGIC: &[u8; 8] = b"TOKBARKV";

/// Of this format.
const VERSION: u32 = 1;

/// Most bytes of a header.
const N_HEADER_MAX: usize = 4 << 20;

/// Whose state it is.
pub struct Owner<'a> {
    /// [`tokbar_engine::ModelInfo::fingerprint`].
    pub fingerprint: &'a str,
    /// Longest sequence.
    pub n_context: usize,
    /// How layers remember.
    pub layout: &'a Layout,
    /// What their arrays look like.
    pub template: &'a Template,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Header {
    version: u32,
    fingerprint: String,
    content: Content,
    /// In the order of the elements.
    tensors: Vec<TensorHeader>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Content {
    /// Consecutive positions.
    Block(Vec<PieceHeader>),
    /// State after so many positions.
    Snapshot { n_positions: usize },
}

/// Tensors follow by layer; packed ones are words, scales, biases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct PieceHeader {
    start: usize,
    stop: usize,
    /// `None` = not packed.
    bits: Option<i32>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct TensorHeader {
    dtype: String,
    shape: Vec<i32>,
}

/// Why bytes are no state of this model, or MLX's reason.
#[derive(Debug, thiserror::Error)]
pub enum BytesError {
    /// The bytes do not fit.
    #[error("{0}")]
    Foreign(String),
    /// MLX refused.
    #[error(transparent)]
    Mlx(#[from] mx::Error),
}

impl Owner<'_> {
    /// The bytes of a block. Waits for the device.
    pub fn export_block(&self, pieces: &[Piece]) -> Result<Vec<u8>, BytesError> {
        let mut arrays = Vec::new();
        let mut headers = Vec::new();
        for piece in pieces {
            if piece.run().is_lost() {
                return Err(BytesError::Foreign("the block was lost with a failed step".into()));
            }
            for layer_idx in 0..piece.run().n_layers() {
                arrays.extend(piece.run().parts(layer_idx, piece.range())?);
            }
            headers.push(PieceHeader::new(piece.range(), piece.run().format()));
        }
        self.write(Content::Block(headers), &arrays)
    }

    /// The bytes of a snapshot. Waits for the device.
    pub fn export_snapshot(&self, snapshot: &Snapshot) -> Result<Vec<u8>, BytesError> {
        let arrays: Vec<_> = snapshot.arrays().cloned().collect();
        self.write(Content::Snapshot { n_positions: snapshot.n_positions }, &arrays)
    }

    /// A block in runs of its own.
    pub fn import_block(&self, bytes: &[u8]) -> Result<Vec<Piece>, BytesError> {
        let (header, data) = self.read(bytes)?;
        let Content::Block(pieces) = &header.content else { return Err(foreign("it is a snapshot, not a block")) };
        let mut end = pieces.first().map_or(0, |piece| piece.start);
        let mut layers = Vec::new();
        if pieces.is_empty() {
            return Err(foreign("the block has no positions"));
        }
        for piece in pieces {
            let PieceHeader { start, stop, .. } = *piece;
            let (format, limit) = self.layout.format(start);
            if start != end || start >= stop || stop > self.n_context || stop > limit {
                return Err(foreign(&format!("positions {start}..{stop} cannot be")));
            }
            if *piece != PieceHeader::new(&(start..stop), format) {
                return Err(foreign(&format!("positions {start}..{stop} are not stored as {format:?}")));
            }
            end = stop;
            layers.push((start..stop, format, self.template.run(format, stop - start)));
        }
        let expected: Vec<&Tensor> = layers.iter().flat_map(|(.., layers)| layers.iter().flatten()).collect();
        let mut arrays = arrays(&header, data, &expected)?.into_iter();
        let mut imported = Vec::new();
        for (range, format, layers) in layers {
            let layers = layers.iter().map(|tensors| arrays.by_ref().take(tensors.len()).collect()).collect();
            imported.push(Piece::new(Run::of(format, range.clone(), layers), range));
        }
        Ok(imported)
    }

    /// A snapshot.
    pub fn import_snapshot(&self, bytes: &[u8]) -> Result<Snapshot, BytesError> {
        let (header, data) = self.read(bytes)?;
        let Content::Snapshot { n_positions } = header.content else {
            return Err(foreign("it is a block, not a snapshot"));
        };
        if n_positions == 0 || n_positions > self.n_context {
            return Err(foreign(&format!("a snapshot of {n_positions} positions cannot be")));
        }
        let layers = self.template.snapshot(n_positions);
        let expected: Vec<&Tensor> = layers.iter().flat_map(|(tensors, _)| tensors).collect();
        let mut arrays = arrays(&header, data, &expected)?.into_iter();
        let layers = layers.iter().map(|(tensors, start)| LayerState {
            arrays: arrays.by_ref().take(tensors.len()).collect(),
            start: *start,
        });
        Ok(Snapshot { n_positions, layers: layers.collect() })
    }

    fn write(&self, content: Content, arrays: &[Array]) -> Result<Vec<u8>, BytesError> {
        let fingerprint = self.fingerprint.to_owned();
        let tensors = arrays.iter().map(|array| TensorHeader::from(&Tensor::from(array))).collect();
        let header = Header { version: VERSION, fingerprint, content, tensors };
        let header = serde_json::to_vec(&header).map_err(|error| foreign(&error.to_string()))?;
        let n_data: usize = arrays.iter().map(Array::nbytes).sum();
        let mut bytes = Vec::with_capacity(MAGIC.len() + 4 + header.len() + n_data);
        bytes.extend(MAGIC);
        bytes.extend((header.len() as u32).to_le_bytes());
        bytes.extend(header);
        mx::to_bytes(arrays, &mut bytes)?;
        Ok(bytes)
    }

    fn read<'b>(&self, bytes: &'b [u8]) -> Result<(Header, &'b [u8]), BytesError> {
        let cut = || foreign("the bytes end in the header");
        let (magic, rest) = bytes.split_at_checked(MAGIC.len()).ok_or_else(cut)?;
        let (n_header, rest) = rest.split_first_chunk::<4>().ok_or_else(cut)?;
        let n_header = u32::from_le_bytes(*n_header) as usize;
        if magic != MAGIC || n_header > N_HEADER_MAX {
            return Err(foreign("the bytes do not start as exported state does"));
        }
        let (header, data) = rest.split_at_checked(n_header).ok_or_else(cut)?;
        let header: Header =
            serde_json::from_slice(header).map_err(|error| foreign(&format!("the header cannot be read: {error}")))?;
        if header.version != VERSION {
            return Err(foreign(&format!("it has version {}, expected {VERSION}", header.version)));
        }
        if header.fingerprint != self.fingerprint {
            return Err(foreign("it was exported from another model, or with other settings"));
        }
        Ok((header, data))
    }
}

/// The arrays of `data`, if they are as expected.
fn arrays(header: &Header, data: &[u8], expected: &[&Tensor]) -> Result<Vec<Array>, BytesError> {
    let is_alike = header.tensors.len() == expected.len()
        && header.tensors.iter().zip(expected).all(|(tensor, expected)| *tensor == TensorHeader::from(*expected));
    if !is_alike {
        return Err(foreign("its tensors are not those of this model"));
    }
    let n_bytes: usize = expected.iter().map(|tensor| tensor.n_bytes()).sum();
    if data.len() != n_bytes {
        return Err(foreign(&format!("it holds {} bytes of {n_bytes}", data.len())));
    }
    let mut rest = data;
    let mut arrays = Vec::with_capacity(expected.len());
    for tensor in expected {
        let (bytes, after) = rest.split_at(tensor.n_bytes());
        arrays.push(mx::from_bytes(bytes, &tensor.shape, tensor.dtype)?);
        rest = after;
    }
    Ok(arrays)
}

impl PieceHeader {
    fn new(range: &Range<usize>, format: Format) -> Self {
        let bits = match format {
            Format::Dense => None,
            Format::Packed { bits } => Some(bits),
        };
        Self { start: range.start, stop: range.end, bits }
    }
}

impl From<&Tensor> for TensorHeader {
    fn from(tensor: &Tensor) -> Self {
        let dtype = match tensor.dtype {
            Dtype::Float32 => "F32",
            Dtype::Float16 => "F16",
            Dtype::Bfloat16 => "BF16",
            Dtype::Uint32 => "U32",
            Dtype::Int32 => "I32",
            Dtype::Uint8 => "U8",
            _ => "?",
        };
        Self { dtype: dtype.to_owned(), shape: tensor.shape.clone() }
    }
}

fn foreign(detail: &str) -> BytesError {
    BytesError::Foreign(detail.to_owned())
}

#[cfg(test)]
#[path = "bytes_tests.rs"]
mod tests;
