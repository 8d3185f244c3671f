//! The weights of one tensor, from blocks of the file to bytes of the checkpoint, a few rows at a time.

use half::slice::{HalfBitsSliceExt, HalfFloatSliceExt};
use half::{bf16, f16};

use super::affine::{Packed, REPACK_GROUP_LEN, ScaleOverflow};
use super::dequantize::dequantize;
use super::error::ImportError;
use super::plan::{Entry, Store};
use super::reader::Gguf;
use crate::safetensors::Dtype;
use crate::shards::{Region, ShardWriter};

/// Weights converted at a time, about; whole rows, and whole heads where rows are reordered.
const N_WEIGHTS_AT_ONCE: usize = 1 << 20;
/// The smallest magnitude that rounds to infinity in f16.
const F16_OVERFLOW: f32 = 65520.0;

/// Hears how many bytes of the source are dealt with; an error ends the conversion.
pub type Done<'a> = dyn FnMut(u64) -> Result<(), ImportError> + 'a;

/// Buffers that one tensor after another reuses.
pub struct Converter<'a> {
    gguf: &'a Gguf,
    blocks: Vec<u8>,
    ordered: Vec<u8>,
    weights: Vec<f32>,
    packed: Packed,
    narrow: Vec<u16>,
}

/// The rows of a tensor as the converter walks them. A vector is one row, or one row a weight where it is reordered.
#[derive(Clone, Copy)]
struct Rows {
    n: usize,
    len: usize,
    n_bytes: usize,
    at_once: usize,
}

impl Rows {
    fn of(entry: &Entry<'_>) -> Result<Self, ImportError> {
        let tensor = entry.tensor;
        let (n, len, n_bytes) = match (tensor.shape.len(), entry.unpair) {
            (1, Some(_)) if !tensor.kind.is_float() => return Err(problem(entry, "is a quantized vector")),
            (1, Some(_)) => (tensor.row_len(), 1, tensor.kind.block_n_bytes()),
            _ => (tensor.n_rows(), tensor.row_len(), tensor.row_n_bytes()),
        };
        let at_once = (N_WEIGHTS_AT_ONCE / len).max(1).next_multiple_of(entry.unpair.unwrap_or(1)).min(n);
        Ok(Self { n, len, n_bytes, at_once })
    }
}

impl<'a> Converter<'a> {
    /// A converter of tensors of `gguf`.
    pub fn new(gguf: &'a Gguf) -> Self {
        let (blocks, ordered, weights, narrow) = Default::default();
        Self { gguf, blocks, ordered, weights, narrow, packed: Packed::default() }
    }

    /// Writes `entry` into `regions` of `shard`, in the order of [`Entry::slots`]. Floats must be the last slot added:
    /// it becomes f32 if a weight does not fit f16. `done` hears how many bytes of the source tensor are dealt with.
    pub fn write(
        &mut self,
        entry: &Entry<'_>,
        shard: &mut ShardWriter,
        regions: &[Region],
        done: &mut Done<'_>,
    ) -> Result<(), ImportError> {
        let rows = Rows::of(entry)?;
        let mut store = entry.store;
        let mut row_idx = 0;
        while row_idx < rows.n {
            let n = rows.at_once.min(rows.n - row_idx);
            self.load(entry, rows, row_idx, n)?;
            let weight_idx = row_idx * rows.len;
            match store {
                Store::Float(dtype) => {
                    if self.unpack(entry)? >= F16_OVERFLOW && dtype == Dtype::F16 {
                        shard.retype_last(Dtype::F32);
                        (store, row_idx) = (Store::Float(Dtype::F32), 0);
                        continue;
                    }
                    self.write_floats(dtype, shard, (regions[0], weight_idx))?;
                }
                Store::Repack { bits } => {
                    self.repack(entry)?;
                    self.write_packed((bits, REPACK_GROUP_LEN), shard, regions, weight_idx)?;
                }
                Store::Quantize { bits, group_len } => {
                    self.quantize(entry, bits, group_len)?;
                    self.write_packed((bits, group_len), shard, regions, weight_idx)?;
                }
            }
            row_idx += n;
            done(row_idx as u64 * rows.n_bytes as u64)?;
        }
        Ok(())
    }

