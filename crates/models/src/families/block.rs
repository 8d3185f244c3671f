//! The decoder that most families are: blocks of attention and feed-forward around a residual stream. A [`Recipe`] says
//! where the norms sit, which layers see how far, and what is scaled.

use std::rc::Rc;

use super::decoder::{Dims, Ends};
use super::{Model, Predictor, Sizes};
use crate::LoadResult;
use crate::cache::CacheKind;
use crate::layers::attention::{AttentionShape, Sdpa};
use crate::layers::mla::{Mla, MlaLayout};
use crate::layers::mlp::{GatedMlp, MlpLayout};
use crate::layers::moe::{Moe, MoeLayout};
use crate::layers::norm::{Centre, Norm, NormKind};
use crate::layers::rope::Rope;
use crate::layers::self_attention::{Layout, SelfAttention};
use crate::mx::{self, Array, Dtype, Result};
use crate::pass::{Pass, Reach};
use crate::weights::{At, Weights};

mod attention;
mod head;

use attention::Attention;
pub use attention::{LoadMixer, Mixer};
use head::Head;
pub use head::{Chained, HeadLayout};

/// What a family decides.
pub struct Recipe {
    /// Sizes.
    pub dims: Dims,
    /// Attention's biases, norms and projections.
    pub attention: Layout,
    /// Latent attention, in place of that, with the rotation of its indexer.
    pub mla: Option<(MlaLayout, Rope)>,
    /// Multiplies the attention scores.
    pub scale: f32,
    /// Bounds the attention scores.
    pub cap: Option<f32>,
    /// The dense feed-forward part.
    pub mlp: MlpLayout,
    /// The sparse one, in the layers that say so.
    pub moe: Option<MoeLayout>,
    /// Around both parts.
    pub norms: Norms,
    /// One a layer.
    pub layers: Vec<Layer>,
    /// What layers have in place of attention.
    pub recurrent: Option<Box<LoadMixer>>,
    /// What a layer's window means.
    pub local: Local,
    /// The block of the head `mtp`, which predicts the token after the next; `None` = there is none.
    pub head: Option<HeadLayout>,
    /// What is scaled.
    pub scaling: Scaling,
}

/// What the window of a layer that does not see everything means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Local {
    /// It moves with the query.
    Sliding,
    /// Positions are cut into chunks of that many.
    Chunked,
}

/// One layer's own choices.
#[derive(Clone)]
pub struct Layer {
    /// How far back it sees; `None` = all the way.
    pub window: Option<usize>,
    /// In place of the recipe's.
    pub attention: Option<Layout>,
    /// How it marks positions.
    pub rope: Rope,
    /// Which feed-forward part it has.
    pub mlp: MlpKind,
    /// In place of the recipe's.
    pub norms: Option<Norms>,
}

/// Which feed-forward part a layer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MlpKind {
    /// One for all tokens.
    Dense,
    /// Experts.
    Sparse,
}

/// Names of the norms around attention and feed-forward; `None` = there is none.
#[derive(Clone, Copy, Debug)]
pub struct Norms {
    /// Which norm.
    pub kind: NormKind,
    /// Of attention's input.
    pub before_attention: Option<&'static str>,
    /// Of attention's output.
    pub after_attention: Option<&'static str>,
    /// Of feed-forward's input.
    pub before_mlp: Option<&'static str>,
    /// Of feed-forward's output.
    pub after_mlp: Option<&'static str>,
    /// What feed-forward starts from.
    pub order: Order,
}

/// What the feed-forward part of a block starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// What attention added to.
    Sequential,
    /// What attention started from, normed alike.
    Parallel,
}

/// Factors outside the parts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scaling {
    /// Of the embedding.
    pub embedding: Option<f32>,
    /// Of what a part adds to the residual stream.
    pub residual: Option<f32>,
    /// Divides the logits.
    pub logits: Option<f32>,
    /// Bounds the logits: `cap * tanh(logits / cap)`.
    pub logits_cap: Option<f32>,
}

impl Norms {
    /// `x + part(norm(x))`.
    pub const PRE: Self = Self {
        kind: NormKind::Rms(Centre::Zero),
        before_attention: Some("input_layernorm"),
        after_attention: None,
        before_mlp: Some("post_attention_layernorm"),
        after_mlp: None,
        order: Order::Sequential,
    };

    /// `x + norm(part(x))`.
    pub const POST: Self = Self {
        kind: NormKind::Rms(Centre::Zero),
        before_attention: None,
        after_attention: Some("post_attention_layernorm"),
        before_mlp: None,
        after_mlp: Some("post_feedforward_layernorm"),
        order: Order::Sequential,
    };

