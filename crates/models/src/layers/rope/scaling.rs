//! Frequencies of rotary embeddings as config.json asks for them: default, linear, llama3, yarn, longrope; partial or not.

use std::f64::consts::PI;

use serde_json::{Map, Value};

use super::{Long, RopeConfig};

/// Most rotated elements of a head.
const N_DIMS_MAX: usize = 4096;

/// What a rotation turns by.
pub(super) struct Frequencies {
    /// Radians a position, one per pair.
    pub inv_freqs: Vec<f32>,
    /// For long sequences only.
    pub long: Option<Long>,
    /// Multiplies what is rotated.
    pub attention_factor: f32,
}

/// The object that describes the stretching, with the values around it.
struct Params<'a> {
    config: &'a RopeConfig,
    object: Map<String, Value>,
    n_dims: usize,
    head_dim: usize,
    theta: f64,
}

impl Frequencies {
    /// # Errors
    /// Names the rope type or field that cannot be honoured.
    pub(super) fn new(config: &RopeConfig, head_dim: usize) -> Result<Self, String> {
        let object = config.rope_parameters.as_ref().or(config.rope_scaling.as_ref()).and_then(Value::as_object);
        let object = object.cloned().unwrap_or_default();
        let mut params = Params { config, object, n_dims: head_dim, head_dim, theta: 0.0 };
        params.theta = params.optional("rope_theta")?.or(config.rope_theta).unwrap_or(10_000.0);
        let partial = params.optional("partial_rotary_factor")?.or(config.partial_rotary_factor).unwrap_or(1.0);
        params.n_dims = (head_dim as f64 * partial) as usize;
        let is_sane = params.theta.is_finite() && params.theta >= 1.0 && (0.0..=1.0).contains(&partial);
        if !is_sane || params.n_dims == 0 || !params.n_dims.is_multiple_of(2) || params.n_dims > N_DIMS_MAX {
            let Params { theta, n_dims, .. } = params;
            return Err(format!("rope_theta {theta} with {n_dims} of {head_dim} rotated elements makes no rotation"));
        }
        params.frequencies()
    }
}