    /// Reads `n` rows into `blocks`, each head's pairs of rows sorted into halves where the entry asks for it.
    fn load(&mut self, entry: &Entry<'_>, rows: Rows, row_idx: usize, n: usize) -> Result<(), ImportError> {
        self.blocks.resize(n * rows.n_bytes, 0);
        self.gguf.read_at(entry.tensor, row_idx as u64 * rows.n_bytes as u64, &mut self.blocks)?;
        let Some(head) = entry.unpair else { return Ok(()) };
        self.ordered.clear();
        for rows_of_head in self.blocks.chunks_exact(head * rows.n_bytes) {
            let row = |idx: usize| &rows_of_head[idx * rows.n_bytes..][..rows.n_bytes];
            for idx in (0..head).step_by(2).chain((1..head).step_by(2)) {
                self.ordered.extend_from_slice(row(idx));
            }
        }
        std::mem::swap(&mut self.blocks, &mut self.ordered);
        Ok(())
    }

    /// Unpacks `blocks` into `weights` and returns the largest magnitude.
    fn unpack(&mut self, entry: &Entry<'_>) -> Result<f32, ImportError> {
        let kind = entry.tensor.kind;
        self.weights.resize(self.blocks.len() / kind.block_n_bytes() * kind.block_len(), 0.0);
        dequantize(kind, &self.blocks, &mut self.weights);
        if entry.add != 0.0 {
            self.weights.iter_mut().for_each(|weight| *weight += entry.add);
        }
        // Bit patterns of magnitudes order as the magnitudes do, with infinity and NaN above all numbers.
        let largest = self.weights.iter().fold(0, |largest, weight| (weight.to_bits() & 0x7fff_ffff).max(largest));
        let largest = f32::from_bits(largest);
        if largest.is_finite() { Ok(largest) } else { Err(problem(entry, "holds weights that are not finite numbers")) }
    }

    fn write_floats(
        &mut self,
        dtype: Dtype,
        shard: &ShardWriter,
        (region, weight_idx): (Region, usize),
    ) -> Result<(), ImportError> {
        self.narrow.resize(self.weights.len(), 0);
        let bytes: &[u8] = match dtype {
            Dtype::F16 => {
                self.narrow.reinterpret_cast_mut::<f16>().convert_from_f32_slice(&self.weights);
                bytemuck::cast_slice(&self.narrow)
            }
            Dtype::BF16 => {
                self.narrow.reinterpret_cast_mut::<bf16>().convert_from_f32_slice(&self.weights);
                bytemuck::cast_slice(&self.narrow)
            }
            _ => bytemuck::cast_slice(&self.weights),
        };
        shard.write(region, weight_idx as u64 * dtype.n_bytes(), bytes).map_err(ImportError::io("write", shard.path()))
    }

    fn repack(&mut self, entry: &Entry<'_>) -> Result<(), ImportError> {
        self.packed.clear();
        self.packed.repack(entry.tensor.kind, &self.blocks).map_err(|ScaleOverflow| problem(entry, SCALE_PROBLEM))
    }

    fn quantize(&mut self, entry: &Entry<'_>, bits: u32, group_len: usize) -> Result<(), ImportError> {
        self.unpack(entry)?;
        self.packed.clear();
        self.packed.quantize(&self.weights, group_len, bits).map_err(|ScaleOverflow| problem(entry, SCALE_PROBLEM))
    }

    fn write_packed(
        &self,
        (bits, group_len): (u32, usize),
        shard: &ShardWriter,
        regions: &[Region],
        weight_idx: usize,
    ) -> Result<(), ImportError> {
        let Packed { values, scales, biases } = &self.packed;
        let halves = |halves: &[f16]| bytemuck::cast_slice::<u16, u8>(halves.reinterpret_cast()).to_vec();
        let group_at = (weight_idx / group_len) as u64 * Dtype::F16.n_bytes();
        shard
            .write(regions[0], weight_idx as u64 * u64::from(bits) / 8, values)
            .and_then(|()| shard.write(regions[1], group_at, &halves(scales)))
            .and_then(|()| shard.write(regions[2], group_at, &halves(biases)))
            .map_err(ImportError::io("write", shard.path()))
    }
}

const SCALE_PROBLEM: &str = "has scales that a 16-bit float cannot hold";

fn problem(entry: &Entry<'_>, problem: &str) -> ImportError {
    ImportError::Tensor { tensor: entry.tensor.name.clone(), problem: problem.to_owned() }
}
