//! Alternating updates (Baykal et al. 2023): a block computes on one of several streams; what it changes there corrects all.

use super::{Config, stream};
use crate::LoadResult;
use crate::layers::linear::{Bias, Linear, Shape};
use crate::layers::norm::{Centre, RmsNorm};
use crate::mx::{self, Array, Dtype, Result};
use crate::weights::At;

/// The coefficients between streams, which follow from the token.
pub(super) struct AltUp {
    router_norm: RmsNorm,
    modality_router: Linear,
    prediction_coefs: Linear,
    correction_coefs: Linear,
    n_hidden: f32,
    n_streams: i32,
    active: i32,
}

impl AltUp {
    /// Takes `altup` of a block.
    pub(super) fn load(at: &At<'_, '_>, config: &Config) -> LoadResult<Self> {
        let (n, n_hidden) = (config.altup_num_inputs as i32, config.dims.hidden_size as i32);
        let linear = |name, n_out, n_in| Linear::load(at, Shape { name, n_out, n_in, bias: Bias::Absent });
        Ok(Self {
            router_norm: RmsNorm::load(&at.at("router_norm"), n_hidden, config.dims.rms_norm_eps, Centre::Zero)?,
            modality_router: linear("modality_router", n, n_hidden)?,
            prediction_coefs: linear("prediction_coefs", n * n, n)?,
            correction_coefs: linear("correction_coefs", n, n)?,
            n_hidden: n_hidden as f32,
            n_streams: n,
            active: config.altup_active_idx as i32,
        })
    }

    /// `[T, A, hidden]` to what each stream is expected to become, and the active one `[T, hidden]` of these.
    pub(super) fn predict(&self, streams: &Array) -> Result<(Array, Array)> {
        let (t, n) = (streams.dim(0), self.n_streams);
        let modalities = self.modalities(&stream(streams, self.active)?)?;
        let coefs = mx::reshape(&self.prediction_coefs.forward(&modalities)?, &[t, n, n])?;
        let exact = mx::cast(streams, Dtype::Float32)?;
        let predicted = mx::add(&mx::matmul(&coefs, &exact)?, &exact)?;
        let predicted = mx::cast(&predicted, streams.dtype())?;
        let active = stream(&predicted, self.active)?;
        Ok((predicted, active))
    }

    /// The expected streams, corrected by what the block made of the active one; and that one, corrected.
    pub(super) fn correct(&self, predicted: &Array, activated: &Array) -> Result<(Array, Array)> {
        let coefs = self.correction_coefs.forward(&self.modalities(activated)?)?;
        let coefs = mx::expand_dims(&mx::add(&coefs, &mx::scalar(1.0))?, -1)?;
        let innovation = mx::subtract(activated, &stream(predicted, self.active)?)?;
        let innovation = mx::multiply(&mx::expand_dims(&innovation, 1)?, &coefs)?;
        let corrected = mx::cast(&mx::add(&innovation, predicted)?, activated.dtype())?;
        let active = stream(&corrected, self.active)?;
        Ok((corrected, active))
    }

    /// `[T, A]`, f32.
    fn modalities(&self, x: &Array) -> Result<Array> {
        let normed = mx::scale(&self.router_norm.forward(x)?, 1.0 / self.n_hidden)?;
        mx::tanh(&mx::cast(&self.modality_router.forward(&normed)?, Dtype::Float32)?)
    }
}
