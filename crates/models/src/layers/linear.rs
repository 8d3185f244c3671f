//! `x @ w^T + b`, with `w` dense or packed.

use crate::LoadResult;
use crate::mx::{self, Array, Cut, Packed, Result};
use crate::weights::{At, Kernels, Matrix};

/// Whether a projection has a bias, as config.json says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bias {
    /// None in the checkpoint.
    Absent,
    /// `bias`, `[out]`.
    Present,
}

impl From<bool> for Bias {
    fn from(present: bool) -> Self {
        if present { Bias::Present } else { Bias::Absent }
    }
}

/// One projection, or several of the same input stacked into one.
#[derive(Clone, Debug)]
pub struct Linear {
    weights: Vec<Weight>,
    bias: Option<Array>,
}

#[derive(Clone, Debug)]
enum Weight {
    Dense(Dense),
    Packed(Packed),
}

/// A dense matrix and views of it.
#[derive(Clone, Debug)]
struct Dense {
    /// `[in, out]`, a view of the stored `[out, in]`.
    whole: Array,
    /// For few tokens: at index `i`, `[out / m, in, m]` for up to `2^i` tokens; `None` where the whole is better.
    blocks: [Option<Array>; N_BLOCK_VIEWS],
}

/// Views of a matrix for up to 1, 2, 4 and 8 tokens.
const N_BLOCK_VIEWS: usize = 4;

/// Multiplications of a product that a CPU's BLAS packs its operands for. Packing a matrix costs more than reading it, so
/// for few tokens a larger product runs as a batch of small ones (measured with OpenBLAS on AVX-512: 2 to 4 times faster).
const N_PRODUCT_MAX: usize = 1_000_000;

/// Bytes of dense matrices that are worth copying into one.
const N_STACK_BYTES_MAX: usize = 1 << 20;

/// Multiplications of each of those small products.
const N_BLOCK_PRODUCT: usize = 500_000;

/// A projection's place and size in the checkpoint.
#[derive(Clone, Copy, Debug)]
pub struct Shape<'a> {
    /// Module name.
    pub name: &'a str,
    /// Outputs.
    pub n_out: i32,
    /// Inputs.
    pub n_in: i32,
    /// Whether it has a bias.
    pub bias: Bias,
}

impl Linear {
    /// Takes one projection.
    pub fn load(at: &At<'_, '_>, shape: Shape<'_>) -> LoadResult<Self> {
        Self::load_stacked(at, &[shape])
    }

    /// Takes projections of the same input as one, whose outputs are joined along the last axis.
    pub fn load_stacked(at: &At<'_, '_>, shapes: &[Shape<'_>]) -> LoadResult<Self> {
        let matrices = shapes
            .iter()
            .map(|shape| at.at(shape.name).matrix(shape.n_out, shape.n_in))
            .collect::<LoadResult<Vec<_>>>()?;
        let mut weights = Vec::new();
        for matrix in stack(matrices, at.kernels())? {
            weights.push(Weight::new(at.keep_matrix(matrix)?, at.kernels())?);
        }
        let biases = shapes
            .iter()
            .filter(|shape| shape.bias == Bias::Present)
            .map(|shape| at.at(shape.name).tensor("bias", &[shape.n_out]))
            .collect::<LoadResult<Vec<_>>>()?;
        let bias = match biases.iter().collect::<Vec<_>>().as_slice() {
            [] => None,
            [bias] => Some((*bias).clone()),
            biases => Some(mx::concatenate(biases, 0)?),
        };
        Ok(Self { weights, bias })
    }

    /// A projection by a matrix that something else owns, such as the embedding.
    pub fn tied(matrix: &Matrix, kernels: Kernels) -> Result<Self> {
        Ok(Self { weights: vec![Weight::new(matrix.clone(), kernels)?], bias: None })
    }

    /// `[T, in]` to `[T, out]`.
    pub fn forward(&self, x: &Array) -> Result<Array> {
        let y = match self.weights.as_slice() {
            [weight] => weight.forward(x)?,
            weights => {
                let parts = weights.iter().map(|weight| weight.forward(x)).collect::<Result<Vec<_>>>()?;
                mx::concatenate(&parts.iter().collect::<Vec<_>>(), -1)?
            }
        };
        match &self.bias {
            Some(bias) => mx::add(&y, bias),
            None => Ok(y),
        }
    }

    /// Whether all its outputs come out of one product.
    pub fn is_one(&self) -> bool {
        self.weights.len() == 1
    }

    /// The outputs of stacked projections, `sizes` wide each.
    pub fn forward_parts(&self, x: &Array, sizes: &[i32]) -> Result<Vec<Array>> {
        if self.weights.len() == sizes.len() && self.bias.is_none() {
            return self.weights.iter().map(|weight| weight.forward(x)).collect();
        }
        let y = self.forward(x)?;
        let mut start = 0;
        let parts = sizes.iter().map(|size| {
            start += size;
            mx::slice(&y, &[Cut { axis: 1, start: start - size, stop: start }])
        });
        parts.collect()
    }

    /// `residual + forward(x)`.
    pub fn forward_onto(&self, residual: &Array, x: &Array) -> Result<Array> {
        match (self.weights.as_slice(), &self.bias) {
            ([Weight::Dense(weight)], None) if weight.blocks_for(x).is_none() => mx::addmm(residual, x, &weight.whole),
            _ => mx::add(residual, &self.forward(x)?),
        }
    }
}

impl Weight {
    fn new(matrix: Matrix, kernels: Kernels) -> Result<Self> {
        Ok(match matrix {
            Matrix::Dense(array) => Weight::Dense(Dense::new(&array, kernels)?),
            Matrix::Packed(packed) => Weight::Packed(packed),
        })
    }

