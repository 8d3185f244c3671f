//! Feed-forward parts side by side, each token through the few that it picked.

use super::{Glu, MoeLayout};
use crate::LoadResult;
use crate::layers::linear::Bias;
use crate::mx::{self, Array, Cut, Order, Packed, Result};
use crate::weights::{At, Matrix};

/// Picks from which on tokens are sorted by expert, so that each expert's weights are read once.
const N_SORTED_MIN: usize = 64;

/// `down(glu(gate(x), up(x)))` of every expert.
pub struct Experts {
    /// Gate and up joined, or each by itself where they are packed differently; up alone where there is no gate.
    inward: Vec<Stack>,
    down: Stack,
    glu: Glu,
    n_inner: i32,
}

/// One projection of every expert.
struct Stack {
    weight: Weight,
    /// `[E, out]`.
    bias: Option<Array>,
}

enum Weight {
    /// `[E, in, out]`, a view of the stored `[E, out, in]`.
    Dense(Array),
    Packed(Packed),
}

impl Experts {
    /// Takes `STACKED.{gate,up,down}_proj` or `experts.N.NAME`, whichever is there.
    pub fn load(at: &At<'_, '_>, n_hidden: i32, layout: &MoeLayout) -> LoadResult<Self> {
        let n_inner = layout.n_inner as i32;
        let projection = |name_idx: usize, n_out, n_in| Projection { layout, name_idx, n_out, n_in };
        let (up, up_bias) = projection(1, n_inner, n_hidden).load(at)?;
        let (down, down_bias) = projection(2, n_hidden, n_inner).load(at)?;
        let down = Stack::new(at, down, down_bias)?;
        if let Glu::Ungated(_) = layout.glu {
            return Ok(Self { inward: vec![Stack::new(at, up, up_bias)?], down, glu: layout.glu, n_inner });
        }
        let (gate, gate_bias) = projection(0, n_inner, n_hidden).load(at)?;
        let inward = match joined(&gate, &up)? {
            Some(weight) => {
                let bias = match (&gate_bias, &up_bias) {
                    (Some(gate), Some(up)) => Some(mx::concatenate(&[gate, up], -1)?),
                    _ => None,
                };
                vec![Stack::new(at, weight, bias)?]
            }
            None => vec![Stack::new(at, gate, gate_bias)?, Stack::new(at, up, up_bias)?],
        };
        Ok(Self { inward, down, glu: layout.glu, n_inner })
    }

    /// `[T, hidden]` through the experts `[T, K]` of each token: `[T, K, hidden]`.
    pub fn forward(&self, x: &Array, experts: &Array) -> Result<Array> {
        let (t, k, n_hidden) = (experts.dim(0), experts.dim(1), x.dim(1));
        if ((t * k) as usize) < N_SORTED_MIN {
            let x = mx::reshape(x, &[t, 1, 1, n_hidden])?;
            return mx::reshape(&self.through(&x, experts, Order::Any)?, &[t, k, n_hidden]);
        }
        let flat = mx::reshape(experts, &[t * k])?;
        let order = mx::argsort(&flat, 0)?;
        let back = mx::argsort(&order, 0)?;
        let tokens: Vec<u32> = (0..t as u32).flat_map(|token| std::iter::repeat_n(token, k as usize)).collect();
        let tokens = mx::take(&Array::from_slice(&tokens, &[t * k]), &order, 0)?;
        let x = mx::expand_dims(&mx::take(x, &tokens, 0)?, 1)?;
        let y = self.through(&x, &mx::take(&flat, &order, 0)?, Order::Sorted)?;
        mx::reshape(&mx::take(&y, &back, 0)?, &[t, k, n_hidden])
    }

    fn through(&self, x: &Array, experts: &Array, order: Order) -> Result<Array> {
        let inner = match (self.inward.as_slice(), self.glu) {
            ([up], Glu::Ungated(activation)) => activation.apply(&up.forward(x, experts, order)?)?,
            ([gate, up], glu) => glu.apply(&gate.forward(x, experts, order)?, &up.forward(x, experts, order)?)?,
            ([both], glu) => {
                let both = both.forward(x, experts, order)?;
                let axis = both.ndim() - 1;
                let part = |start, stop| mx::slice(&both, &[Cut { axis, start, stop }]);
                glu.apply(&part(0, self.n_inner)?, &part(self.n_inner, 2 * self.n_inner)?)?
            }
            _ => unreachable!("gate and up are one or two"),
        };
        self.down.forward(&inner, experts, order)
    }
}

