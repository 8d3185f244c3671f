//! What becomes of each tensor: its name and form in the checkpoint, and the file that it goes into.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::affine::{GROUP_LEN, REPACK_GROUP_LEN, repack_bits};
use super::architecture::{Architecture, Norms, OUTER, Presence, RopeRows, Row};
use super::config::Sizes;
use super::error::ImportError;
use super::kind::Kind;
use super::reader::{Gguf, Tensor};
use crate::safetensors::Dtype;
use crate::shards::Slot;

/// How the weights of a tensor are stored in the checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// The same affine groups, rearranged without loss.
    Repack {
        /// Bits of one value.
        bits: u32,
    },
    /// Affine groups computed anew.
    Quantize {
        /// Bits of one value.
        bits: u32,
        /// Weights in a group.
        group_len: usize,
    },
    /// Floats of this type; f16 widens to f32 when a weight does not fit.
    Float(Dtype),
}

impl Store {
    /// Bits and group length, for affine groups.
    pub fn groups(self) -> Option<(u32, usize)> {
        match self {
            Self::Repack { bits } => Some((bits, REPACK_GROUP_LEN)),
            Self::Quantize { bits, group_len } => Some((bits, group_len)),
            Self::Float(_) => None,
        }
    }
}

/// One tensor of the import.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// Where it comes from.
    pub tensor: &'a Tensor,
    /// Its name in the checkpoint, such as `model.layers.0.self_attn.q_proj.weight`.
    pub name: String,
    /// How it is stored.
    pub store: Store,
    /// Rows to reorder at a time (a head), or `None` to keep their order.
    pub unpair: Option<usize>,
    /// What to add to every weight.
    pub add: f32,
}

impl Entry<'_> {
    /// The tensors that this entry makes: weights alone, or packed values, scales and biases.
    pub fn slots(&self) -> Vec<Slot> {
        let shape = &self.tensor.shape;
        let Some((bits, group_len)) = self.store.groups() else {
            let Store::Float(dtype) = self.store else { unreachable!("a store without groups is a float") };
            return vec![Slot { name: self.name.clone(), dtype, shape: shape.clone() }];
        };
        let module = self.module();
        let with_last = |n: usize| [&shape[..shape.len() - 1], &[n]].concat();
        let row_len = self.tensor.row_len();
        let part = |part: &str, dtype, n| Slot { name: format!("{module}.{part}"), dtype, shape: with_last(n) };
        vec![
            part("weight", Dtype::U32, row_len * bits as usize / 32),
            part("scales", Dtype::F16, row_len / group_len),
            part("biases", Dtype::F16, row_len / group_len),
        ]
    }

    /// Name of the layer that owns the weight.
    pub fn module(&self) -> &str {
        self.name.strip_suffix(".weight").unwrap_or(&self.name)
    }

    /// Bytes in the checkpoint, unless a tensor has to widen.
    pub fn n_bytes(&self) -> u64 {
        self.slots().iter().map(Slot::n_bytes).sum()
    }
}

/// Everything that is to be written, in order.
#[derive(Debug)]
pub struct Plan<'a> {
    /// All tensors.
    pub entries: Vec<Entry<'a>>,
    /// Type of the unquantized weights.
    pub dtype: Dtype,
}

impl<'a> Plan<'a> {
    /// Matches the tensors of `gguf` against what the architecture needs and decides how each is stored.
    pub fn new(
        gguf: &'a Gguf,
        architecture: &Architecture,
        sizes: &Sizes,
        quantize: Option<u32>,
    ) -> Result<Self, ImportError> {
        let dtype = float_dtype(gguf);
        let mut entries = Vec::new();
        let mut used = BTreeSet::from(["rope_freqs.weight".to_owned()]);
        let mut add = |name: String, to: String, row: &Row| {
            let Some(tensor) = checked(gguf, &name, row, sizes)? else { return Ok(()) };
            entries.push(entry(tensor, to, architecture, sizes, store(tensor, dtype, quantize)));
            used.insert(name);
            Ok(())
        };
        for row in OUTER {
            add(row.0.to_owned(), row.1.to_owned(), row)?;
        }
        for idx in 0..sizes.n_layers {
            for row in architecture.layer() {
                add(format!("blk.{idx}.{}", row.0), format!("model.layers.{idx}.{}", row.1), row)?;
            }
        }
        match gguf.tensors.keys().find(|name| !used.contains(*name)) {
            Some(name) => Err(ImportError::UnsupportedFeature { feature: format!("the tensor `{name}`") }),
            None => Ok(Self { entries, dtype }),
        }
    }

