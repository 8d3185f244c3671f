//! A checkpoint's tensors by name, checked and converted as families take them. Must not know any family.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::config::{Mode, Quantization, QuantizationConfig};
use crate::mx::{self, Array, Dtype, Packed, Packing};
use crate::{LoadError, LoadResult};

mod files;
mod ids;
mod paging;
mod phantom;
mod places;
mod progress;
mod published;
mod split;

pub use files::WeightFiles;
pub use paging::{ExpertCounts, LayerExperts, Paging};
pub use phantom::Phantom;
pub use places::Place;
pub use progress::{LoadProgress, Progress};
pub use published::published_name;
pub use split::Split;

/// Bytes of tensors that are read together.
const N_PENDING_BYTES: usize = 64 << 20;

/// How tensors become operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compute {
    /// Element type of dense tensors; `None` = as the file has them.
    pub dtype: Option<Dtype>,
    /// Whether packed matrices are unpacked at load.
    pub packed: PackedWeights,
    /// Which operations the layers use.
    pub kernels: Kernels,
}

/// What becomes of packed matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackedWeights {
    /// Multiplied as they are.
    Keep,
    /// Unpacked once at load.
    Unpack,
}

/// Which of two equal ways a layer computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernels {
    /// MLX's fused operations: kernels on a GPU, long chains of small operations on a CPU.
    Fused,
    /// As few primitives as possible, for backends where dispatch is what costs. f32 only.
    Plain,
}

/// Tensors not taken yet.
pub struct Weights<'p> {
    tensors: RefCell<BTreeMap<String, Array>>,
    quantization: RefCell<Option<QuantizationConfig>>,
    compute: Compute,
    n_bytes: Cell<usize>,
    /// Kept, but not computed yet, and their bytes.
    pending: RefCell<Vec<Array>>,
    n_pending: Cell<usize>,
    /// `None` = nothing is read.
    progress: RefCell<(LoadProgress, Option<Progress<'p>>)>,
    /// Makes up whatever is asked for.
    phantom: Option<Phantom>,
    /// Room for experts, and where all tensors lie that are as they are in their files.
    paging: Option<Rc<Paging>>,
    places: RefCell<BTreeMap<String, Place>>,
}

impl<'p> Weights<'p> {
    /// Of tensors by their names; see [`WeightFiles::load`].
    pub fn of(tensors: BTreeMap<String, Array>, compute: Compute, quantization: Option<QuantizationConfig>) -> Self {
        Self {
            tensors: RefCell::new(tensors),
            quantization: RefCell::new(quantization),
            compute,
            n_bytes: Cell::new(0),
            pending: RefCell::default(),
            n_pending: Cell::new(0),
            progress: RefCell::new((LoadProgress { n_bytes: 0, n_bytes_total: 0 }, None)),
            phantom: None,
            paging: None,
            places: RefCell::default(),
        }
    }

    /// The view of the whole checkpoint.
    pub fn root(&self) -> At<'_, 'p> {
        At { weights: self, path: String::new() }
    }

    /// Renames tensors; `None` drops one.
    pub fn rename(&self, rename: impl Fn(&str) -> Option<String>) {
        let tensors = std::mem::take(&mut *self.tensors.borrow_mut());
        *self.tensors.borrow_mut() =
            tensors.into_iter().filter_map(|(name, array)| Some((rename(&name)?, array))).collect();
        let places = self.places.take();
        self.places.replace(places.into_iter().filter_map(|(name, place)| Some((rename(&name)?, place))).collect());
        if let Some(quantization) = &mut *self.quantization.borrow_mut() {
            quantization.rename(rename);
        }
    }

    /// Replaces tensors by what `remake` makes of them; it gives `None` for those that stay.
    pub fn remake(&self, remake: impl Fn(&str, &Array) -> mx::Result<Option<Vec<(String, Array)>>>) -> LoadResult<()> {
        let tensors = std::mem::take(&mut *self.tensors.borrow_mut());
        let mut remade = BTreeMap::new();
        for (name, array) in tensors {
            match remake(&name, &array)? {
                Some(parts) => {
                    self.places.borrow_mut().remove(&name);
                    remade.extend(parts);
                }
                None => drop(remade.insert(name, array)),
            }
        }
        *self.tensors.borrow_mut() = remade;
        Ok(())
    }

    /// Whether a tensor of that name is left.
    pub fn contains(&self, name: &str) -> bool {
        self.phantom.as_ref().is_some_and(|phantom| phantom.has(name)) || self.tensors.borrow().contains_key(name)
    }

    /// The shape of a tensor that nobody took.
    pub fn shape(&self, name: &str) -> Option<Vec<i32>> {
        self.tensors.borrow().get(name).map(|array| array.shape().to_vec())
    }

