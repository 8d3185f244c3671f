//! A causal filter of each channel over its last few inputs, as recurrent layers put before their state.

use crate::LoadResult;
use crate::mx::{self, Array, Cut, Result};
use crate::weights::{At, Kernels};

/// A filter of `K` taps for each of `C` channels.
pub struct ShortConv {
    kernels: Kernels,
    /// `[C, K, 1]`.
    filters: Array,
    /// `[K, C]`.
    taps: Array,
    n_taps: i32,
}

impl ShortConv {
    /// Takes `weight`, `[C, 1, K]` as published or `[C, K, 1]` as MLX has it; `shape` is `[C, K]`.
    pub fn load(at: &At<'_, '_>, shape: [i32; 2]) -> LoadResult<Self> {
        let [n_channels, n_taps] = shape;
        Ok(Self::new(&at.vector("weight", n_channels * n_taps)?, shape, at.kernels())?)
    }

    /// Of `[C K]`, row-major.
    pub fn new(weight: &Array, shape: [i32; 2], kernels: Kernels) -> Result<Self> {
        let [n_channels, n_taps] = shape;
        let taps = mx::contiguous(&mx::transpose(&mx::reshape(weight, &shape)?)?)?;
        Ok(Self { kernels, filters: mx::reshape(weight, &[n_channels, n_taps, 1])?, taps, n_taps })
    }

    /// The inputs before a row's first, `[1, K - 1, C]`: zeros of the inputs' type.
    pub fn start(&self, x: &Array) -> Result<Array> {
        mx::zeros(&[1, self.n_taps - 1, x.dim(-1)], x.dtype())
    }

    /// `[R, L, C]` after the inputs `[R, K - 1, C]`: the filtered `[R, L, C]`, and the last `K - 1` inputs.
    pub fn forward(&self, x: &Array, before: &Array) -> Result<(Array, Array)> {
        let (n_taps, len) = (self.n_taps, x.dim(1));
        let all = mx::concatenate(&[before, x], 1)?;
        let part = |start, stop| mx::slice(&all, &[Cut { axis: 1, start, stop }]);
        let after = mx::contiguous(&part(len, len + n_taps - 1)?)?;
        let filtered = if len == 1 {
            mx::sum(&mx::multiply(&all, &self.taps)?, 1)?
        } else if self.kernels == Kernels::Fused {
            mx::conv_channels(&all, &self.filters)?
        } else {
            let mut sum = mx::multiply(&part(0, len)?, &self.tap(0)?)?;
            for tap in 1..n_taps {
                sum = mx::add(&sum, &mx::multiply(&part(tap, tap + len)?, &self.tap(tap)?)?)?;
            }
            sum
        };
        Ok((filtered, after))
    }

    /// `[1, C]`.
    fn tap(&self, tap: i32) -> Result<Array> {
        mx::slice(&self.taps, &[Cut { axis: 0, start: tap, stop: tap + 1 }])
    }
}

#[cfg(test)]
#[path = "short_conv_tests.rs"]
mod tests;