impl Stack {
    fn new(at: &At<'_, '_>, weight: Matrix, bias: Option<Array>) -> LoadResult<Self> {
        let weight = match at.keep_matrix(weight)? {
            Matrix::Dense(array) => Weight::Dense(mx::transpose_axes(&array, &[0, 2, 1])?),
            Matrix::Packed(packed) => Weight::Packed(packed),
        };
        Ok(Self { weight, bias })
    }

    fn forward(&self, x: &Array, experts: &Array, order: Order) -> Result<Array> {
        let y = match &self.weight {
            Weight::Dense(weight) => mx::gather_mm(x, weight, experts, order)?,
            Weight::Packed(packed) => mx::gather_qmm(x, packed, experts, order)?,
        };
        match &self.bias {
            Some(bias) => mx::add(&y, &mx::expand_dims(&mx::take(bias, experts, 0)?, -2)?),
            None => Ok(y),
        }
    }
}

/// One projection of every expert, in the checkpoint.
struct Projection<'a> {
    layout: &'a MoeLayout,
    /// Gate, up or down.
    name_idx: usize,
    n_out: i32,
    n_in: i32,
}

impl Projection<'_> {
    /// `[E, out, in]`, and the biases `[E, out]`.
    fn load(&self, at: &At<'_, '_>) -> LoadResult<(Matrix, Option<Array>)> {
        let (e, Self { layout, n_out, n_in, .. }) = (self.layout.n_experts as i32, self);
        let name = ["gate_proj", "up_proj", "down_proj"][self.name_idx];
        let stacked = at.at(layout.stacked).at(name);
        let has_bias = layout.bias == Bias::Present;
        if stacked.has("weight") || !at.has(&format!("experts.0.{}.weight", layout.names[self.name_idx])) {
            let bias = has_bias.then(|| stacked.tensor("bias", &[e, *n_out])).transpose()?;
            return Ok((stacked.matrices(&[e, *n_out, *n_in])?, bias));
        }
        let each: Vec<_> = (0..e).map(|i| at.at("experts").at(i).at(layout.names[self.name_idx])).collect();
        let matrices = each.iter().map(|at| at.matrix(*n_out, *n_in)).collect::<LoadResult<Vec<_>>>()?;
        let bias = match has_bias {
            true => Some(stack(each.iter().map(|at| at.tensor("bias", &[*n_out])).collect::<LoadResult<_>>()?)?),
            false => None,
        };
        Ok((stack_matrices(matrices)?, bias))
    }
}

fn stack(arrays: Vec<Array>) -> Result<Array> {
    let arrays = arrays.iter().map(|array| mx::expand_dims(array, 0)).collect::<Result<Vec<_>>>()?;
    mx::concatenate(&arrays.iter().collect::<Vec<_>>(), 0)
}

/// Experts one after the other. Those that are packed otherwise than the first are refused by the shapes.
fn stack_matrices(matrices: Vec<Matrix>) -> Result<Matrix> {
    let (mut dense, mut weights, mut scales, mut biases, mut packing) = (vec![], vec![], vec![], vec![], None);
    for matrix in matrices {
        match matrix {
            Matrix::Dense(array) => dense.push(array),
            Matrix::Packed(packed) => {
                weights.push(packed.weight);
                scales.push(packed.scales);
                biases.extend(packed.biases);
                packing = Some(packed.packing);
            }
        }
    }
    match packing {
        None => Ok(Matrix::Dense(stack(dense)?)),
        Some(packing) => {
            let biases = if biases.is_empty() { None } else { Some(stack(biases)?) };
            Ok(Matrix::Packed(Packed { weight: stack(weights)?, scales: stack(scales)?, biases, packing }))
        }
    }
}

/// Two projections of the same input as one, where they are packed alike.
fn joined(gate: &Matrix, up: &Matrix) -> Result<Option<Matrix>> {
    match (gate, up) {
        (Matrix::Dense(gate), Matrix::Dense(up)) => Ok(Some(Matrix::Dense(mx::concatenate(&[gate, up], 1)?))),
        (Matrix::Packed(gate), Matrix::Packed(up)) if gate.is_alike(up) => {
            let biases = match (&gate.biases, &up.biases) {
                (Some(gate), Some(up)) => Some(mx::concatenate(&[gate, up], 1)?),
                _ => None,
            };
            let weight = mx::concatenate(&[&gate.weight, &up.weight], 1)?;
            let scales = mx::concatenate(&[&gate.scales, &up.scales], 1)?;
            Ok(Some(Matrix::Packed(Packed { weight, scales, biases, packing: gate.packing })))
        }
        _ => Ok(None),
    }
}