    /// Names of the tensors nobody took.
    pub fn left_over(&self) -> Vec<String> {
        self.tensors.borrow().keys().cloned().collect()
    }

    /// Computes what was kept since the last time.
    pub fn flush(&self) -> LoadResult<()> {
        self.n_pending.set(0);
        let pending = self.pending.take();
        Ok(mx::eval(&pending.iter().collect::<Vec<_>>())?)
    }

    /// Bytes of all tensors taken, as they are kept.
    pub fn n_bytes(&self) -> usize {
        self.n_bytes.get()
    }
}

/// A dense or packed matrix `[out, in]`, or several: `[.., out, in]`.
#[derive(Clone, Debug)]
pub enum Matrix {
    /// `[out, in]`.
    Dense(Array),
    /// In MLX's packing.
    Packed(Packed),
}

/// The tensors below a dotted path.
#[derive(Clone)]
pub struct At<'a, 'p> {
    weights: &'a Weights<'p>,
    path: String,
}

impl At<'_, '_> {
    /// Whether there is a tensor of that name below.
    pub fn has(&self, name: &str) -> bool {
        self.weights.contains(&self.at(name).path)
    }

    /// One level deeper.
    pub fn at(&self, name: impl std::fmt::Display) -> Self {
        let path = if self.path.is_empty() { name.to_string() } else { format!("{}.{name}", self.path) };
        Self { weights: self.weights, path }
    }

    /// Which operations layers use.
    pub fn kernels(&self) -> Kernels {
        self.weights.compute.kernels
    }

    /// How tensors become operands.
    pub fn compute(&self) -> Compute {
        self.weights.compute
    }

    /// Its dotted path.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether what is taken is computed, or only its names and shapes are checked.
    pub fn is_read(&self) -> bool {
        self.weights.progress.borrow().1.is_some()
    }

    /// As if the packing of the module here were that of all.
    pub fn packing_of_all(&self) -> Option<QuantizationConfig> {
        self.packing().ok().map(QuantizationConfig::of_all)
    }

    /// Element type of dense tensors; `None` = as the file has them.
    pub fn dtype(&self) -> Option<Dtype> {
        self.weights.compute.dtype
    }

    /// A tensor of floats in the compute type.
    ///
    /// # Errors
    /// When it is missing, has another shape, or holds no floats.
    pub fn tensor(&self, name: &str, shape: &[i32]) -> LoadResult<Array> {
        let array = self.floats(name, shape)?;
        self.keep(array)
    }

    /// A tensor of `n` floats, whatever its shape, as `[n]`.
    pub fn vector(&self, name: &str, n: i32) -> LoadResult<Array> {
        let name = self.at(name).path;
        let shape = self
            .weights
            .shape(&name)
            .filter(|shape| shape.iter().map(|n| i64::from(*n)).product::<i64>() == i64::from(n));
        let array = self.weights.root().floats(&name, &shape.unwrap_or(vec![n]))?;
        self.keep(mx::reshape(&array, &[n])?)
    }

    /// The matrix `weight`, packed or not; pass what it becomes to [`At::keep_matrix`].
    pub fn matrix(&self, n_out: i32, n_in: i32) -> LoadResult<Matrix> {
        self.matrices(&[n_out, n_in])
    }

    /// As [`At::matrix`], with any number of leading axes: `[.., out, in]`.
    pub fn matrices(&self, shape: &[i32]) -> LoadResult<Matrix> {
        if let Some(factors) = ["weight_scale_inv", "scale"].into_iter().find(|name| self.has(name)) {
            return self.published(shape, factors);
        }
        if !self.has("scales") {
            return Ok(Matrix::Dense(self.floats("weight", shape)?));
        }
        let packed = self.packed(shape)?;
        self.computed(packed)
    }

    /// As packed matrices are computed.
    fn computed(&self, packed: Packed) -> LoadResult<Matrix> {
        match self.weights.compute.packed {
            PackedWeights::Keep if packed.packing.multiplies() => Ok(Matrix::Packed(packed)),
            PackedWeights::Keep | PackedWeights::Unpack => {
                let dtype = self.weights.compute.dtype.unwrap_or_else(|| packed.scales.dtype());
                let dtype = if dtype == Dtype::Uint8 { Dtype::Float32 } else { dtype };
                Ok(Matrix::Dense(mx::dequantize(&packed, dtype)?))
            }
        }
    }

    /// Keeps a matrix: see [`At::keep`].
    pub fn keep_matrix(&self, matrix: Matrix) -> LoadResult<Matrix> {
        Ok(match matrix {
            Matrix::Dense(array) => Matrix::Dense(self.keep(array)?),
            Matrix::Packed(Packed { weight, scales, biases, packing }) => Matrix::Packed(Packed {
                weight: self.keep(weight)?,
                scales: self.keep(scales)?,
                biases: biases.map(|biases| self.keep(biases)).transpose()?,
                packing,
            }),
        })
    }

