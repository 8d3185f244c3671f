//! A small hybrid of a gated linear recurrence and attention: the network that proves state caches.

use super::decoder::{Dims, Ends};
use super::{Model, Sizes};
use crate::LoadResult;
use crate::cache::CacheKind;
use crate::config::ConfigFile;
use crate::fixtures::{Fixture, Tensor};
use crate::layers::attention::Sdpa;
use crate::layers::linear::{Bias, Linear, Shape};
use crate::layers::norm::{Centre, Norm, NormKind};
use crate::layers::self_attention::{Layout, SelfAttention};
use crate::mx::{self, Array, Cut, Result};
use crate::pass::Pass;
use crate::weights::{At, Weights};

const RMS: NormKind = NormKind::Rms(Centre::Zero);

/// A checkpoint of it.
pub fn fixture() -> Fixture {
    let mut fixture = Fixture::read("llama_gqa");
    fixture.config["model_type"] = serde_json::json!("hybrid_test");
    fixture.tensors.retain(|tensor| !tensor.name.contains(".mlp.") && !tensor.name.contains("post_attention"));
    for layer_idx in [0, 2] {
        let path = format!("model.layers.{layer_idx}.");
        fixture.tensors.retain(|tensor| !tensor.name.starts_with(&format!("{path}self_attn")));
        for name in ["gate_proj", "in_proj", "out_proj"] {
            let name = format!("{path}recurrence.{name}.weight");
            fixture.tensors.push(Tensor {
                name,
                shape: vec![48, 48],
                kind: "matrix".into(),
                quantize: None,
                fp8: false,
                int4: false,
                blocks: false,
                fp4: false,
            });
        }
    }
    fixture
}

pub(super) fn load(file: &ConfigFile, weights: &Weights<'_>) -> LoadResult<Box<dyn Model>> {
    let dims: Dims = file.parse()?;
    let layers = weights.root().at("model.layers");
    let rope = dims.rope(file, weights.root().kernels())?;
    let mut mixers = Vec::new();
    let mut norms = Vec::new();
    for layer_idx in 0..dims.num_hidden_layers {
        let at = layers.at(layer_idx);
        norms.push(dims.norm(&at.at("input_layernorm"), RMS)?);
        mixers.push(if layer_idx % 2 == 1 {
            let sdpa = Sdpa::new(dims.attention(None), layer_idx, at.kernels());
            let layout = Layout::plain(dims.hidden_size as i32);
            Mixer::Attention(SelfAttention::load(&at.at("self_attn"), layout, sdpa, &rope)?)
        } else {
            Mixer::Recurrence(Recurrence::load(&at.at("recurrence"), dims.hidden_size as i32, layer_idx)?)
        });
    }
    let caches = mixers.iter().map(|mixer| match mixer {
        Mixer::Attention(_) => CacheKind::Full,
        Mixer::Recurrence(_) => CacheKind::State,
    });
    let sizes = Sizes { caches: caches.collect(), ..dims.sizes(vec![None]) };
    Ok(Box::new(Hybrid { ends: Ends::load(weights, &dims, RMS)?, norms, mixers, sizes }))
}

enum Mixer {
    Attention(SelfAttention),
    Recurrence(Recurrence),
}

/// `s = f s + (1 - f) u` with `f = sigmoid(gate x)` and `u = in x`; `out s`.
struct Recurrence {
    gate_proj: Linear,
    in_proj: Linear,
    out_proj: Linear,
    layer_idx: usize,
}

impl Recurrence {
    fn load(at: &At<'_, '_>, n: i32, layer_idx: usize) -> LoadResult<Self> {
        let linear = |name| Linear::load(at, Shape { name, n_out: n, n_in: n, bias: Bias::Absent });
        let (gate_proj, in_proj) = (linear("gate_proj")?, linear("in_proj")?);
        Ok(Self { gate_proj, in_proj, out_proj: linear("out_proj")?, layer_idx })
    }

    fn forward(&self, x: &Array, pass: &mut Pass<'_>) -> Result<Array> {
        let keep = mx::sigmoid(&self.gate_proj.forward(x)?)?;
        let input = self.in_proj.forward(x)?;
        let added = mx::subtract(&input, &mx::multiply(&keep, &input)?)?;
        let mut states = Vec::new();
        for row_idx in 0..pass.n_rows() {
            let row = pass.row(row_idx);
            let (start, len) = (row.start, row.len);
            let cache = row.cache.state(self.layer_idx)?;
            let mut state = match cache.get() {
                [state] => state.clone(),
                _ => mx::zeros(&[1, x.dim(1)], x.dtype())?,
            };
            for at in start..start + len {
                let cut = [Cut { axis: 0, start: at as i32, stop: at as i32 + 1 }];
                state = mx::add(&mx::multiply(&mx::slice(&keep, &cut)?, &state)?, &mx::slice(&added, &cut)?)?;
                states.push(state.clone());
            }
            cache.set(vec![state]);
        }
        self.out_proj.forward(&mx::concatenate(&states.iter().collect::<Vec<_>>(), 0)?)
    }
}

struct Hybrid {
    ends: Ends,
    norms: Vec<Norm>,
    mixers: Vec<Mixer>,
    sizes: Sizes,
}

impl Model for Hybrid {
    fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    fn hidden(&self, tokens: &Array, pass: &mut Pass<'_>) -> Result<Array> {
        let mut h = self.ends.embed(tokens)?;
        for (norm, mixer) in self.norms.iter().zip(&self.mixers) {
            let x = norm.forward(&h)?;
            let y = match mixer {
                Mixer::Attention(attention) => attention.forward(&x, pass)?,
                Mixer::Recurrence(recurrence) => recurrence.forward(&x, pass)?,
            };
            h = mx::add(&h, &y)?;
        }
        Ok(h)
    }

    fn logits(&self, hidden: &Array) -> Result<Array> {
        self.ends.logits(hidden)
    }
}