impl Params<'_> {
    fn frequencies(&self) -> Result<Frequencies, String> {
        let kind = self.object.get("rope_type").or(self.object.get("type"));
        match kind.map_or(Some("default"), Value::as_str) {
            // Of text, all three parts of `mrope` have the same position (Wang et al. 2024).
            Some("default" | "mrope") => Ok(plain(self.base())),
            Some("linear") => {
                let factor = self.factor()?;
                Ok(plain(self.base().map(|freq| freq / factor)))
            }
            Some("llama3") => self.llama3(),
            Some("yarn") => self.yarn(),
            Some("longrope" | "su") => self.longrope(),
            Some("proportional") => self.proportional(),
            _ => Err(format!(
                "rope type {} is not supported (default, linear, llama3, longrope, proportional and yarn are); pick another checkpoint",
                kind.map_or_else(String::new, Value::to_string)
            )),
        }
    }

    /// Unstretched frequencies, highest first.
    fn base(&self) -> impl Iterator<Item = f64> {
        let (theta, n_dims) = (self.theta, self.n_dims);
        (0..n_dims / 2).map(move |i| theta.powf(-((2 * i) as f64) / n_dims as f64))
    }

    /// Gemma Team 2025: wavelengths of a whole head, the longest of which do not turn.
    fn proportional(&self) -> Result<Frequencies, String> {
        let factor = self.optional("factor")?.unwrap_or(1.0);
        let freq = |i: usize| self.theta.powf(-((2 * i) as f64) / self.head_dim as f64) / factor;
        let freqs = (0..self.head_dim / 2).map(|i| if 2 * i < self.n_dims { freq(i) } else { 0.0 });
        Ok(plain(freqs))
    }

    /// Grattafiori et al. 2024: long wavelengths stretched, short ones kept, a ramp between.
    fn llama3(&self) -> Result<Frequencies, String> {
        let factor = self.factor()?;
        let low = self.optional("low_freq_factor")?.unwrap_or(1.0);
        let high = self.optional("high_freq_factor")?.unwrap_or(4.0);
        let n_original = self.optional("original_max_position_embeddings")?.unwrap_or(8192.0);
        Ok(plain(self.base().map(|freq| {
            let turns = n_original * freq / (2.0 * PI);
            if turns < low {
                freq / factor
            } else if turns > high || low == high {
                freq
            } else {
                let smooth = (turns - low) / (high - low);
                (1.0 - smooth) * freq / factor + smooth * freq
            }
        })))
    }

    /// Peng et al. 2023.
    fn yarn(&self) -> Result<Frequencies, String> {
        let factor = self.factor()?;
        let n_original = self.optional("original_max_position_embeddings")?;
        let n_original = n_original.unwrap_or(self.config.n_context as f64);
        let turns_at =
            |turns: f64| self.n_dims as f64 * (n_original / (turns * 2.0 * PI)).ln() / (2.0 * self.theta.ln());
        let mut low = turns_at(self.optional("beta_fast")?.unwrap_or(32.0));
        let mut high = turns_at(self.optional("beta_slow")?.unwrap_or(1.0));
        if self.object.get("truncate").and_then(Value::as_bool).unwrap_or(true) {
            (low, high) = (low.floor(), high.ceil());
        }
        low = low.max(0.0);
        high = high.min(self.n_dims as f64 - 1.0);
        if low == high {
            high += 0.001;
        }
        let inv_freqs = self.base().enumerate().map(|(i, freq)| {
            let ramp = ((i as f64 - low) / (high - low)).clamp(0.0, 1.0);
            (freq / factor * ramp + freq * (1.0 - ramp)) as f32
        });
        Ok(Frequencies { inv_freqs: inv_freqs.collect(), long: None, attention_factor: self.yarn_factor(factor)? })
    }

    fn yarn_factor(&self, factor: f64) -> Result<f32, String> {
        let mscale = |m: f64| if factor <= 1.0 { 1.0 } else { 0.1 * m * factor.ln() + 1.0 };
        let (one, all) = (self.optional("mscale")?, self.optional("mscale_all_dim")?);
        let computed = match (one.filter(|m| *m != 0.0), all.filter(|m| *m != 0.0)) {
            (Some(one), Some(all)) => mscale(one) / mscale(all),
            _ => mscale(1.0),
        };
        Ok(self.optional("attention_factor")?.unwrap_or(computed) as f32)
    }

    /// Ding et al. 2024: a factor per pair, one list for short and one for long sequences.
    fn longrope(&self) -> Result<Frequencies, String> {
        let n_original = self.optional("original_max_position_embeddings")?;
        let n_original = n_original.or(self.config.original_max_position_embeddings);
        let n_original = n_original.ok_or("longrope needs original_max_position_embeddings")?;
        let n_context = self.config.n_context as f64;
        let factor = self.optional("factor")?.unwrap_or(n_context / n_original);
        let computed = if factor <= 1.0 { 1.0 } else { (1.0 + factor.ln() / n_original.ln()).sqrt() };
        Ok(Frequencies {
            inv_freqs: self.divided("short_factor")?,
            long: Some(Long { n_original: n_original as usize, inv_freqs: self.divided("long_factor")? }),
            attention_factor: self.optional("attention_factor")?.unwrap_or(computed) as f32,
        })
    }

    fn divided(&self, name: &str) -> Result<Vec<f32>, String> {
        let factors =
            self.object.get(name).and_then(Value::as_array).ok_or_else(|| format!("longrope needs {name}"))?;
        let factors: Vec<_> = factors.iter().filter_map(Value::as_f64).filter(|f| f.is_finite() && *f > 0.0).collect();
        if factors.len() != self.n_dims / 2 {
            return Err(format!("{name} has {} positive numbers, but {} pairs rotate", factors.len(), self.n_dims / 2));
        }
        Ok(self.base().zip(factors).map(|(freq, factor)| (freq / factor) as f32).collect())
    }

    fn factor(&self) -> Result<f64, String> {
        self.optional("factor")?.ok_or_else(|| "rope scaling needs a factor".to_owned())
    }

    /// A positive finite number, if the object has it.
    fn optional(&self, name: &str) -> Result<Option<f64>, String> {
        match self.object.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_f64().filter(|v| v.is_finite() && *v >= 0.0) {
                Some(number) if number > 0.0 || name.starts_with("mscale") => Ok(Some(number)),
                _ => Err(format!("{name} is {value}, but must be a positive number")),
            },
        }
    }
}

fn plain(freqs: impl Iterator<Item = f64>) -> Frequencies {
    Frequencies { inv_freqs: freqs.map(|freq| freq as f32).collect(), long: None, attention_factor: 1.0 }
}