    /// Bytes of all tensors in the checkpoint.
    pub fn n_bytes(&self) -> u64 {
        self.entries.iter().map(Entry::n_bytes).sum()
    }

    /// Splits the entries into files of about `n_bytes_max`; a larger entry gets a file of its own.
    pub fn shards(&self, n_bytes_max: u64) -> Vec<&[Entry<'a>]> {
        let (mut shards, mut start, mut size) = (Vec::new(), 0, 0);
        for (idx, entry) in self.entries.iter().enumerate() {
            let n_bytes = entry.n_bytes();
            if size > 0 && size + n_bytes > n_bytes_max {
                shards.push(&self.entries[start..idx]);
                (start, size) = (idx, 0);
            }
            size += n_bytes;
        }
        shards.push(&self.entries[start..]);
        shards
    }

    /// The `quantization` object of config.json: the commonest groups, then one override for each layer that differs.
    /// `None` when nothing is quantized.
    pub fn quantization(&self) -> Option<Value> {
        let matrices = || self.entries.iter().filter(|entry| entry.tensor.shape.len() > 1);
        let mut counts: Vec<((u32, usize), usize)> = Vec::new();
        for groups in matrices().filter_map(|entry| entry.store.groups()) {
            match counts.iter_mut().find(|(seen, _)| *seen == groups) {
                Some((_, n)) => *n += 1,
                None => counts.push((groups, 1)),
            }
        }
        let (common, _) = counts.into_iter().max_by_key(|&(_, n)| n)?;
        let groups = |(bits, group_len)| json!({"group_size": group_len, "bits": bits, "mode": "affine"});
        let mut quantization = Map::new();
        if let Value::Object(common) = groups(common) {
            quantization.extend(common);
        }
        for entry in matrices().filter(|entry| entry.store.groups() != Some(common)) {
            quantization.insert(entry.module().to_owned(), entry.store.groups().map_or(json!(false), groups));
        }
        Some(Value::Object(quantization))
    }
}

fn checked<'a>(gguf: &'a Gguf, name: &str, row: &Row, sizes: &Sizes) -> Result<Option<&'a Tensor>, ImportError> {
    let problem = |problem| ImportError::Tensor { tensor: name.to_owned(), problem };
    let expected: Vec<usize> = row.2.iter().map(|&dim| sizes.of(dim)).collect();
    match gguf.tensors.get(name) {
        Some(tensor) if tensor.shape == expected => Ok(Some(tensor)),
        Some(tensor) => Err(problem(format!("has shape {:?} where {expected:?} is expected", tensor.shape))),
        None if row.3 == Presence::Optional => Ok(None),
        None => Err(problem("is missing".to_owned())),
    }
}

fn entry<'a>(tensor: &'a Tensor, name: String, architecture: &Architecture, sizes: &Sizes, store: Store) -> Entry<'a> {
    let rotates = name.contains(".q_proj.") || name.contains(".k_proj.");
    let unpair = (rotates && architecture.rope_rows == RopeRows::Pairs).then_some(sizes.head);
    let is_norm = name.ends_with("norm.weight");
    let add = if is_norm && architecture.norms == Norms::PlusOne { -1.0 } else { 0.0 };
    Entry { tensor, name, store, unpair, add }
}

/// One float type for the whole checkpoint, so that activations keep it: converters store vectors as f32 whatever the
/// model was published as, therefore the matrices decide.
fn float_dtype(gguf: &Gguf) -> Dtype {
    let matrices = gguf.tensors.values().filter(|tensor| tensor.shape.len() > 1);
    let kinds: BTreeSet<Kind> = matrices.map(|tensor| tensor.kind).collect();
    let only = |allowed: &[Kind]| kinds.iter().all(|kind| allowed.contains(kind));
    if only(&[Kind::F32]) {
        Dtype::F32
    } else if only(&[Kind::BF16, Kind::F32]) {
        Dtype::BF16
    } else {
        Dtype::F16
    }
}

fn store(tensor: &Tensor, dtype: Dtype, quantize: Option<u32>) -> Store {
    if tensor.shape.len() < 2 {
        return Store::Float(dtype);
    }
    match (quantize, repack_bits(tensor.kind)) {
        (Some(bits), _) => {
            match [GROUP_LEN, REPACK_GROUP_LEN].into_iter().find(|&n| tensor.row_len().is_multiple_of(n)) {
                Some(group_len) => Store::Quantize { bits, group_len },
                None => Store::Float(dtype),
            }
        }
        (None, Some(bits)) => Store::Repack { bits },
        (None, None) => Store::Float(dtype),
    }
}
