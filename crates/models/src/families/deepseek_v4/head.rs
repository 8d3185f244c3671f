//! The head that predicts the token after the next (DeepSeek-AI 2026): one more block of a window, over all streams of a position
//! and the embedding of the token that follows it. It predicts further from its own streams.

use std::rc::Rc;

use super::{Block, Config, Kind};
use crate::LoadResult;
use crate::cache::CacheKind;
use crate::families::Predictor;
use crate::families::decoder::Ends;
use crate::families::stack::RMS;
use crate::layers::linear::{Bias, Linear, Shape};
use crate::layers::moe::MoeLayout;
use crate::layers::norm::Norm;
use crate::layers::rope::Rope;
use crate::layers::streams::{Collapse, StreamsLayout};
use crate::mx::{self, Array, Result};
use crate::pass::Pass;
use crate::weights::At;

/// See the module.
pub(super) struct Head {
    ends: Rc<Ends>,
    enorm: Norm,
    hnorm: Norm,
    e_proj: Linear,
    h_proj: Linear,
    block: Block,
    collapse: Collapse,
    norm: Norm,
    streams: StreamsLayout,
    caches: Vec<CacheKind>,
}

impl Head {
    /// Takes `enorm`, `hnorm`, `e_proj`, `h_proj`, a block's parts, `hc_head` and `norm`; `rope` is that of windows.
    pub(super) fn load(
        at: &At<'_, '_>,
        config: &Config,
        (rope, moe): (&Rope, &MoeLayout),
        ends: &Rc<Ends>,
    ) -> LoadResult<Self> {
        let n = config.dims.hidden_size as i32;
        let norm = |name: &str| config.dims.norm(&at.at(name), RMS);
        let linear = |name| Linear::load(at, Shape { name, n_out: n, n_in: n, bias: Bias::Absent });
        let mut caches = Vec::new();
        let attention = config.attention(Kind::Window, &mut caches);
        Ok(Self {
            ends: Rc::clone(ends),
            enorm: norm("enorm")?,
            hnorm: norm("hnorm")?,
            e_proj: linear("e_proj")?,
            h_proj: linear("h_proj")?,
            block: Block::load(at, config, (attention, rope), moe)?,
            collapse: Collapse::load(at, "hc_head", config.streams())?,
            norm: norm("norm")?,
            streams: config.streams(),
            caches,
        })
    }
}

impl Predictor for Head {
    fn caches(&self) -> &[CacheKind] {
        &self.caches
    }

    fn start(&self, hidden: &Array) -> Result<Array> {
        Ok(hidden.clone())
    }

    fn advance(&self, before: &Array, tokens: &Array, pass: &mut Pass<'_>) -> Result<Array> {
        let embedded = self.e_proj.forward(&self.enorm.forward(&self.ends.embed(tokens)?)?)?;
        let before = self.h_proj.forward(&self.hnorm.forward(&self.streams.apart(before)?)?)?;
        let streams = mx::add(&mx::expand_dims(&embedded, 1)?, &before)?;
        self.streams.flat(&self.block.forward(&streams, tokens, pass)?)
    }

    fn logits(&self, output: &Array) -> Result<Array> {
        let collapsed = self.collapse.forward(&self.streams.apart(output)?)?;
        self.ends.project(&self.norm.forward(&collapsed)?)
    }
}
