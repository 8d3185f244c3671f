//! A head that predicts the token after the next (DeepSeek-AI 2024, Qwen Team 2025): one more block over the network's output
//! at a position and the embedding of the token that follows it. It predicts further from its own output.

use std::rc::Rc;

use super::{Block, Ends, Layer, Norm, Recipe};
use crate::LoadResult;
use crate::cache::CacheKind;
use crate::families::Predictor;
use crate::layers::linear::{Bias, Linear, Shape};
use crate::mx::{self, Array, Result};
use crate::pass::Pass;
use crate::weights::At;

/// How a network has a head.
#[derive(Clone)]
pub struct HeadLayout {
    /// Its block.
    pub layer: Layer,
    /// What it goes on from after its own output.
    pub chained: Chained,
}

/// What a head goes on from after its own output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chained {
    /// That, normed (Qwen Team 2025).
    Normed,
    /// That, as it is (DeepSeek-AI 2024).
    Plain,
}

/// See the module.
pub(super) struct Head {
    ends: Rc<Ends>,
    pre_fc_norm_embedding: Norm,
    pre_fc_norm_hidden: Norm,
    fc: Linear,
    block: Block,
    norm: Norm,
    chained: Chained,
    /// Of its attention, then of its indexer.
    caches: Vec<CacheKind>,
}

impl Head {
    /// Takes `pre_fc_norm_embedding`, `pre_fc_norm_hidden`, `fc`, `layers.0` and `norm`.
    pub(super) fn load(at: &At<'_, '_>, recipe: &Recipe, layout: &HeadLayout, ends: &Rc<Ends>) -> LoadResult<Self> {
        let HeadLayout { layer, chained } = layout;
        let norm = |name: &str| recipe.dims.norm(&at.at(name), recipe.norms.kind);
        let n = recipe.dims.hidden_size as i32;
        let has_indexer = recipe.mla.as_ref().is_some_and(|(mla, _)| mla.index.is_some());
        let caches =
            std::iter::once(CacheKind::from(layer.window)).chain(has_indexer.then_some(CacheKind::Full)).collect();
        Ok(Self {
            ends: Rc::clone(ends),
            pre_fc_norm_embedding: norm("pre_fc_norm_embedding")?,
            pre_fc_norm_hidden: norm("pre_fc_norm_hidden")?,
            fc: Linear::load(at, Shape { name: "fc", n_out: n, n_in: 2 * n, bias: Bias::Absent })?,
            block: Block::load(&at.at("layers.0"), recipe, (layer, [0, 1]), None)?,
            norm: norm("norm")?,
            chained: *chained,
            caches,
        })
    }
}

impl Predictor for Head {
    fn caches(&self) -> &[CacheKind] {
        &self.caches
    }

    fn start(&self, hidden: &Array) -> Result<Array> {
        self.ends.norm(hidden)
    }

    fn advance(&self, before: &Array, tokens: &Array, pass: &mut Pass<'_>) -> Result<Array> {
        let embedded = self.pre_fc_norm_embedding.forward(&self.ends.embed(tokens)?)?;
        let before = self.pre_fc_norm_hidden.forward(before)?;
        let joined = self.fc.forward(&mx::concatenate(&[&embedded, &before], 1)?)?;
        let output = self.block.forward(&joined, pass)?;
        match self.chained {
            Chained::Normed => self.norm.forward(&output),
            Chained::Plain => Ok(output),
        }
    }

    fn logits(&self, output: &Array) -> Result<Array> {
        match self.chained {
            Chained::Normed => self.ends.project(output),
            Chained::Plain => self.ends.project(&self.norm.forward(output)?),
        }
    }
}
