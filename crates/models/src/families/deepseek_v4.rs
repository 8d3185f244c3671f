//! DeepSeek V4 (DeepSeek-AI 2026): windows beside pooled groups of tokens, several residual streams, and first layers whose experts
//! follow from the token.

mod head;

use std::rc::Rc;

use serde::Deserialize;
use serde_json::Value;

use self::head::Head;
use super::decoder::{Dims, Ends};
use super::experts::Experts;
use super::stack::RMS;
use super::{Model, Predictor, Sizes};
use crate::LoadResult;
use crate::cache::CacheKind;
use crate::config::{ConfigFile, Limit};
use crate::layers::mlp::Activation;
use crate::layers::moe::{Glu, Moe, MoeLayout, Scoring, Shared};
use crate::layers::norm::Norm;
use crate::layers::pooled::{Overlap, PoolLayout, PooledAttention, PooledLayout, SeenLayout};
use crate::layers::rope::{Rope, RopeConfig};
use crate::layers::streams::{Collapse, Mixing, StreamsLayout};
use crate::mx::{self, Array, Pairs, Result};
use crate::pass::Pass;
use crate::weights::{At, Kernels, Weights};

#[derive(Deserialize)]
struct Config {
    #[serde(flatten)]
    dims: Dims,
    q_lora_rank: usize,
    qk_rope_head_dim: usize,
    o_groups: usize,
    o_lora_rank: usize,
    sliding_window: usize,
    /// Tokens that each layer pools into one: 0, 4 or 128.
    compress_ratios: Vec<usize>,
    compress_rate_csa: Option<usize>,
    compress_rate_hca: Option<usize>,
    compress_rope_theta: f64,
    index_n_heads: usize,
    index_head_dim: usize,
    index_topk: usize,
    hc_mult: usize,
    hc_sinkhorn_iters: usize,
    hc_eps: f32,
    #[serde(default)]
    num_hash_layers: usize,
    n_routed_experts: usize,
    num_experts_per_tok: usize,
    n_shared_experts: Option<usize>,
    moe_intermediate_size: usize,
    scoring_func: Option<String>,
    routed_scaling_factor: Option<f32>,
    swiglu_limit: Option<f32>,
}

/// How a layer pools.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Window,
    /// Overlapping groups, some of which are picked.
    Sparse,
    /// Large groups, all of which are seen.
    Heavy,
}

impl Config {
    fn check(&self, file: &ConfigFile) -> LoadResult<()> {
        self.dims.check(file)?;
        file.check(&[
            Limit::positive("q_lora_rank", self.q_lora_rank, 1 << 17),
            Limit { name: "qk_rope_head_dim", value: self.qk_rope_head_dim, low: 2, high: self.dims.head_dim() },
            Limit::positive("o_groups", self.o_groups, self.dims.num_attention_heads),
            Limit::positive("o_lora_rank", self.o_lora_rank, 1 << 17),
            Limit::positive("sliding_window", self.sliding_window, 1 << 20),
            Limit::positive("compress_rate_csa", self.rate(Kind::Sparse), 1 << 12),
            Limit::positive("compress_rate_hca", self.rate(Kind::Heavy), 1 << 12),
            Limit::positive("index_n_heads", self.index_n_heads, 1024),
            Limit { name: "index_head_dim", value: self.index_head_dim, low: self.qk_rope_head_dim, high: 4096 },
            Limit::positive("index_topk", self.index_topk, 1 << 30),
            Limit::positive("hc_mult", self.hc_mult, 64),
            Limit::positive("hc_sinkhorn_iters", self.hc_sinkhorn_iters, 1000),
        ])?;
        let n_layers = self.dims.num_hidden_layers;
        // What is left over is for heads that predict several tokens.
        if self.compress_ratios.len() < n_layers {
            let n = self.compress_ratios.len();
            return Err(file.error(&format!("compress_ratios has {n} entries for {n_layers} layers")));
        }
        if !self.dims.num_attention_heads.is_multiple_of(self.o_groups) {
            let (heads, groups) = (self.dims.num_attention_heads, self.o_groups);
            return Err(file.error(&format!("{heads} attention heads do not make {groups} equal o_groups")));
        }
        let sizes = [
            (Kind::Sparse, self.dims.head_dim()),
            (Kind::Sparse, self.index_head_dim),
            (Kind::Heavy, self.dims.head_dim()),
        ];
        match sizes.into_iter().find(|(kind, size)| !size.is_multiple_of(self.rate(*kind))) {
            Some((kind, size)) => {
                Err(file
                    .error(&format!("heads of {size} elements do not split into groups of {} tokens", self.rate(kind))))
            }
            None => Ok(()),
        }
    }

