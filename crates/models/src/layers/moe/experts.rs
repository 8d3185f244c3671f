//! Feed-forward parts side by side, each token through the few that it picked.

use std::cell::RefCell;

use super::paged::Paged;
use super::{Glu, MoeLayout};
use crate::LoadResult;
use crate::layers::linear::Bias;
use crate::mx::{self, Array, Cut, Order, Packed, Result};
use crate::weights::{At, Matrix};

/// Picks from which on tokens are sorted by expert, so that each expert's weights are read once.
const N_SORTED_MIN: usize = 64;

/// `down(glu(gate(x), up(x)))` of every expert.
pub struct Experts {
    held: Held,
    glu: Glu,
    n_inner: i32,
}

/// Where the weights are: gate and up joined, or each by itself where they are packed differently, or up alone where there is no
/// gate; then down.
enum Held {
    Whole(Vec<Stack>),
    Paged(Box<RefCell<(Paged, Vec<Stack>)>>),
}

/// One projection of every expert.
pub struct Stack {
    weight: Weight,
    /// `[E, out]`.
    bias: Option<Array>,
}

/// `[E, out, in]`.
enum Weight {
    Dense(Array),
    Packed(Packed),
}

impl Experts {
    /// Takes `STACKED.{gate,up,down}_proj` or `experts.N.NAME`, whichever is there.
    pub fn load(at: &At<'_, '_>, n_hidden: i32, layout: &MoeLayout) -> LoadResult<Self> {
        let (n_inner, glu) = (layout.n_inner as i32, layout.glu);
        let projection = |name_idx: usize, n_out, n_in| Projection { layout, name_idx, n_out, n_in };
        let [gate, up] = [0, 1].map(|name_idx| projection(name_idx, n_inner, n_hidden));
        let down = projection(2, n_hidden, n_inner);
        let projections = if let Glu::Ungated(_) = glu { vec![up, down] } else { vec![gate, up, down] };
        if let Some(paged) = Paged::load(at, layout, &projections)? {
            return Ok(Self { held: Held::Paged(Box::new(RefCell::new(paged))), glu, n_inner });
        }
        let parts = projections.iter().map(|projection| projection.load(at)).collect::<LoadResult<Vec<_>>>()?;
        let stacks = joined_parts(parts, glu)?.into_iter().map(|(weight, bias)| Stack::new(at, weight, bias));
        Ok(Self { held: Held::Whole(stacks.collect::<LoadResult<_>>()?), glu, n_inner })
    }

    /// `[T, hidden]` through the experts `[T, K]` of each token: `[T, K, hidden]`.
    pub fn forward(&self, x: &Array, experts: &Array) -> Result<Array> {
        match &self.held {
            Held::Whole(stacks) => self.among(stacks, x, experts),
            Held::Paged(held) => self.paged(&mut held.borrow_mut(), x, experts),
        }
    }

    /// Through the experts `[T, K]` of the stacks.
    fn among(&self, stacks: &[Stack], x: &Array, experts: &Array) -> Result<Array> {
        let (t, k, n_hidden) = (experts.dim(0), experts.dim(1), x.dim(1));
        if ((t * k) as usize) < N_SORTED_MIN {
            let x = mx::reshape(x, &[t, 1, 1, n_hidden])?;
            return mx::reshape(&self.through(stacks, &x, (experts, Order::Any))?, &[t, k, n_hidden]);
        }
        let flat = mx::reshape(experts, &[t * k])?;
        let order = mx::argsort(&flat, 0)?;
        let back = mx::argsort(&order, 0)?;
        let tokens: Vec<u32> = (0..t as u32).flat_map(|token| std::iter::repeat_n(token, k as usize)).collect();
        let tokens = mx::take(&Array::from_slice(&tokens, &[t * k]), &order, 0)?;
        let x = mx::expand_dims(&mx::take(x, &tokens, 0)?, 1)?;
        let y = self.through(stacks, &x, (&mx::take(&flat, &order, 0)?, Order::Sorted))?;
        mx::reshape(&mx::take(&y, &back, 0)?, &[t, k, n_hidden])
    }

