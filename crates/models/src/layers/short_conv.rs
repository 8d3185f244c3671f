//! A causal filter of each channel over its last few inputs, as recurrent layers put before their state.

use crate::LoadResult;
use crate::layers::linear::Bias;
use crate::mx::{self, Array, Cut, Result};
use crate::weights::{At, Kernels};

/// A filter of `K` taps for each of `C` channels: `y[t] = bias + sum_k weight[k] x[t - K + 1 + k]`.
pub struct ShortConv {
    kernels: Kernels,
    /// `[C, K, 1]`.
    filters: Array,
    /// `[K, C]`, the same.
    taps: Array,
    /// `[C]`.
    bias: Option<Array>,
}

impl ShortConv {
    /// Takes `weight`, `[C, 1, K]` as published or `[C, K, 1]` as MLX has it, and `bias`, `[C]`; `shape` is `[C, K]`.
    pub fn load(at: &At<'_, '_>, shape: [i32; 2], bias: Bias) -> LoadResult<Self> {
        let [n_channels, n_taps] = shape;
        let this = Self::new(&at.vector("weight", n_channels * n_taps)?, shape, at.kernels())?;
        let bias = (bias == Bias::Present).then(|| at.tensor("bias", &[n_channels])).transpose()?;
        Ok(Self { bias, ..this })
    }

    /// Of `[C K]`, row-major, without bias.
    pub fn new(weight: &Array, shape: [i32; 2], kernels: Kernels) -> Result<Self> {
        let [n_channels, n_taps] = shape;
        let taps = mx::contiguous(&mx::transpose(&mx::reshape(weight, &shape)?)?)?;
        Ok(Self { kernels, filters: mx::reshape(weight, &[n_channels, n_taps, 1])?, taps, bias: None })
    }

    /// The inputs before a row's first, `[1, K - 1, C]`: zeros of the inputs' type.
    pub fn start(&self, x: &Array) -> Result<Array> {
        mx::zeros(&[1, self.taps.dim(0) - 1, self.taps.dim(1)], x.dtype())
    }

    /// `[R, L, C]` after the inputs `[R, K - 1, C]`: the filtered `[R, L, C]`, and the last `K - 1` inputs.
    pub fn forward(&self, x: &Array, before: &Array) -> Result<(Array, Array)> {
        let (len, n_taps) = (x.dim(1), self.taps.dim(0));
        let all = mx::concatenate(&[before, x], 1)?;
        let part = |start, stop| mx::slice(&all, &[Cut { axis: 1, start, stop }]);
        let after = part(len, len + n_taps - 1)?;
        // Of many inputs, a view would keep all alive.
        let after = if len == 1 { after } else { mx::contiguous(&after)? };
        let term = |tap: i32| {
            let taps = mx::slice(&self.taps, &[Cut { axis: 0, start: tap, stop: tap + 1 }])?;
            mx::multiply(&part(tap, tap + len)?, &taps)
        };
        let y = match self.kernels {
            _ if len == 1 => mx::sum(&mx::multiply(&all, &self.taps)?, 1)?,
            Kernels::Fused => mx::conv_channels(&all, &self.filters)?,
            Kernels::Plain => (1..n_taps).try_fold(term(0)?, |sum, tap| mx::add(&sum, &term(tap)?))?,
        };
        match &self.bias {
            Some(bias) => Ok((mx::add(&y, bias)?, after)),
            None => Ok((y, after)),
        }
    }
}

#[cfg(test)]
#[path = "short_conv_tests.rs"]
mod tests;