    /// Whether a head's layer, which comes after the last, would see a window alone.
    fn has_plain_head(&self) -> bool {
        matches!(self.compress_ratios.get(self.dims.num_hidden_layers), None | Some(0))
    }

    fn rate(&self, kind: Kind) -> usize {
        match kind {
            Kind::Window => 0,
            Kind::Sparse => self.compress_rate_csa.unwrap_or(4),
            Kind::Heavy => self.compress_rate_hca.unwrap_or(128),
        }
    }

    fn kind(&self, file: &ConfigFile, layer_idx: usize) -> LoadResult<Kind> {
        match self.compress_ratios.get(layer_idx) {
            Some(0) => Ok(Kind::Window),
            Some(4) => Ok(Kind::Sparse),
            Some(128) => Ok(Kind::Heavy),
            other => {
                let other = other.copied().unwrap_or_default();
                Err(file.error(&format!("compress_ratios has {other}, but only 0, 4 and 128 are known")))
            }
        }
    }

    /// Layers of windows alone are not stretched.
    fn rope(&self, file: &ConfigFile, kind: Kind, kernels: Kernels) -> LoadResult<Rope> {
        let mut rope = self.dims.rope.clone();
        rope.n_context = self.dims.max_position_embeddings;
        rope.pairs = Pairs::Neighbours;
        if kind == Kind::Window {
            rope = RopeConfig { rope_scaling: None, rope_parameters: None, ..rope };
        } else {
            rope.rope_theta = Some(self.compress_rope_theta);
            for scaling in [&mut rope.rope_scaling, &mut rope.rope_parameters].into_iter().flatten() {
                if let Some(fields) = scaling.as_object_mut() {
                    // What is rotated keeps its length.
                    fields.entry("attention_factor").or_insert(Value::from(1.0));
                    fields.remove("rope_theta");
                }
            }
        }
        Rope::new(&rope, self.qk_rope_head_dim, kernels, 1.0).map_err(|detail| file.error(&detail))
    }

    /// The layer's attention, whose caches come after those in `caches`.
    fn attention(&self, kind: Kind, caches: &mut Vec<CacheKind>) -> PooledLayout {
        let mut next = |kind: CacheKind| {
            caches.push(kind);
            caches.len() - 1
        };
        let window_cache = next(CacheKind::Rotating { window: self.sliding_window });
        let eps = self.dims.rms_norm_eps;
        let mut pool = |size: usize, overlap| PoolLayout {
            rate: self.rate(kind),
            size: size as i32,
            overlap,
            eps,
            entries_cache: next(CacheKind::Full),
            state_cache: next(CacheKind::State),
        };
        let (own, seen) = match kind {
            Kind::Window => (None, None),
            Kind::Heavy => (Some(pool(self.dims.head_dim(), Overlap::None)), None),
            Kind::Sparse => {
                let own = pool(self.dims.head_dim(), Overlap::Previous);
                let keys = pool(self.index_head_dim, Overlap::Previous);
                (Some(own), Some(SeenLayout { n_heads: self.index_n_heads as i32, top_k: self.index_topk, pool: keys }))
            }
        };
        PooledLayout {
            n_hidden: self.dims.hidden_size as i32,
            n_heads: self.dims.num_attention_heads as i32,
            head_dim: self.dims.head_dim() as i32,
            q_lora_rank: self.q_lora_rank as i32,
            o_groups: self.o_groups as i32,
            o_lora_rank: self.o_lora_rank as i32,
            window: self.sliding_window,
            eps,
            window_cache,
            pool: own,
            seen,
        }
    }