    /// Waits for the picks, and brings what they need into memory: at once, or group by group where it is more than fits.
    fn paged(&self, (paged, stacks): &mut (Paged, Vec<Stack>), x: &Array, experts: &Array) -> Result<Array> {
        let (t, k, n_hidden) = (experts.dim(0), experts.dim(1), x.dim(1));
        let picks = mx::to_u32(experts)?;
        let groups = paged.groups(&picks);
        if let [group] = groups.as_slice() {
            paged.bring(group, stacks, self.glu)?;
            let slots = picks.iter().map(|expert| paged.slot(*expert)).collect::<Result<Vec<_>>>()?;
            return self.among(stacks, x, &Array::from_slice(&slots, &[t, k]));
        }
        let (mut outputs, mut order) = (Vec::new(), Vec::with_capacity(picks.len()));
        for group in &groups {
            paged.bring(group, stacks, self.glu)?;
            let mut rows: Vec<(u32, u32)> = Vec::new();
            for (at, expert) in picks.iter().enumerate().filter(|(_, expert)| group.contains(expert)) {
                rows.push((paged.slot(*expert)?, at as u32));
            }
            rows.sort_unstable();
            let n = rows.len() as i32;
            let slots: Vec<u32> = rows.iter().map(|(slot, _)| *slot).collect();
            let tokens: Vec<u32> = rows.iter().map(|(_, at)| at / k as u32).collect();
            let x = mx::expand_dims(&mx::take(x, &Array::from_slice(&tokens, &[n]), 0)?, 1)?;
            let y = self.through(stacks, &x, (&Array::from_slice(&slots, &[n]), Order::Sorted))?;
            // Before others take their places.
            mx::eval(&[&y])?;
            outputs.push(mx::reshape(&y, &[n, n_hidden])?);
            order.extend(rows.into_iter().map(|(_, at)| at));
        }
        let mut back = vec![0_u32; order.len()];
        order.iter().enumerate().for_each(|(at, pick)| back[*pick as usize] = at as u32);
        let all = mx::concatenate(&outputs.iter().collect::<Vec<_>>(), 0)?;
        mx::reshape(&mx::take(&all, &Array::from_slice(&back, &[t * k]), 0)?, &[t, k, n_hidden])
    }

    fn through(&self, stacks: &[Stack], x: &Array, (experts, order): (&Array, Order)) -> Result<Array> {
        let Some((down, inward)) = stacks.split_last() else {
            return Err(mx::Error { what: "a layer without experts".into() });
        };
        let inner = match (inward, self.glu) {
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
        down.forward(&inner, experts, order)
    }
}

/// Gate and up as one where they are packed alike; what comes after them stays.
pub fn joined_parts(mut parts: Vec<(Matrix, Option<Array>)>, glu: Glu) -> Result<Vec<(Matrix, Option<Array>)>> {
    if matches!(glu, Glu::Ungated(_)) || parts.len() < 2 {
        return Ok(parts);
    }
    let Some(weight) = joined(&parts[0].0, &parts[1].0)? else { return Ok(parts) };
    let bias = match (&parts[0].1, &parts[1].1) {
        (Some(gate), Some(up)) => Some(mx::concatenate(&[gate, up], -1)?),
        _ => None,
    };
    parts.splice(0..2, [(weight, bias)]);
    Ok(parts)
}

impl Stack {
    /// Keeps a weight, `[E, out, in]`, and biases, `[E, out]`.
    pub fn new(at: &At<'_, '_>, weight: Matrix, bias: Option<Array>) -> LoadResult<Self> {
        let weight = match at.keep_matrix(weight)? {
            Matrix::Dense(array) => Weight::Dense(array),
            Matrix::Packed(packed) => Weight::Packed(packed),
        };
        Ok(Self { weight, bias })
    }

