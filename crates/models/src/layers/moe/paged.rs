//! Experts of which only some are in memory: those picked most often stay, others take the places of those picked least.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::experts::{Projection, Stack, joined_parts, stack_matrices};
use super::{Glu, MoeLayout};
use crate::config::QuantizationConfig;
use crate::mx::{self, Array, Error, Packed, Result};
use crate::weights::{At, Compute, ExpertCounts, LayerExperts, Matrix, Place, Weights};
use crate::{LoadError, LoadResult};

/// Picks after which earlier ones count half.
const N_PICKS_AGED: u64 = 1 << 18;

/// Part of the places that a pass may fill which needs more experts than there are places.
const N_COLD_PART: usize = 4;

/// Tensors of a projection.
const LEAVES: &[&str] = &["weight", "scales", "biases", "scale", "weight_scale_inv", "bias"];

/// Where a projection's tensors lie: of all experts together, or of each.
enum Places {
    Stacked(Vec<(&'static str, Place)>),
    Apart(Vec<Vec<(&'static str, Place)>>),
}

/// One projection of any expert.
struct Pages {
    places: Places,
    shape: [i32; 2],
    quantization: Option<QuantizationConfig>,
    compute: Compute,
    has_bias: bool,
}

/// See the module.
pub struct Paged {
    /// Gate, up and down; up and down where there is no gate.
    pages: Vec<Pages>,
    /// The expert in each place.
    held: Vec<u32>,
    /// The place of each expert.
    slots: Vec<Option<u32>>,
    n_picked: Vec<u64>,
    n_since_aged: u64,
    n_expert_bytes: usize,
    n_cold: usize,
    counts: Rc<ExpertCounts>,
}

impl Paged {
    /// For the experts at `at`, whose projections the layout names; `None` = there is room for all, or layers are still being
    /// counted. With it the stacks of those that are in memory, `[S, ..]`.
    pub fn load(
        at: &At<'_, '_>,
        layout: &MoeLayout,
        projections: &[Projection<'_>],
    ) -> LoadResult<Option<(Self, Vec<Stack>)>> {
        let Some(paging) = at.paging() else { return Ok(None) };
        let pages = projections.iter().map(|projection| Pages::find(at, projection)).collect::<LoadResult<Vec<_>>>()?;
        let mut n_expert_bytes = 0;
        for projection in projections {
            // Checks names and shapes, and takes what is read later.
            let (matrix, bias) = projection.load(at)?;
            let n = n_bytes(&matrix) + bias.map_or(0, |bias| bias.nbytes());
            n_expert_bytes += n / layout.n_experts;
        }
        let asked = LayerExperts { n: layout.n_experts, top_k: layout.router.top_k, n_bytes: n_expert_bytes };
        let n_slots = paging.ask(asked).unwrap_or(layout.router.top_k).min(layout.n_experts);
        let mut slots = vec![None; layout.n_experts];
        let held: Vec<u32> = (0..n_slots as u32).collect();
        held.iter().for_each(|expert| slots[*expert as usize] = Some(*expert));
        let this = Self {
            pages,
            n_picked: vec![0; layout.n_experts],
            n_since_aged: 0,
            n_expert_bytes,
            n_cold: (n_slots / N_COLD_PART).max(1),
            counts: Rc::clone(&paging.counts),
            held,
            slots,
        };
        let stacks = if at.is_read() { this.stacks(at, layout.glu)? } else { Vec::new() };
        Ok(Some((this, stacks)))
    }

    /// The experts that are in memory at first.
    fn stacks(&self, at: &At<'_, '_>, glu: Glu) -> LoadResult<Vec<Stack>> {
        let mut all: Vec<Vec<(Matrix, Option<Array>)>> = Vec::new();
        for expert in &self.held {
            for (at, part) in self.read(*expert, glu)?.into_iter().enumerate() {
                if all.len() <= at {
                    all.push(Vec::new());
                }
                all[at].push(part);
            }
        }
        let stacks = all.into_iter().map(|parts| {
            let (matrices, biases): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
            let biases: Vec<Array> = biases.into_iter().flatten().collect();
            let bias =
                if biases.is_empty() { None } else { Some(mx::concatenate(&biases.iter().collect::<Vec<_>>(), 0)?) };
            Stack::new(at, joined_experts(&matrices)?, bias)
        });
        stacks.collect()
    }

    /// An expert's stacks, `[1, ..]`.
    fn read(&self, expert: u32, glu: Glu) -> LoadResult<Vec<(Matrix, Option<Array>)>> {
        let parts = self.pages.iter().map(|pages| pages.read(expert as usize)).collect::<LoadResult<Vec<_>>>()?;
        Ok(joined_parts(parts, glu)?)
    }

    /// Groups of picks `[T K]` whose experts fit in memory together: those that are there first. Counts the picks.
    pub fn groups(&mut self, picks: &[u32]) -> Vec<Vec<u32>> {
        let mut needed: BTreeMap<u32, u64> = BTreeMap::new();
        picks.iter().for_each(|expert| *needed.entry(*expert).or_default() += 1);
        for (expert, n) in &needed {
            self.n_picked[*expert as usize] += n;
        }
        self.age(picks.len() as u64);
        let (here, missing): (Vec<u32>, Vec<u32>) =
            needed.keys().partition(|expert| self.slots[**expert as usize].is_some());
        self.counts.add(here.len(), missing.len(), self.n_expert_bytes);
        if needed.len() <= self.held.len() {
            return vec![needed.into_keys().collect()];
        }
        let rest = missing.chunks(self.n_cold).map(<[u32]>::to_vec);
        std::iter::once(here).filter(|here| !here.is_empty()).chain(rest).collect()
    }

    fn age(&mut self, n_picks: u64) {
        self.n_since_aged += n_picks;
        if self.n_since_aged >= N_PICKS_AGED {
            self.n_since_aged = 0;
            self.n_picked.iter_mut().for_each(|n| *n /= 2);
        }
    }

    /// Brings a group's experts into memory, in place of those picked least.
    pub fn bring(&mut self, group: &[u32], stacks: &mut [Stack], glu: Glu) -> Result<()> {
        let missing: Vec<u32> = group.iter().copied().filter(|expert| self.slots[*expert as usize].is_none()).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let mut free: Vec<usize> = (0..self.held.len()).filter(|slot| !group.contains(&self.held[*slot])).collect();
        free.sort_by_key(|slot| self.n_picked[self.held[*slot] as usize]);
        for (expert, slot) in missing.into_iter().zip(free) {
            let parts = self.read(expert, glu).map_err(|error| Error { what: error.to_string() })?;
            for (stack, (matrix, bias)) in stacks.iter_mut().zip(parts) {
                stack.replace(slot as i32, &matrix, bias.as_ref())?;
            }
            self.slots[self.held[slot] as usize] = None;
            self.slots[expert as usize] = Some(slot as u32);
            self.held[slot] = expert;
        }
        mx::eval(&stacks.iter().flat_map(Stack::arrays).collect::<Vec<_>>())
    }

    /// The place of an expert that is in memory.
    pub fn slot(&self, expert: u32) -> Result<u32> {
        let slot = self.slots.get(expert as usize).copied().flatten();
        slot.ok_or_else(|| Error { what: format!("expert {expert} is not in memory") })
    }
}

impl Pages {
    fn find(at: &At<'_, '_>, projection: &Projection<'_>) -> LoadResult<Self> {
        let of = |at: &At<'_, '_>| -> Vec<(&'static str, Place)> {
            LEAVES.iter().filter_map(|leaf| Some((*leaf, at.place(leaf)?))).collect()
        };
        let has_weight = |places: &[(&str, Place)]| places.iter().any(|(leaf, _)| *leaf == "weight");
        let stacked = projection.stacked(at);
        let all = of(&stacked);
        let (places, first) = if has_weight(&all) {
            (Places::Stacked(all), stacked)
        } else {
            let each = projection.apart(at);
            let places: Vec<_> = each.iter().map(of).collect();
            if places.is_empty() || !places.iter().all(|places| has_weight(places)) {
                let detail = format!(
                    "the experts at {} are not kept one after the other, so that they cannot be read one by one; pack them with \
                     `tokbar quantize`, or leave --expert-memory out",
                    stacked.path()
                );
                return Err(LoadError::Experts { detail });
            }
            (Places::Apart(places), each[0].clone())
        };
        Ok(Self {
            places,
            shape: projection.shape(),
            quantization: first.packing_of_all(),
            compute: at.compute(),
            has_bias: projection.has_bias(),
        })
    }

    /// One expert's, `[1, out, in]` and `[1, out]`.
    fn read(&self, expert: usize) -> LoadResult<(Matrix, Option<Array>)> {
        let tensors = match &self.places {
            Places::Stacked(places) => places
                .iter()
                .map(|(leaf, place)| Ok(((*leaf).to_owned(), place.entry(expert)?)))
                .collect::<Result<_>>()?,
            Places::Apart(each) => {
                let whole = each[expert].iter().map(|(leaf, place)| Ok(((*leaf).to_owned(), place.whole()?)));
                whole.collect::<Result<BTreeMap<_, _>>>()?
            }
        };
        let weights = Weights::of(tensors, self.compute, self.quantization.clone());
        let [n_out, n_in] = self.shape;
        let matrix = stack_matrices(vec![weights.root().matrix(n_out, n_in)?])?;
        let bias = self.has_bias.then(|| weights.root().tensor("bias", &[n_out])).transpose()?;
        Ok((matrix, bias.map(|bias| mx::expand_dims(&bias, 0)).transpose()?))
    }
}

/// Experts' `[1, ..]` matrices as one, `[S, ..]`.
fn joined_experts(matrices: &[Matrix]) -> LoadResult<Matrix> {
    let join = |arrays: Vec<&Array>| mx::concatenate(&arrays, 0);
    let packed: Vec<&Packed> = matrices.iter().filter_map(|matrix| matrix.as_packed()).collect();
    let Some(first) = packed.first() else {
        let dense = matrices.iter().filter_map(|matrix| matrix.as_dense()).collect();
        return Ok(Matrix::Dense(join(dense)?));
    };
    let biases: Vec<&Array> = packed.iter().filter_map(|packed| packed.biases.as_ref()).collect();
    Ok(Matrix::Packed(Packed {
        weight: join(packed.iter().map(|packed| &packed.weight).collect())?,
        scales: join(packed.iter().map(|packed| &packed.scales).collect())?,
        biases: if biases.is_empty() { None } else { Some(join(biases)?) },
        packing: first.packing,
    }))
}

fn n_bytes(matrix: &Matrix) -> usize {
    match matrix {
        Matrix::Dense(array) => array.nbytes(),
        Matrix::Packed(packed) => {
            packed.weight.nbytes() + packed.scales.nbytes() + packed.biases.as_ref().map_or(0, Array::nbytes)
        }
    }
}

#[cfg(test)]
#[path = "paged_tests.rs"]
mod tests;