    fn forward(&self, x: &Array) -> Result<Array> {
        match self {
            Weight::Dense(weight) => weight.forward(x),
            Weight::Packed(packed) => mx::quantized_matmul(x, packed),
        }
    }
}

impl Dense {
    fn new(stored: &Array, kernels: Kernels) -> Result<Self> {
        let mut blocks = [const { None }; N_BLOCK_VIEWS];
        if kernels == Kernels::Plain {
            let (n_out, n_in) = (stored.dim(0), stored.dim(1));
            for (i, view) in blocks.iter_mut().enumerate() {
                if let Some(n_rows) = block_rows(n_out as usize, n_in as usize, 1 << i) {
                    let n_rows = n_rows as i32;
                    let rows = mx::reshape(stored, &[n_out / n_rows, n_rows, n_in])?;
                    *view = Some(mx::transpose_axes(&rows, &[0, 2, 1])?);
                }
            }
        }
        let whole = mx::transpose(stored)?;
        Ok(Self { whole, blocks })
    }

    fn forward(&self, x: &Array) -> Result<Array> {
        let Some(blocks) = self.blocks_for(x) else { return mx::matmul(x, &self.whole) };
        let (t, n_out) = (x.dim(0), self.whole.dim(1));
        let y = mx::matmul(x, blocks)?; // [blocks, T, m]
        let y = if t == 1 { y } else { mx::transpose_axes(&y, &[1, 0, 2])? };
        mx::reshape(&y, &[t, n_out])
    }

    fn blocks_for(&self, x: &Array) -> Option<&Array> {
        let n_tokens = x.dim(0).max(1) as usize;
        self.blocks.get(n_tokens.next_power_of_two().ilog2() as usize)?.as_ref()
    }
}

/// Rows of each block for `n_tokens`: the largest divisor of `n_out` within bounds; `None` where blocks do not help.
fn block_rows(n_out: usize, n_in: usize, n_tokens: usize) -> Option<usize> {
    if n_out * n_in * n_tokens <= N_PRODUCT_MAX {
        return None;
    }
    let n_max = (N_BLOCK_PRODUCT / (n_in * n_tokens)).max(1);
    let n_rows = (1..=n_max.min(n_out)).rev().find(|n_rows| n_out.is_multiple_of(*n_rows))?;
    // A poor divisor would mean more calls than they save.
    (n_rows * 8 >= n_max.min(n_out)).then_some(n_rows)
}

/// Joins matrices by rows where they are packed alike. A CPU keeps large ones apart: copying them would cost more at load
/// than fewer operations save later.
fn stack(matrices: Vec<Matrix>, kernels: Kernels) -> Result<Vec<Matrix>> {
    let dense: Vec<_> = matrices.iter().filter_map(Matrix::as_dense).collect();
    let packed: Vec<_> = matrices.iter().filter_map(Matrix::as_packed).collect();
    if kernels == Kernels::Plain && dense.iter().map(|matrix| matrix.nbytes()).sum::<usize>() > N_STACK_BYTES_MAX {
        return Ok(matrices);
    }
    if matrices.len() > 1 && dense.len() == matrices.len() && dense.iter().all(|a| a.dtype() == dense[0].dtype()) {
        return Ok(vec![Matrix::Dense(mx::concatenate(&dense, 0)?)]);
    }
    if matrices.len() > 1 && packed.len() == matrices.len() && packed.iter().all(|a| a.is_alike(packed[0])) {
        let join =
            |part: fn(&Packed) -> &Array| mx::concatenate(&packed.iter().map(|a| part(a)).collect::<Vec<_>>(), 0);
        let biases: Vec<_> = packed.iter().filter_map(|a| a.biases.as_ref()).collect();
        let biases = if biases.is_empty() { None } else { Some(mx::concatenate(&biases, 0)?) };
        let (weight, scales) = (join(|a| &a.weight)?, join(|a| &a.scales)?);
        return Ok(vec![Matrix::Packed(Packed { weight, scales, biases, packing: packed[0].packing })]);
    }
    Ok(matrices)
}

impl Matrix {
    /// The matrix, if it is not packed.
    pub fn as_dense(&self) -> Option<&Array> {
        match self {
            Matrix::Dense(array) => Some(array),
            Matrix::Packed(_) => None,
        }
    }

    /// The matrix, if it is packed.
    pub fn as_packed(&self) -> Option<&Packed> {
        match self {
            Matrix::Packed(packed) => Some(packed),
            Matrix::Dense(_) => None,
        }
    }
}

#[cfg(test)]
#[path = "linear_tests.rs"]
mod tests;