    /// Has an array computed soon, so that what it was made from can go, and counts its bytes. Together, so that files are
    /// read by several threads.
    pub fn keep(&self, array: Array) -> LoadResult<Array> {
        let weights = self.weights;
        if weights.progress.borrow().1.is_none() {
            return Ok(array);
        }
        weights.n_bytes.set(weights.n_bytes.get() + array.nbytes());
        weights.pending.borrow_mut().push(array.clone());
        weights.n_pending.set(weights.n_pending.get() + array.nbytes());
        if weights.n_pending.get() >= N_PENDING_BYTES {
            weights.flush()?;
        }
        Ok(array)
    }

    fn floats(&self, name: &str, shape: &[i32]) -> LoadResult<Array> {
        if let Some(phantom) = &self.weights.phantom {
            return Ok(phantom.give(self.at(name).path, shape, Dtype::Bfloat16)?);
        }
        let (name, array) = self.take(name)?;
        check_shape(&name, &array, shape)?;
        if !array.dtype().is_float() {
            return Err(wrong_dtype(&name, &array, "floats"));
        }
        self.converted(array)
    }

    /// Floats in the compute type. Scales too: unpacking in 16 bits would round every weight.
    fn converted(&self, array: Array) -> LoadResult<Array> {
        match self.weights.compute.dtype {
            Some(dtype) if dtype != array.dtype() && array.dtype().is_float() => Ok(mx::cast(&array, dtype)?),
            _ => Ok(array),
        }
    }

    fn packed(&self, shape: &[i32]) -> LoadResult<Packed> {
        let (n_in, outer) = shape.split_last().map_or((0, shape), |(n_in, outer)| (*n_in, outer));
        let with_last = |last: i32| [outer, &[last]].concat();
        let Quantization { group_size, bits, mode } = self.packing()?;
        let refuse = |detail| Err(LoadError::Quantization { path: self.path.clone(), detail });
        let (n_in, bits_64) = (i64::from(n_in), i64::from(bits));
        if n_in % i64::from(group_size) != 0 || n_in * bits_64 % 32 != 0 {
            return refuse(format!("{n_in} inputs do not split into groups of {group_size} with {bits} bits"));
        }
        let n_groups = (n_in / i64::from(group_size)) as i32;
        let (name, weight) = self.take("weight")?;
        check_shape(&name, &weight, &with_last((n_in * bits_64 / 32) as i32))?;
        let weight = match weight.dtype() {
            Dtype::Uint32 => weight,
            Dtype::Int32 if mode == Mode::Centred => mx::view(&weight, Dtype::Uint32)?,
            _ => return Err(wrong_dtype(&name, &weight, "U32")),
        };
        let (name, scales) = self.take("scales")?;
        check_shape(&name, &scales, &with_last(n_groups))?;
        if scales.dtype().is_float() != mode.has_biases() {
            return Err(wrong_dtype(&name, &scales, "floats for affine packing, U8 for the others"));
        }
        let scales = self.converted(scales)?;
        let biases = match mode {
            Mode::Affine => {
                let (name, biases) = self.take("biases")?;
                check_shape(&name, &biases, &with_last(n_groups))?;
                Some(self.converted(biases)?)
            }
            Mode::Centred => Some(mx::scale(&scales, -((1 << (bits - 1)) as f32))?),
            _ => None,
        };
        Ok(Packed { weight, scales, biases, packing: Packing { group_size, bits, mode: mode.name() } })
    }

    fn packing(&self) -> LoadResult<Quantization> {
        let config = self.weights.quantization.borrow();
        config.as_ref().and_then(|config| config.of(&self.path)).ok_or_else(|| LoadError::Quantization {
            path: self.path.clone(),
            detail:
                "the weights are packed, but config.json has no quantization for them; convert the checkpoint again"
                    .into(),
        })
    }

    fn take(&self, name: &str) -> LoadResult<(String, Array)> {
        let name = self.at(name).path;
        let taken = self.weights.tensors.borrow_mut().remove(&name);
        let Some(array) = taken else { return Err(LoadError::MissingTensor { name }) };
        let (progress, report) = &mut *self.weights.progress.borrow_mut();
        progress.n_bytes += array.nbytes() as u64;
        if let Some(report) = report {
            report(*progress);
        }
        Ok((name, array))
    }
}

fn check_shape(name: &str, array: &Array, expected: &[i32]) -> LoadResult<()> {
    if array.shape() == expected {
        return Ok(());
    }
    Err(LoadError::Shape { name: name.to_owned(), found: array.shape().to_vec(), expected: expected.to_vec() })
}

fn wrong_dtype(name: &str, array: &Array, expected: &'static str) -> LoadError {
    LoadError::Dtype { name: name.to_owned(), found: format!("{:?}", array.dtype()), expected }
}