    fn moe(&self, file: &ConfigFile) -> LoadResult<MoeLayout> {
        let scoring = match self.scoring_func.as_deref() {
            None | Some("sqrtsoftplus") => Scoring::RootOfSoftplus,
            Some("sigmoid") => Scoring::Sigmoid,
            Some("softmax") => Scoring::Softmax,
            Some(other) => return Err(file.error(&format!("scoring_func {other:.40?} is not known"))),
        };
        let experts =
            Experts { n: self.n_routed_experts, top_k: self.num_experts_per_tok, n_inner: self.moe_intermediate_size };
        let mut moe = experts.layout(file, scoring)?;
        moe.name = "ffn";
        moe.names = ["w1", "w3", "w2"];
        moe.router.is_normalised = true;
        moe.router.factor = self.routed_scaling_factor.unwrap_or(1.0);
        if let Some(limit) = self.swiglu_limit.filter(|limit| *limit > 0.0) {
            moe.glu = Glu::Bounded { activation: Activation::Silu, limit };
        }
        let n_shared = self.n_shared_experts.unwrap_or(1).min(64);
        let n_inner = self.moe_intermediate_size * n_shared;
        moe.shared = (n_shared > 0).then_some(Shared { name: "shared_experts", n_inner, gate: None });
        Ok(moe)
    }

    fn streams(&self) -> StreamsLayout {
        StreamsLayout {
            n: self.hc_mult as i32,
            n_hidden: self.dims.hidden_size as i32,
            n_rounds: self.hc_sinkhorn_iters,
            eps: self.hc_eps,
            norm_eps: self.dims.rms_norm_eps,
        }
    }
}

struct Block {
    attn_mixing: Mixing,
    attn_norm: Norm,
    attn: PooledAttention,
    ffn_mixing: Mixing,
    ffn_norm: Norm,
    ffn: Moe,
    /// `[V, K]`: the experts of each token.
    tid2eid: Option<Array>,
}

impl Block {
    /// Takes the block; where nothing corrects its router, experts follow from the token.
    fn load(
        at: &At<'_, '_>,
        config: &Config,
        (attention, rope): (PooledLayout, &Rope),
        moe: &MoeLayout,
    ) -> LoadResult<Self> {
        let norm = |name: &str| config.dims.norm(&at.at(name), RMS);
        let gate = at.at("ffn").at("gate");
        let shape = [config.dims.vocab_size as i32, config.num_experts_per_tok as i32];
        let is_hashed = moe.router.correction.is_none();
        let tid2eid = is_hashed.then(|| gate.ids("tid2eid", &shape, config.n_routed_experts as i32)).transpose()?;
        Ok(Self {
            attn_mixing: Mixing::load(at, "hc_attn", config.streams())?,
            attn_norm: norm("attn_norm")?,
            attn: PooledAttention::load(&at.at("attn"), attention, rope, config.qk_rope_head_dim as i32)?,
            ffn_mixing: Mixing::load(at, "hc_ffn", config.streams())?,
            ffn_norm: norm("ffn_norm")?,
            ffn: Moe::load(at, config.dims.hidden_size as i32, moe)?,
            tid2eid,
        })
    }

    fn forward(&self, streams: &Array, tokens: &Array, pass: &mut Pass<'_>) -> Result<Array> {
        let mixed = self.attn_mixing.split(streams)?;
        let streams = mixed.join(streams, &self.attn.forward(&self.attn_norm.forward(&mixed.input)?, pass)?)?;
        let mixed = self.ffn_mixing.split(&streams)?;
        let x = self.ffn_norm.forward(&mixed.input)?;
        let out = match &self.tid2eid {
            Some(experts) => self.ffn.forward_to(&mx::take(experts, tokens, 0)?, &x)?,
            None => self.ffn.forward(&x)?,
        };
        mixed.join(&streams, &out)
    }
}

struct DeepseekV4 {
    ends: Rc<Ends>,
    blocks: Vec<Block>,
    streams: StreamsLayout,
    collapse: Collapse,
    sizes: Sizes,
    head: Option<Head>,
}

