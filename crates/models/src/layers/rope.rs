//! Rotary position embeddings (Su et al. 2021) and the ways checkpoints stretch them.

use std::rc::Rc;

use serde::Deserialize;
use serde_json::Value;

mod scaling;

use scaling::Frequencies;

use crate::mx::{self, Array, Pairs, Result};
use crate::pass::Pass;
use crate::weights::Kernels;

/// Most tokens for which a rotation is one small matrix product per token.
const N_MATRIX_MAX: usize = 8;

/// The rotary fields of config.json.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct RopeConfig {
    /// Base of the wavelengths.
    pub rope_theta: Option<f64>,
    /// How it is stretched, as written before transformers 5.
    pub rope_scaling: Option<Value>,
    /// The same, `rope_theta` included, as transformers 5 writes it.
    pub rope_parameters: Option<Value>,
    /// Part of each head that is rotated.
    pub partial_rotary_factor: Option<f64>,
    /// Trained context (`max_position_embeddings`), which the family knows.
    #[serde(skip)]
    pub n_context: usize,
    /// Context before stretching (longrope).
    pub original_max_position_embeddings: Option<f64>,
    /// What turns together, which the family knows.
    #[serde(skip)]
    pub pairs: Pairs,
}

impl RopeConfig {
    /// The base, wherever it is written.
    pub fn theta(&self) -> Option<f64> {
        let parameters = self.rope_parameters.as_ref();
        parameters.and_then(|parameters| parameters.get("rope_theta")).and_then(Value::as_f64).or(self.rope_theta)
    }

    /// What yarn multiplies the scores of latent attention by: the square of its factor for all elements (DeepSeek-AI 2024).
    pub fn stretch(&self) -> f32 {
        let scaling = self.rope_parameters.as_ref().or(self.rope_scaling.as_ref());
        let number = |name: &str| scaling?.get(name)?.as_f64();
        let (factor, all) = (number("factor").unwrap_or(1.0), number("mscale_all_dim").unwrap_or(0.0));
        let mscale = if factor > 1.0 && all != 0.0 { 0.1 * all * factor.ln() + 1.0 } else { 1.0 };
        (mscale * mscale) as f32
    }
}

/// A rotation for heads of one size, shared by the layers that use it.
#[derive(Clone, Debug)]
pub struct Rope(Rc<Spec>);

/// Wavelengths and factors.
#[derive(Debug)]
pub struct Spec {
    kernels: Kernels,
    head_dim: usize,
    pairs: Pairs,
    /// Empty where positions are left to the causal mask.
    inv_freqs: Vec<f32>,
    /// For sequences longer than `n_original` (longrope): other frequencies.
    long: Option<Long>,
    /// Multiplies what is rotated (yarn, longrope).
    attention_factor: f32,
    /// Multiplies everything: the square root of the attention scale, when the layer leaves the scale to us.
    qk_factor: f32,
    /// Wavelengths over 2 pi, for the fused kernel.
    wavelengths: Array,
    /// `[D, D]`: swaps the elements of each pair, the first negated.
    swap: Array,
}

#[derive(Debug)]
struct Long {
    n_original: usize,
    inv_freqs: Vec<f32>,
}

/// What one step needs of a rotation.
#[derive(Clone)]
pub enum Table {
    /// `[T]` positions.
    Offsets(Array),
    /// `[T, D, D]` rotations.
    Matrices(Array),
    /// `[T, 1, D]` each.
    CosSin(Array, Array),
}

impl Rope {
    /// The rotation that config.json describes, for heads of `head_dim`; `qk_factor` multiplies all results on the plain path.
    ///
    /// # Errors
    /// Names the type or field that cannot be honoured.
    pub fn new(
        config: &RopeConfig,
        head_dim: usize,
        kernels: Kernels,
        qk_factor: f32,
    ) -> std::result::Result<Self, String> {
        Ok(Self::of(Frequencies::new(config, head_dim)?, config.pairs, head_dim, kernels, qk_factor))
    }

    /// No rotation (Kazemnejad et al. 2023); `qk_factor` multiplies all results on the plain path.
    pub fn none(head_dim: usize, kernels: Kernels, qk_factor: f32) -> Self {
        let frequencies = Frequencies { inv_freqs: Vec::new(), long: None, attention_factor: 1.0 };
        Self::of(frequencies, Pairs::Halves, head_dim, kernels, qk_factor)
    }

    fn of(frequencies: Frequencies, pairs: Pairs, head_dim: usize, kernels: Kernels, qk_factor: f32) -> Self {
        let wavelengths: Vec<f32> = frequencies.inv_freqs.iter().map(|freq| 1.0 / freq).collect();
        Self(Rc::new(Spec {
            // One call of the fused kernel has one set of frequencies and no factor.
            kernels: if frequencies.long.is_some() { Kernels::Plain } else { kernels },
            head_dim,
            pairs,
            wavelengths: Array::from_slice(&wavelengths, &[wavelengths.len() as i32]),
            swap: swap(head_dim, pairs, frequencies.inv_freqs.len()),
            inv_freqs: frequencies.inv_freqs,
            long: frequencies.long,
            attention_factor: frequencies.attention_factor,
            qk_factor: if kernels == Kernels::Plain { qk_factor } else { 1.0 },
        }))
    }

    /// Rotates each head of `[T, H, D]` by its token's position.
    pub fn forward(&self, heads: &Array, pass: &mut Pass<'_>) -> Result<Array> {
        self.turned(heads, &pass.rope_table(&self.0)?)
    }

    /// The same by positions of `places`, one for each of the `T`.
    pub fn forward_at(&self, heads: &Array, places: &[Place]) -> Result<Array> {
        self.turned(heads, &self.0.table(places)?)
    }

