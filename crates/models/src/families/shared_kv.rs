//! Layers that read the keys and values of an earlier layer (Gemma Team 2025).

use super::Sizes;
use super::decoder::Dims;
use crate::LoadResult;
use crate::config::ConfigFile;
use crate::layers::self_attention::Source;
use crate::weights::Weights;

/// Whose keys and values each layer reads.
pub struct Owners {
    owners: Vec<usize>,
    n_own: usize,
}

impl Owners {
    /// The last `n_shared` layers read those of the last layer before them that sees as far back.
    pub fn new(file: &ConfigFile, windows: &[Option<usize>], n_shared: usize) -> LoadResult<Self> {
        let n_own = windows.len().saturating_sub(n_shared);
        let owner = |layer_idx: usize| match layer_idx < n_own {
            true => Some(layer_idx),
            false => (0..n_own).rev().find(|earlier| windows[*earlier] == windows[layer_idx]),
        };
        let owners = (0..windows.len()).map(owner).collect::<Option<Vec<_>>>();
        let owners = owners.ok_or_else(|| {
            file.error(&format!("{n_shared} layers share keys and values, but no earlier layer of each kind has any"))
        })?;
        Ok(Self { owners, n_own })
    }

    /// Whose a layer reads, itself or an earlier one.
    pub fn of(&self, layer_idx: usize) -> usize {
        self.owners[layer_idx]
    }

    /// Where a layer's come from; `own` = where those of a layer do that has some.
    pub fn source(&self, layer_idx: usize, own: Source) -> Source {
        if layer_idx < self.n_own { own } else { Source::Earlier }
    }

    /// What the backend needs to know; `dims` = of the layers that see everything.
    pub fn sizes(&self, windows: &[Option<usize>], dims: &Dims) -> Sizes {
        dims.sizes(windows[..self.n_own].to_vec())
    }

    /// Drops the projections of keys and values that checkpoints carry, but no layer uses.
    pub fn drop_unused(&self, weights: &Weights<'_>) {
        weights.rename(|name| {
            let inside = name.strip_prefix("model.layers.").and_then(|rest| rest.split_once(".self_attn."));
            let is_dropped = inside.is_some_and(|(layer_idx, name)| {
                layer_idx.parse().is_ok_and(|layer_idx: usize| layer_idx >= self.n_own)
                    && ["k_proj.", "v_proj.", "k_norm."].iter().any(|unused| name.starts_with(unused))
            });
            (!is_dropped).then(|| name.to_owned())
        });
    }
}