    /// Puts another expert, `[1, out, in]` and `[1, out]`, in a place.
    pub fn replace(&mut self, slot: i32, matrix: &Matrix, bias: Option<&Array>) -> Result<()> {
        let put = |held: &mut Array, new: &Array| {
            // Taken out, so that the only handle left is the graph's and the write happens in place.
            let old = std::mem::replace(held, mx::scalar(0.0));
            *held = mx::slice_update(&old, new, 0, slot)?;
            Ok(())
        };
        match (&mut self.weight, matrix) {
            (Weight::Dense(held), Matrix::Dense(new)) => put(held, new)?,
            (Weight::Packed(held), Matrix::Packed(new)) => {
                put(&mut held.weight, &new.weight)?;
                put(&mut held.scales, &new.scales)?;
                if let (Some(held), Some(new)) = (&mut held.biases, &new.biases) {
                    put(held, new)?;
                }
            }
            _ => return Err(mx::Error { what: "an expert is packed otherwise than the others".into() }),
        }
        match (&mut self.bias, bias) {
            (Some(held), Some(new)) => put(held, new),
            _ => Ok(()),
        }
    }

    /// What it holds.
    pub fn arrays(&self) -> Vec<&Array> {
        let weight = match &self.weight {
            Weight::Dense(array) => vec![array],
            Weight::Packed(packed) => {
                [Some(&packed.weight), Some(&packed.scales), packed.biases.as_ref()].into_iter().flatten().collect()
            }
        };
        weight.into_iter().chain(&self.bias).collect()
    }

    fn forward(&self, x: &Array, experts: &Array, order: Order) -> Result<Array> {
        let y = match &self.weight {
            Weight::Dense(weight) => mx::gather_mm(x, &mx::transpose_axes(weight, &[0, 2, 1])?, experts, order)?,
            Weight::Packed(packed) => mx::gather_qmm(x, packed, experts, order)?,
        };
        match &self.bias {
            Some(bias) => mx::add(&y, &mx::expand_dims(&mx::take(bias, experts, 0)?, -2)?),
            None => Ok(y),
        }
    }
}

/// One projection of every expert, in the checkpoint.
pub struct Projection<'a> {
    layout: &'a MoeLayout,
    /// Gate, up or down.
    name_idx: usize,
    n_out: i32,
    n_in: i32,
}

impl Projection<'_> {
    /// `[out, in]` of each expert.
    pub fn shape(&self) -> [i32; 2] {
        [self.n_out, self.n_in]
    }

    /// Whether it has a bias.
    pub fn has_bias(&self) -> bool {
        self.layout.bias == Bias::Present
    }

    /// Where it is if all experts' are together.
    pub fn stacked<'w, 'p>(&self, at: &At<'w, 'p>) -> At<'w, 'p> {
        at.at(self.layout.stacked).at(["gate_proj", "up_proj", "down_proj"][self.name_idx])
    }

    /// Where it is if each expert has its own.
    pub fn apart<'w, 'p>(&self, at: &At<'w, 'p>) -> Vec<At<'w, 'p>> {
        let each = at.at("experts");
        (0..self.layout.n_experts).map(|i| each.at(i).at(self.layout.names[self.name_idx])).collect()
    }

    /// `[E, out, in]`, and the biases `[E, out]`.
    pub fn load(&self, at: &At<'_, '_>) -> LoadResult<(Matrix, Option<Array>)> {
        let (e, Self { layout, n_out, n_in, .. }) = (self.layout.n_experts as i32, self);
        let (stacked, has_bias) = (self.stacked(at), self.has_bias());
        if stacked.has("weight") || !at.has(&format!("experts.0.{}.weight", layout.names[self.name_idx])) {
            let bias = has_bias.then(|| stacked.tensor("bias", &[e, *n_out])).transpose()?;
            return Ok((stacked.matrices(&[e, *n_out, *n_in])?, bias));
        }
        let each = self.apart(at);
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
pub fn stack_matrices(matrices: Vec<Matrix>) -> Result<Matrix> {
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
