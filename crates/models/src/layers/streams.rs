//! Several residual streams in place of one (Zhu et al. 2024): each part reads a mix of them and adds to all, and they are mixed
//! among each other by a matrix whose rows and columns sum to 1 (DeepSeek-AI 2026).

use crate::LoadResult;
use crate::layers::norm::RmsNorm;
use crate::mx::{self, Array, Cut, Dtype, Result};
use crate::weights::At;

/// Sizes and constants.
#[derive(Clone, Copy, Debug)]
pub struct StreamsLayout {
    /// How many.
    pub n: i32,
    /// Of each.
    pub n_hidden: i32,
    /// How often rows and columns are brought to 1.
    pub n_rounds: usize,
    /// Added to what divides.
    pub eps: f32,
    /// Of the norm.
    pub norm_eps: f32,
}

/// From all streams of a token to numbers that mix them.
struct Projection {
    norm: RmsNorm,
    /// `[n hidden, N]`.
    weight: Array,
    /// `[N]`.
    scale: Array,
    /// `[N]`.
    base: Array,
}

/// How one part reads and writes the streams.
pub struct Mixing {
    projection: Projection,
    layout: StreamsLayout,
}

/// A part's input, and what takes its output back.
pub struct Mixed {
    /// `[T, hidden]`.
    pub input: Array,
    /// `[T, n, 1]`: what each stream takes of the output.
    post: Array,
    /// `[T, n, n]`: what each stream takes of the streams before.
    comb: Array,
}

/// One stream out of all.
pub struct Collapse {
    projection: Projection,
    eps: f32,
}

impl StreamsLayout {
    /// The same of every stream: `[T, hidden]` to `[T, n, hidden]`.
    pub fn spread(&self, x: &Array) -> Result<Array> {
        mx::broadcast_to(&mx::expand_dims(x, 1)?, &[x.dim(0), self.n, self.n_hidden])
    }

    /// `[T, n, hidden]` as `[T, n hidden]`.
    pub fn flat(&self, streams: &Array) -> Result<Array> {
        mx::reshape(streams, &[streams.dim(0), self.n * self.n_hidden])
    }

    /// `[T, n hidden]` as `[T, n, hidden]`.
    pub fn apart(&self, flat: &Array) -> Result<Array> {
        mx::reshape(flat, &[flat.dim(0), self.n, self.n_hidden])
    }
}

impl Projection {
    /// Takes `NAME_fn`, `NAME_base` and `NAME_scale`, whose numbers are for as many outputs each as `sections` say.
    fn load(at: &At<'_, '_>, name: &str, layout: &StreamsLayout, sections: &[i32]) -> LoadResult<Self> {
        let (n_in, n_out) = (layout.n * layout.n_hidden, sections.iter().sum::<i32>());
        let part = |leaf: &str, shape: &[i32]| -> LoadResult<Array> {
            Ok(mx::cast(&at.tensor(&format!("{name}_{leaf}"), shape)?, Dtype::Float32)?)
        };
        let scale = part("scale", &[sections.len() as i32])?;
        let owners = sections.iter().enumerate().flat_map(|(at, n)| std::iter::repeat_n(at as u32, *n as usize));
        let owners = Array::from_slice(&owners.collect::<Vec<_>>(), &[n_out]);
        Ok(Self {
            norm: RmsNorm::constant(1.0, n_in, layout.norm_eps, at.kernels())?,
            weight: mx::transpose(&part("fn", &[n_out, n_in])?)?,
            scale: mx::take(&scale, &owners, 0)?,
            base: part("base", &[n_out])?,
        })
    }

    /// `[T, n, hidden]` to `[T, N]`, f32.
    fn forward(&self, streams: &Array) -> Result<Array> {
        let flat = mx::reshape(&mx::cast(streams, Dtype::Float32)?, &[streams.dim(0), -1])?;
        let mixes = mx::matmul(&self.norm.forward(&flat)?, &self.weight)?;
        mx::add(&mx::multiply(&mixes, &self.scale)?, &self.base)
    }
}

impl Mixing {
    /// Takes `NAME_fn`, `NAME_base` and `NAME_scale`.
    pub fn load(at: &At<'_, '_>, name: &str, layout: StreamsLayout) -> LoadResult<Self> {
        let n = layout.n;
        Ok(Self { projection: Projection::load(at, name, &layout, &[n, n, n * n])?, layout })
    }

    /// `[T, n, hidden]` streams to a part's input.
    pub fn split(&self, streams: &Array) -> Result<Mixed> {
        let StreamsLayout { n, eps, .. } = self.layout;
        let (t, eps) = (streams.dim(0), mx::scalar(eps));
        let mixes = self.projection.forward(streams)?;
        let part = |start, stop| mx::slice(&mixes, &[Cut { axis: 1, start, stop }]);
        let pre = mx::add(&mx::sigmoid(&part(0, n)?)?, &eps)?;
        let post = mx::scale(&mx::sigmoid(&part(n, 2 * n)?)?, 2.0)?;
        let comb = mx::softmax(&mx::reshape(&part(2 * n, 2 * n + n * n)?, &[t, n, n])?, -1)?;
        let comb = self.balanced(&mx::add(&comb, &eps)?, &eps)?;
        let dtype = streams.dtype();
        Ok(Mixed {
            input: weighed(&pre, streams)?,
            post: mx::cast(&mx::expand_dims(&post, 2)?, dtype)?,
            comb: mx::cast(&mx::transpose_axes(&comb, &[0, 2, 1])?, dtype)?,
        })
    }

    /// `[T, n, n]` with columns, then rows and columns in turn, brought to sum to 1 (Sinkhorn and Knopp 1967).
    fn balanced(&self, comb: &Array, eps: &Array) -> Result<Array> {
        let along = |comb: &Array, axis| mx::divide(comb, &mx::add(&mx::sum(comb, axis)?, eps)?);
        let mut comb = along(comb, 1)?;
        for _ in 1..self.layout.n_rounds {
            comb = along(&along(&comb, 2)?, 1)?;
        }
        Ok(comb)
    }
}

impl Mixed {
    /// `[T, n, hidden]` streams after the part has made `[T, hidden]` of its input.
    pub fn join(&self, streams: &Array, output: &Array) -> Result<Array> {
        let added = mx::multiply(&self.post, &mx::expand_dims(output, 1)?)?;
        mx::add(&added, &mx::matmul(&self.comb, streams)?)
    }
}

impl Collapse {
    /// Takes `NAME_fn`, `NAME_base` and `NAME_scale`.
    pub fn load(at: &At<'_, '_>, name: &str, layout: StreamsLayout) -> LoadResult<Self> {
        Ok(Self { projection: Projection::load(at, name, &layout, &[layout.n])?, eps: layout.eps })
    }

    /// `[T, n, hidden]` to `[T, hidden]`.
    pub fn forward(&self, streams: &Array) -> Result<Array> {
        let mixes = mx::sigmoid(&self.projection.forward(streams)?)?;
        weighed(&mx::add(&mixes, &mx::scalar(self.eps))?, streams)
    }
}

/// `[T, n]` of `[T, n, hidden]`, summed: `[T, hidden]`.
fn weighed(weights: &Array, streams: &Array) -> Result<Array> {
    let sum = mx::matmul(&mx::expand_dims(weights, 1)?, &mx::cast(streams, Dtype::Float32)?)?;
    mx::cast(&mx::reshape(&sum, &[streams.dim(0), streams.dim(2)])?, streams.dtype())
}
