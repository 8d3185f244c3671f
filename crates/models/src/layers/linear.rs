//! `x @ w^T + b`, with `w` dense or packed.

use crate::LoadResult;
use crate::mx::{self, Array, Packed, Result};
use crate::weights::{At, Matrix};

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
    /// `[in, out]`, a view of the stored `[out, in]`.
    Dense(Array),
    Packed(Packed),
}

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
        for matrix in stack(matrices)? {
            weights.push(Weight::new(at.keep_matrix(matrix)?)?);
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
        if let Some(bias) = &bias {
            mx::eval(&[bias])?;
        }
        Ok(Self { weights, bias })
    }

    /// A projection by a matrix that something else owns, such as the embedding.
    pub fn tied(matrix: &Matrix) -> Result<Self> {
        Ok(Self { weights: vec![Weight::new(matrix.clone())?], bias: None })
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

    /// `residual + forward(x)`.
    pub fn forward_onto(&self, residual: &Array, x: &Array) -> Result<Array> {
        match (self.weights.as_slice(), &self.bias) {
            ([Weight::Dense(weight)], None) => mx::addmm(residual, x, weight),
            _ => mx::add(residual, &self.forward(x)?),
        }
    }
}

impl Weight {
    fn new(matrix: Matrix) -> Result<Self> {
        Ok(match matrix {
            Matrix::Dense(array) => Weight::Dense(mx::transpose(&array)?),
            Matrix::Packed(packed) => Weight::Packed(packed),
        })
    }

    fn forward(&self, x: &Array) -> Result<Array> {
        match self {
            Weight::Dense(weight) => mx::matmul(x, weight),
            Weight::Packed(packed) => mx::quantized_matmul(x, packed),
        }
    }
}

/// Joins matrices by rows where they are packed alike.
fn stack(matrices: Vec<Matrix>) -> Result<Vec<Matrix>> {
    let dense: Vec<_> = matrices.iter().filter_map(Matrix::as_dense).collect();
    let packed: Vec<_> = matrices.iter().filter_map(Matrix::as_packed).collect();
    if matrices.len() > 1 && dense.len() == matrices.len() && dense.iter().all(|a| a.dtype() == dense[0].dtype()) {
        return Ok(vec![Matrix::Dense(mx::concatenate(&dense, 0)?)]);
    }
    if matrices.len() > 1 && packed.len() == matrices.len() && packed.iter().all(|a| is_alike(a, packed[0])) {
        let join =
            |part: fn(&Packed) -> &Array| mx::concatenate(&packed.iter().map(|a| part(a)).collect::<Vec<_>>(), 0);
        let biases: Vec<_> = packed.iter().filter_map(|a| a.biases.as_ref()).collect();
        let biases = if biases.is_empty() { None } else { Some(mx::concatenate(&biases, 0)?) };
        let (weight, scales) = (join(|a| &a.weight)?, join(|a| &a.scales)?);
        return Ok(vec![Matrix::Packed(Packed { weight, scales, biases, packing: packed[0].packing })]);
    }
    Ok(matrices)
}

fn is_alike(a: &Packed, b: &Packed) -> bool {
    let packing = |p: &Packed| (p.packing.group_size, p.packing.bits, p.packing.mode, p.scales.dtype());
    packing(a) == packing(b)
}

impl Matrix {
    fn as_dense(&self) -> Option<&Array> {
        match self {
            Matrix::Dense(array) => Some(array),
            Matrix::Packed(_) => None,
        }
    }

    fn as_packed(&self) -> Option<&Packed> {
        match self {
            Matrix::Packed(packed) => Some(packed),
            Matrix::Dense(_) => None,
        }
    }
}