    /// `x + norm(part(norm(x)))`.
    pub const BOTH: Self = Self {
        kind: NormKind::Rms(Centre::Zero),
        before_attention: Some("input_layernorm"),
        after_attention: Some("post_attention_layernorm"),
        before_mlp: Some("pre_feedforward_layernorm"),
        after_mlp: Some("post_feedforward_layernorm"),
        order: Order::Sequential,
    };
}

impl Layer {
    /// Dense layers of the given windows with one rotation.
    pub fn dense(windows: Vec<Option<usize>>, rope: &Rope) -> Vec<Self> {
        let layer = |window| Self { window, attention: None, rope: rope.clone(), mlp: MlpKind::Dense, norms: None };
        windows.into_iter().map(layer).collect()
    }
}

impl Recipe {
    /// Pre-norm, one rotation, dense: what a family changes some of.
    pub fn new(dims: Dims, windows: Vec<Option<usize>>, rope: &Rope) -> Self {
        Self {
            attention: Layout::plain(dims.hidden_size as i32),
            mla: None,
            scale: dims.attention(None).scale,
            cap: None,
            mlp: MlpLayout::default(),
            moe: None,
            norms: Norms::PRE,
            layers: Layer::dense(windows, rope),
            recurrent: None,
            local: Local::Sliding,
            head: None,
            scaling: Scaling::default(),
            dims,
        }
    }

    /// Takes the whole network.
    pub fn load(self, weights: &Weights<'_>) -> LoadResult<Box<dyn Model>> {
        let layers = weights.root().at("model.layers");
        let blocks = self.layers.iter().enumerate().map(|(layer_idx, layer)| {
            let at = layers.at(layer_idx);
            let mixer = self.recurrent.as_ref().map(|load| load(&at, layer_idx)).transpose()?.flatten();
            Block::load(&at, &self, (layer, [layer_idx, self.layers.len() + layer_idx]), mixer)
        });
        let blocks = blocks.collect::<LoadResult<Vec<Block>>>()?;
        let ends = Rc::new(Ends::load(weights, &self.dims, self.norms.kind)?);
        let head = self.head.as_ref().map(|head| Head::load(&weights.root().at("mtp"), &self, head, &ends));
        let attending = blocks.iter().zip(&self.layers).filter(|(block, _)| block.self_attn.mixer().is_none());
        let mut sizes = self.dims.sizes(attending.map(|(_, layer)| layer.window).collect());
        let n_attending = sizes.caches.len();
        if let Some((mla, _)) = &self.mla {
            let n_index = mla.index.map_or(0, |index| index.head_dim);
            sizes.n_kv_elements = n_attending * (mla.shape().head_dim + n_index) as usize;
        }
        let caches = blocks.iter().zip(&self.layers).map(|(block, layer)| match block.self_attn.mixer() {
            Some(_) => CacheKind::State,
            None => CacheKind::from(layer.window),
        });
        sizes.caches = caches.collect();
        if self.mla.as_ref().is_some_and(|(mla, _)| mla.index.is_some()) {
            sizes.caches.extend(vec![CacheKind::Full; self.layers.len()]);
        }
        Ok(Box::new(Decoder { ends, blocks, sizes, scaling: self.scaling, head: head.transpose()? }))
    }

    fn shape(&self, layer: &Layer) -> AttentionShape {
        let reach = match (layer.window, self.local) {
            (Some(size), Local::Chunked) => Reach::Chunk(size),
            (window, _) => window.into(),
        };
        AttentionShape { scale: self.scale, cap: self.cap, reach, ..self.dims.attention(None) }
    }
}

struct Block {
    before_attention: Option<Norm>,
    self_attn: Attention,
    after_attention: Option<Norm>,
    before_mlp: Option<Norm>,
    mlp: FeedForward,
    after_mlp: Option<Norm>,
    residual: Option<f32>,
    order: Order,
}

enum FeedForward {
    Dense(GatedMlp),
    Sparse(Box<Moe>),
}

impl Block {
    /// Takes the block of a layer whose attention has the first of the caches, and its indexer the second; `mixer` is in place of its
    /// attention.
    fn load(
        at: &At<'_, '_>,
        recipe: &Recipe,
        (layer, caches): (&Layer, [usize; 2]),
        mixer: Option<Box<dyn Mixer>>,
    ) -> LoadResult<Self> {
        let (dims, norms) = (&recipe.dims, layer.norms.unwrap_or(recipe.norms));
        let norm = |name: Option<&str>| name.map(|name| dims.norm(&at.at(name), norms.kind)).transpose();
        let self_attn = match (mixer, &recipe.mla) {
            (Some(mixer), _) => Attention::Other(mixer),
            (None, Some((mla, index_rope))) => {
                let ropes = [&layer.rope, index_rope];
                Attention::Latent(Box::new(Mla::load(&at.at("self_attn"), *mla, caches, ropes)?))
            }
            (None, None) => {
                let sdpa = Sdpa::new(recipe.shape(layer), caches[0], at.kernels());
                let at = at.at("self_attn");
                Attention::Grouped(Box::new(SelfAttention::load(
                    &at,
                    layer.attention.unwrap_or(recipe.attention),
                    sdpa,
                    &layer.rope,
                )?))
            }
        };
        let mlp = match (layer.mlp, &recipe.moe) {
            (MlpKind::Sparse, Some(moe)) => FeedForward::Sparse(Box::new(Moe::load(at, dims.hidden_size as i32, moe)?)),
            _ => FeedForward::Dense(GatedMlp::load(&at.at("mlp"), dims.mlp(), recipe.mlp)?),
        };
        Ok(Self {
            before_attention: norm(norms.before_attention)?,
            self_attn,
            after_attention: norm(norms.after_attention)?,
            before_mlp: norm(norms.before_mlp)?,
            mlp,
            after_mlp: norm(norms.after_mlp)?,
            residual: recipe.scaling.residual,
            order: norms.order,
        })
    }

