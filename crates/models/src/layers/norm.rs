//! RMS norm (Zhang and Sennrich 2019) and layer norm (arXiv 1607.06450).

use crate::LoadResult;
use crate::layers::linear::Bias;
use crate::mx::{self, Array, Cut, Result};
use crate::weights::{At, Kernels};

/// What a stored weight of `w` multiplies by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Centre {
    /// `w`.
    Zero,
    /// `1 + w`, as Gemma stores it.
    One,
    /// Nothing: none is stored.
    Unweighted,
}

/// Which norm a family has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormKind {
    /// Unit mean square.
    Rms(Centre),
    /// Zero mean and unit variance.
    Layer(Bias),
}

/// A norm over the hidden size.
#[derive(Clone, Debug)]
pub enum Norm {
    /// Unit mean square.
    Rms(RmsNorm),
    /// Zero mean and unit variance.
    Layer(LayerNorm),
}

impl Norm {
    /// Takes `weight`, `[n]`, and `bias` where the kind has one.
    pub fn load(at: &At<'_, '_>, n: i32, eps: f32, kind: NormKind) -> LoadResult<Self> {
        Ok(match kind {
            NormKind::Rms(centre) => Self::Rms(RmsNorm::load(at, n, eps, centre)?),
            NormKind::Layer(bias) => {
                let bias = (bias == Bias::Present).then(|| at.tensor("bias", &[n])).transpose()?;
                Self::Layer(LayerNorm { weight: at.tensor("weight", &[n])?, bias, eps })
            }
        })
    }

    /// Norms over the last axis of `[.., N]`.
    pub fn forward(&self, x: &Array) -> Result<Array> {
        match self {
            Self::Rms(norm) => norm.forward(x),
            Self::Layer(LayerNorm { weight, bias, eps }) => mx::layer_norm(x, weight, bias.as_ref(), *eps),
        }
    }
}

/// Takes the mean away, scales to unit variance, then by a weight per element.
#[derive(Clone, Debug)]
pub struct LayerNorm {
    /// `[N]`.
    weight: Array,
    bias: Option<Array>,
    eps: f32,
}

/// Scales vectors to unit mean square, then by a weight per element.
#[derive(Clone, Debug)]
pub struct RmsNorm {
    kernels: Kernels,
    /// `[N]`; for `Kernels::Plain` times `sqrt(N)`, which spares dividing the sum by `N`.
    weight: Array,
    is_weighted: bool,
    eps: f32,
    /// `[1, 1]`, `N * eps`.
    eps_sum: Array,
}

impl RmsNorm {
    /// Takes `weight`, `[n]`, where there is one.
    pub fn load(at: &At<'_, '_>, n: i32, eps: f32, centre: Centre) -> LoadResult<Self> {
        let weight = match centre {
            Centre::Zero => at.tensor("weight", &[n])?,
            Centre::One => {
                let stored = at.tensor("weight", &[n])?;
                mx::cast(&mx::add(&stored, &mx::scalar(1.0))?, stored.dtype())?
            }
            Centre::Unweighted => Array::from_slice(&vec![1.0_f32; n.max(0) as usize], &[n]),
        };
        Ok(Self { is_weighted: centre != Centre::Unweighted, ..Self::new(&weight, eps, at.kernels())? })
    }

    /// The same weight for all `n` elements.
    pub fn constant(weight: f32, n: i32, eps: f32, kernels: Kernels) -> Result<Self> {
        Self::new(&Array::from_slice(&vec![weight; n as usize], &[n]), eps, kernels)
    }

    /// A norm with a weight `[N]` of its own.
    pub fn new(weight: &Array, eps: f32, kernels: Kernels) -> Result<Self> {
        let n = weight.shape().last().copied().unwrap_or(1) as f32;
        let weight = match kernels {
            Kernels::Fused => weight.clone(),
            Kernels::Plain => mx::multiply(weight, &mx::scalar(n.sqrt()))?,
        };
        Ok(Self { kernels, weight, is_weighted: true, eps, eps_sum: Array::from_slice(&[n * eps], &[1, 1]) })
    }

    /// Norms over the last axis of `[.., N]`.
    pub fn forward(&self, x: &Array) -> Result<Array> {
        match self.kernels {
            Kernels::Fused => mx::rms_norm(x, self.is_weighted.then_some(&self.weight), self.eps),
            Kernels::Plain => self.forward_with(x, &self.weight),
        }
    }

    fn forward_with(&self, x: &Array, weight: &Array) -> Result<Array> {
        let sum = mx::sum(&mx::square(x)?, -1)?;
        let scale = mx::rsqrt(&mx::add(&sum, &self.eps_sum)?)?;
        mx::multiply(&mx::multiply(x, &scale)?, weight)
    }
}

/// RMS norms of queries and keys: the first `n_first` heads by one weight, the others by another.
#[derive(Clone, Debug)]
pub struct HeadNorm {
    first: RmsNorm,
    other: RmsNorm,
    n_first: i32,
    /// `[H, D]`, both weights repeated per head.
    weight: Array,
}

impl HeadNorm {
    /// Joins the norms of `n_first` and `n_other` heads.
    pub fn new(first: RmsNorm, n_first: i32, other: RmsNorm, n_other: i32) -> Result<Self> {
        let rows = |norm: &RmsNorm, n: i32| mx::broadcast_to(&norm.weight, &[n, norm.weight.dim(-1)]);
        let weight = mx::concatenate(&[&rows(&first, n_first)?, &rows(&other, n_other)?], 0)?;
        Ok(Self { first, other, n_first, weight })
    }

    /// Norms each head of `[T, H, D]`.
    pub fn forward(&self, heads: &Array) -> Result<Array> {
        match self.first.kernels {
            Kernels::Fused => {
                let part = |start, stop| mx::slice(heads, &[Cut { axis: 1, start, stop }]);
                let first = self.first.forward(&part(0, self.n_first)?)?;
                let other = self.other.forward(&part(self.n_first, heads.dim(1))?)?;
                mx::concatenate(&[&first, &other], 1)
            }
            Kernels::Plain => self.first.forward_with(heads, &self.weight),
        }
    }
}

/// RMS norms of all query heads together and of all key heads together.
#[derive(Clone, Debug)]
pub struct HeadsNorm {
    first: RmsNorm,
    n_first: i32,
    other: RmsNorm,
}

impl HeadsNorm {
    /// Norms of the first `n_first` heads and of the others.
    pub fn new(first: RmsNorm, n_first: i32, other: RmsNorm) -> Self {
        Self { first, n_first, other }
    }

    /// Norms `[T, H, D]`.
    pub fn forward(&self, heads: &Array) -> Result<Array> {
        let (t, d) = (heads.dim(0), heads.dim(2));
        let part = |start, stop, norm: &RmsNorm| {
            let vectors = mx::reshape(&mx::slice(heads, &[Cut { axis: 1, start, stop }])?, &[t, (stop - start) * d])?;
            mx::reshape(&norm.forward(&vectors)?, &[t, stop - start, d])
        };
        let first = part(0, self.n_first, &self.first)?;
        mx::concatenate(&[&first, &part(self.n_first, heads.dim(1), &self.other)?], 1)
    }
}