impl Model for DeepseekV4 {
    fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    fn hidden(&self, tokens: &Array, pass: &mut Pass<'_>) -> Result<Array> {
        let mut streams = self.streams.spread(&self.ends.embed(tokens)?)?;
        for block in &self.blocks {
            streams = block.forward(&streams, tokens, pass)?;
        }
        self.streams.flat(&streams)
    }

    fn logits(&self, hidden: &Array) -> Result<Array> {
        self.ends.logits(&self.collapse.forward(&self.streams.apart(hidden)?)?)
    }

    fn predictor(&self) -> Option<&dyn Predictor> {
        self.head.as_ref().map(|head| head as &dyn Predictor)
    }

    fn can_take_back(&self) -> bool {
        true
    }
}

/// Builds the network.
pub(super) fn load(file: &ConfigFile, weights: &Weights<'_>) -> LoadResult<Box<dyn Model>> {
    // There is no dense part.
    let file = &file.with_defaults(&[("intermediate_size", 1.into())]);
    let config: Config = file.parse()?;
    config.check(file)?;
    let mut moe = config.moe(file)?;
    let has_head = weights.contains("mtp.0.e_proj.weight") && config.has_plain_head();
    weights.rename(|name| renamed(name, has_head));
    let root = weights.root();
    let (model, layers) = (root.at("model"), root.at("model.layers"));
    let (mut caches, mut blocks, mut n_kv_elements) = (Vec::new(), Vec::new(), 0);
    let ropes = [Kind::Window, Kind::Sparse].map(|kind| config.rope(file, kind, root.kernels()));
    let [window_rope, pool_rope] = ropes;
    let (window_rope, pool_rope) = (window_rope?, pool_rope?);
    for layer_idx in 0..config.dims.num_hidden_layers {
        let kind = config.kind(file, layer_idx)?;
        let rope = if kind == Kind::Window { &window_rope } else { &pool_rope };
        let attention = config.attention(kind, &mut caches);
        let pools = attention.pool.into_iter().chain(attention.seen.map(|seen| seen.pool));
        n_kv_elements += pools.map(|pool| pool.slice_size()).sum::<usize>();
        moe.router.correction = (layer_idx >= config.num_hash_layers).then_some("gate.bias");
        blocks.push(Block::load(&layers.at(layer_idx), &config, (attention, rope), &moe)?);
    }
    let sizes = Sizes { n_kv_elements, caches, ..config.dims.sizes(Vec::new()) };
    let collapse = Collapse::load(&model, "hc_head", config.streams())?;
    let ends = Rc::new(Ends::load(weights, &config.dims, RMS)?);
    moe.router.correction = Some("gate.bias");
    let head = has_head.then(|| Head::load(&root.at("mtp.0"), &config, (&window_rope, &moe), &ends)).transpose()?;
    Ok(Box::new(DeepseekV4 { ends, blocks, streams: config.streams(), collapse, sizes, head }))
}

/// The names of what is outside the blocks, and of the shared part's projections, as other families have them. Of heads that predict
/// several tokens the first is kept, without its copies of what is around the blocks.
fn renamed(name: &str, has_head: bool) -> Option<String> {
    let outer = [("embed.", "model.embed_tokens."), ("head.", "lm_head."), ("norm.", "model.norm.")];
    if name.starts_with("mtp.") {
        let leaf = name.strip_prefix("mtp.0.").filter(|_| has_head)?;
        if leaf.starts_with("emb") || leaf.starts_with("head.") {
            return None;
        }
    }
    if let Some((theirs, ours)) = outer.iter().find(|(theirs, _)| name.starts_with(theirs)) {
        return Some(format!("{ours}{}", &name[theirs.len()..]));
    }
    let inner = [(".w1.", ".gate_proj."), (".w2.", ".down_proj."), (".w3.", ".up_proj.")];
    let shared = name.split_once(".shared_experts").map(|(at, rest)| {
        let rest = inner.iter().fold(rest.to_owned(), |rest, (theirs, ours)| rest.replace(theirs, ours));
        format!("{at}.shared_experts{rest}")
    });
    let name = shared.unwrap_or_else(|| name.to_owned());
    let is_inside = name.starts_with("layers.") || name.starts_with("hc_head_");
    Some(if is_inside { format!("model.{name}") } else { name })
}