    /// The rotation back.
    pub fn reversed(&self) -> Self {
        let spec = &*self.0;
        let back = |freqs: &[f32]| freqs.iter().map(|freq| -freq).collect();
        let frequencies = Frequencies {
            inv_freqs: back(&spec.inv_freqs),
            long: spec.long.as_ref().map(|long| Long { inv_freqs: back(&long.inv_freqs), ..*long }),
            attention_factor: spec.attention_factor,
        };
        Self::of(frequencies, spec.pairs, spec.head_dim, spec.kernels, spec.qk_factor)
    }

    fn turned(&self, heads: &Array, table: &Table) -> Result<Array> {
        let dtype = heads.dtype();
        let out = match table {
            Table::Offsets(offsets) => return self.forward_fused(heads, offsets),
            Table::Matrices(rotations) => mx::matmul(heads, rotations)?,
            Table::CosSin(cos, sin) => {
                let swapped = mx::matmul(heads, &self.0.swap)?;
                mx::add(&mx::multiply(heads, cos)?, &mx::multiply(&swapped, sin)?)?
            }
        };
        if out.dtype() == dtype { Ok(out) } else { mx::cast(&out, dtype) }
    }

    fn forward_fused(&self, heads: &Array, offsets: &Array) -> Result<Array> {
        let spec = &*self.0;
        if spec.inv_freqs.is_empty() {
            return Ok(heads.clone());
        }
        let n_dims = spec.inv_freqs.len() as i32 * 2;
        let (t, h, d) = (heads.dim(0), heads.dim(1), heads.dim(2));
        let mut x = mx::reshape(heads, &[t, h, 1, d])?;
        if spec.attention_factor != 1.0 {
            x = self.scale_rotated(&x, n_dims)?;
        }
        mx::reshape(&mx::rope(&x, n_dims, spec.pairs, offsets, &spec.wavelengths)?, &[t, h, d])
    }

    fn scale_rotated(&self, x: &Array, n_dims: i32) -> Result<Array> {
        let factors: Vec<f32> =
            (0..x.dim(-1)).map(|i| if i < n_dims { self.0.attention_factor } else { 1.0 }).collect();
        let factors = mx::cast(&Array::from_slice(&factors, &[x.dim(-1)]), x.dtype())?;
        mx::multiply(x, &factors)
    }
}

/// Where a token sits: its position, and how long its sequence is known to become.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Position of the token.
    pub position: usize,
    /// Prompt length, or what is computed already if that is more.
    pub n_total: usize,
}

impl Spec {
    /// What a step over tokens at `places` needs.
    pub fn table(&self, places: &[Place]) -> Result<Table> {
        let t = places.len() as i32;
        let d = self.head_dim;
        if self.kernels == Kernels::Fused {
            let offsets: Vec<i32> = places.iter().map(|place| place.position as i32).collect();
            return Ok(Table::Offsets(Array::from_slice(&offsets, &[t])));
        }
        let angles = places.iter().map(|&place| self.angles(place));
        if places.len() <= N_MATRIX_MAX {
            let mut rotations = vec![0.0; places.len() * d * d];
            for (rotation, angles) in rotations.chunks_exact_mut(d * d).zip(angles) {
                self.fill_matrix(rotation, &angles);
            }
            return Ok(Table::Matrices(Array::from_slice(&rotations, &[t, d as i32, d as i32])));
        }
        let (mut cos, mut sin) = (vec![self.qk_factor; places.len() * d], vec![0.0; places.len() * d]);
        for ((cos, sin), angles) in cos.chunks_exact_mut(d).zip(sin.chunks_exact_mut(d)).zip(angles) {
            for (i, angle) in angles.iter().enumerate() {
                let (s, c) = angle.sin_cos();
                for j in self.pairs.elements(i, angles.len()) {
                    cos[j] = c * self.factor();
                    sin[j] = s * self.factor();
                }
            }
        }
        let shape = [t, 1, d as i32];
        Ok(Table::CosSin(Array::from_slice(&cos, &shape), Array::from_slice(&sin, &shape)))
    }

    fn factor(&self) -> f32 {
        self.attention_factor * self.qk_factor
    }

    fn angles(&self, place: Place) -> Vec<f32> {
        let inv_freqs = match &self.long {
            Some(long) if place.n_total > long.n_original => &long.inv_freqs,
            _ => &self.inv_freqs,
        };
        inv_freqs.iter().map(|freq| place.position as f32 * freq).collect()
    }

    /// Fills `[D, D]` such that a row vector times it is rotated.
    fn fill_matrix(&self, matrix: &mut [f32], angles: &[f32]) {
        let d = self.head_dim;
        for i in 2 * angles.len()..d {
            matrix[i * d + i] = self.qk_factor;
        }
        for (i, angle) in angles.iter().enumerate() {
            let (sin, cos) = angle.sin_cos();
            let (sin, cos) = (sin * self.factor(), cos * self.factor());
            let [a, b] = self.pairs.elements(i, angles.len());
            matrix[a * d + a] = cos;
            matrix[b * d + b] = cos;
            matrix[b * d + a] = -sin;
            matrix[a * d + b] = sin;
        }
    }
}

fn swap(head_dim: usize, pairs: Pairs, n_pairs: usize) -> Array {
    let mut matrix = vec![0.0_f32; head_dim * head_dim];
    for i in 0..n_pairs {
        let [a, b] = pairs.elements(i, n_pairs);
        matrix[b * head_dim + a] = -1.0;
        matrix[a * head_dim + b] = 1.0;
    }
    Array::from_slice(&matrix, &[head_dim as i32, head_dim as i32])
}

#[cfg(test)]
#[path = "rope_tests.rs"]
mod tests;