    fn forward(&self, x: &Array, pass: &mut Pass<'_>) -> Result<Array> {
        let input = normed(self.before_attention.as_ref(), x)?;
        if self.order == Order::Parallel {
            let h = self.self_attn.forward_onto(x, &input, pass)?;
            return match &self.mlp {
                FeedForward::Dense(mlp) => mlp.forward_onto(&h, &input),
                FeedForward::Sparse(moe) => self.joined(&h, &moe.forward(&input)?),
            };
        }
        let h = if self.after_attention.is_none() && self.residual.is_none() {
            self.self_attn.forward_onto(x, &input, pass)?
        } else {
            self.joined(x, &normed(self.after_attention.as_ref(), &self.self_attn.forward(&input, pass)?)?)?
        };
        let input = normed(self.before_mlp.as_ref(), &h)?;
        match &self.mlp {
            FeedForward::Dense(mlp) if self.after_mlp.is_none() && self.residual.is_none() => {
                mlp.forward_onto(&h, &input)
            }
            FeedForward::Dense(mlp) => self.joined(&h, &normed(self.after_mlp.as_ref(), &mlp.forward(&input)?)?),
            FeedForward::Sparse(moe) => self.joined(&h, &normed(self.after_mlp.as_ref(), &moe.forward(&input)?)?),
        }
    }

    /// `x + y`, scaled where the family scales it.
    fn joined(&self, x: &Array, y: &Array) -> Result<Array> {
        match self.residual {
            Some(factor) => add_in_range(x, &mx::scale(y, factor)?),
            None => add_in_range(x, y),
        }
    }
}

fn normed(norm: Option<&Norm>, x: &Array) -> Result<Array> {
    norm.map_or_else(|| Ok(x.clone()), |norm| norm.forward(x))
}

/// `cap * tanh(x / cap)`.
pub(super) fn capped(x: &Array, cap: f32) -> Result<Array> {
    mx::scale(&mx::tanh(&mx::scale(x, 1.0 / cap)?)?, cap)
}

/// `x + y`, kept inside what f16 holds: some families' residual streams outgrow it.
fn add_in_range(x: &Array, y: &Array) -> Result<Array> {
    if x.dtype() != Dtype::Float16 {
        return mx::add(x, y);
    }
    let bound = 65_504.0;
    let sum = mx::add(&mx::cast(x, Dtype::Float32)?, &mx::cast(y, Dtype::Float32)?)?;
    let clipped = mx::maximum(&mx::minimum(&sum, &mx::scalar(bound))?, &mx::scalar(-bound))?;
    mx::cast(&clipped, Dtype::Float16)
}

struct Decoder {
    ends: Rc<Ends>,
    blocks: Vec<Block>,
    sizes: Sizes,
    scaling: Scaling,
    head: Option<Head>,
}

impl Model for Decoder {
    fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    fn hidden(&self, tokens: &Array, pass: &mut Pass<'_>) -> Result<Array> {
        let mut h = self.ends.embed(tokens)?;
        if let Some(factor) = self.scaling.embedding {
            h = mx::scale(&h, factor)?;
        }
        for block in &self.blocks {
            h = block.forward(&h, pass)?;
        }
        Ok(h)
    }

    fn predictor(&self) -> Option<&dyn Predictor> {
        self.head.as_ref().map(|head| head as &dyn Predictor)
    }

    fn can_take_back(&self) -> bool {
        self.blocks.iter().filter_map(|block| block.self_attn.mixer()).all(Mixer::can_take_back)
    }

    fn logits(&self, hidden: &Array) -> Result<Array> {
        let mut logits = self.ends.logits(hidden)?;
        if let Some(divisor) = self.scaling.logits {
            logits = mx::divide(&logits, &mx::cast(&mx::scalar(divisor), logits.dtype())?)?;
        }
        match self.scaling.logits_cap {
            Some(cap) => capped(&logits, cap),
            None => Ok(logits),
        }
    }
}
