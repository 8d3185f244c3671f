//! A gated short convolution (Liquid AI 2025): what a layer of LFM2 has where others attend.

use std::rc::Rc;

use crate::LoadResult;
use crate::cache::state::Recurrence;
use crate::layers::linear::{Bias, Linear, Shape};
use crate::layers::recurrent::Recurrent;
use crate::layers::short_conv::ShortConv;
use crate::mx::{self, Array, Cut, Result};
use crate::pass::Pass;
use crate::weights::At;

/// `out_proj(c * conv(b * x))` with `b, c, x = in_proj(..)`.
pub struct GatedConv {
    in_proj: Linear,
    gated: Recurrent,
    out_proj: Linear,
}

/// Between the projections.
struct Gated {
    conv: ShortConv,
    n_hidden: i32,
}

impl GatedConv {
    /// Takes `in_proj`, `conv` and `out_proj`, all with a bias or none; `shape` is the hidden size and the taps.
    pub fn load(at: &At<'_, '_>, shape: [i32; 2], bias: Bias, cache_idx: usize) -> LoadResult<Self> {
        let [n_hidden, _] = shape;
        let linear = |name, n_out| Linear::load(at, Shape { name, n_out, n_in: n_hidden, bias });
        let (in_proj, out_proj) = (linear("in_proj", 3 * n_hidden)?, linear("out_proj", n_hidden)?);
        let gated = Gated { conv: ShortConv::load(&at.at("conv"), shape, bias)?, n_hidden };
        Ok(Self { in_proj, gated: Recurrent::new(Rc::new(gated), cache_idx), out_proj })
    }

    /// `[T, hidden]` to `[T, hidden]`.
    pub fn forward(&self, x: &Array, pass: &mut Pass<'_>) -> Result<Array> {
        self.out_proj.forward(&self.gated.forward(&[self.in_proj.forward(x)?], pass)?)
    }
}

impl Recurrence for Gated {
    fn start(&self, inputs: &[Array]) -> Result<Vec<Array>> {
        inputs.iter().map(|input| self.conv.start(input)).collect()
    }

    fn advance(&self, inputs: &[Array], states: &[Array]) -> Result<(Array, Vec<Array>)> {
        let ([bcx], [before]) = (inputs, states) else { unreachable!("one input and one state") };
        let n = self.n_hidden;
        let part = |i: i32| mx::slice(bcx, &[Cut { axis: 2, start: i * n, stop: (i + 1) * n }]);
        let (y, after) = self.conv.forward(&mx::multiply(&part(0)?, &part(2)?)?, before)?;
        Ok((mx::multiply(&part(1)?, &y)?, vec![after]))
    }
}
