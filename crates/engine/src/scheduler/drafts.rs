//! Which sequences verify drafts in the next step, and what came of it.

use std::collections::BTreeMap;

use super::Scheduler;
use crate::draft::{N_DRAFT_MAX, Source};
use crate::plan::PlannedRow;
use crate::sequence::{Sequence, Standing};
use crate::speculation::{Offer, Round, Work};
use crate::{DraftAsk, SequenceId, StepError, TokenId};

/// Tokens that the backend's drafter may be behind a sequence without need to catch up.
const N_BEHIND_MAX: usize = 2 * N_DRAFT_MAX;

/// What was decided for the next plan.
#[derive(Debug, Default)]
pub(super) struct Drafts {
    /// Drafts of the sequences that verify some.
    chosen: BTreeMap<SequenceId, Chosen>,
    /// Sequences that the backend is to draft for, and how many tokens.
    asked: Vec<(SequenceId, usize)>,
    /// Whether the plan has no rows, as the tokens in flight are needed first.
    pub is_held: bool,
    work: Option<Work>,
}

/// A draft that will be verified.
#[derive(Debug)]
struct Chosen {
    tokens: Vec<TokenId>,
    source: Source,
}

impl Scheduler {
    /// Decides whether the next plan verifies drafts, and returns what the backend is asked to draft for it. To be called
    /// before [`plan`](Self::plan); without it, or when the answer is not [told](Self::drafted), the plan has no drafts.
    pub(crate) fn decide_drafts(&mut self) -> Vec<DraftAsk<'_>> {
        self.drafts = Drafts::default();
        let newest = self.in_flight.back().map_or(&[][..], Vec::as_slice);
        if newest.iter().any(|row| row.n_drafts > 0) {
            // A step beside it could not have the sequence's row, and would part the batch for good.
            self.drafts.is_held = true;
            return Vec::new();
        }
        let (ids, offers) = self.offers();
        let n_rows = self.decoding().count();
        let n_max = self.throttle.n_tokens.saturating_sub(n_rows);
        let Some(n_drafts) = self.speculator.choose(n_rows, &offers, n_max) else { return Vec::new() };
        if !self.in_flight.is_empty() {
            self.drafts.is_held = true;
            self.speculator.waits();
            return Vec::new();
        }
        for ((id, offer), n) in ids.into_iter().zip(offers).zip(n_drafts).filter(|(_, n)| *n > 0) {
            match offer.source {
                Source::Lookup => self.choose_lookup(id, n),
                Source::Backend => self.drafts.asked.push((id, n)),
            }
        }
        self.drafts.asked.iter().map(|(id, n)| self.sequences[id].ask(*n)).collect()
    }

    /// Whether the next plan has no rows.
    #[cfg(test)]
    pub(crate) fn awaits_tokens(&self) -> bool {
        self.drafts.is_held
    }

    /// Tells what the backend drafted, in the order of the asks.
    pub(crate) fn drafted(&mut self, drafts: Result<Vec<Vec<TokenId>>, StepError>) {
        let drafts = drafts.unwrap_or_else(|error| {
            tracing::warn!(%error, "the drafter failed");
            Vec::new()
        });
        for ((id, n), mut tokens) in std::mem::take(&mut self.drafts.asked).into_iter().zip(drafts) {
            let sequence = self.sequence_mut(id);
            let n_behind = sequence.drafter_caught_up();
            let is_first = sequence.drafting.n_drafted == 0;
            if n_behind > N_BEHIND_MAX {
                // Its first prefill is a prompt's price; what it misses later is the price of not drafting all the time.
                self.drafts.work = Some(if is_first { Work::Prefill } else { Work::CatchUp });
            }
            tokens.truncate(n);
            if !tokens.is_empty() {
                self.drafts.chosen.insert(id, Chosen { tokens, source: Source::Backend });
            }
        }
    }

    /// What each decoding sequence offers to verify next.
    fn offers(&mut self) -> (Vec<SequenceId>, Vec<Offer>) {
        let n_max = self.info.n_drafts_max.min(N_DRAFT_MAX);
        let uses_lookup = self.speculator.uses(Source::Lookup) && n_max > 0;
        let uses_backend = self.speculator.uses(Source::Backend) && n_max > 0 && self.info.n_drafter_tokens > 0;
        let ids: Vec<_> = if uses_lookup || uses_backend { self.decoding().collect() } else { Vec::new() };
        let mut offers = Vec::new();
        for id in &ids {
            let n_to_cut = self.n_to_cut(*id);
            let Some(sequence) = self.sequences.get_mut(id) else { continue };
            // A snapshot at the end of its row must not hold a draft.
            let n_max = n_max.min(sequence.n_drafts_max()).min(n_to_cut.saturating_sub(2));
            let model = self.speculator.model();
            let lookup = if uses_lookup { sequence.offer_lookup(model, n_max) } else { None };
            let n_max = n_max.min(self.info.n_drafter_tokens);
            let backend = if uses_backend { sequence.offer_backend(model, n_max) } else { None };
            let better = |a: &Offer, b: &Offer| a.survival[0].total_cmp(&b.survival[0]);
            // Of equals the last: a lookup costs nothing.
            offers.extend(backend.into_iter().chain(lookup).max_by(better).map(|offer| (*id, offer)));
        }
        offers.into_iter().unzip()
    }

    /// Sequences that compute a single token next.
    fn decoding(&self) -> impl Iterator<Item = SequenceId> {
        let is_due = |s: &&Sequence| s.standing == Standing::Running && !s.is_paused && s.gap() == 1;
        self.sequences.values().filter(is_due).map(Sequence::id)
    }

    fn choose_lookup(&mut self, id: SequenceId, n: usize) {
        let tokens = self.sequences[&id].drafting.lookup_tokens();
        let tokens: Vec<_> = tokens.iter().take(n).copied().collect();
        self.drafts.chosen.insert(id, Chosen { tokens, source: Source::Lookup });
    }

    /// Forgets what was chosen for sequences that decode no more: preempted since, they start with their prompts again.
    pub(super) fn drop_stale_drafts(&mut self) {
        let sequences = &self.sequences;
        let is_decoding = |sequence: &Sequence| {
            sequence.standing == Standing::Running && sequence.n_rows_in_flight == 0 && sequence.gap() == 1
        };
        self.drafts.chosen.retain(|id, _| sequences.get(id).is_some_and(is_decoding));
    }

    /// How many drafts a sequence verifies in the plan that is made.
    pub(super) fn n_drafts(&self, id: SequenceId) -> usize {
        self.drafts.chosen.get(&id).map_or(0, |chosen| chosen.tokens.len())
    }

    /// Takes the first `n` drafts that were chosen for a sequence.
    pub(super) fn take_drafts(&mut self, id: SequenceId, n: usize) -> Option<(Vec<TokenId>, Source)> {
        let Chosen { mut tokens, source } = self.drafts.chosen.remove(&id)?;
        tokens.truncate(n);
        (n > 0).then_some((tokens, source))
    }

    /// A step of `rows` is planned.
    pub(super) fn begin_round(&mut self, rows: &[PlannedRow]) {
        let has_prefill = rows.iter().any(|row| row.is_prefill);
        let is_of_backend = rows.iter().any(|row| row.n_drafts > 0 && row.source == Source::Backend);
        self.speculator.planned(Round {
            n_rows: rows.iter().filter(|row| !row.is_prefill).count(),
            n_drafts: rows.iter().map(|row| row.n_drafts).sum(),
            source: if is_of_backend { Source::Backend } else { Source::Lookup },
            work: if has_prefill { Work::Prefill } else { self.drafts.work.unwrap_or(Work::Decode) },
            is_overlapped: !self.in_flight.is_empty(),
        });
    }

    /// A row gave these tokens: takes in how good its drafts were, or those that it did without.
    pub(super) fn learn(&mut self, planned: &PlannedRow, drawn: &[TokenId]) {
        let Some(sequence) = self.sequences.get_mut(&planned.id) else { return };
        if drawn.is_empty() {
            return;
        }
        if planned.n_drafts == 0 {
            sequence.drafting.came(self.speculator.model(), drawn);
            return;
        }
        let n_accepted = drawn.len() - 1;
        self.speculator.verified(planned.n_drafts, n_accepted);
        let model = self.speculator.model();
        sequence.drafting.verified(model, planned.source, n_accepted, planned.n_drafts);
    }
}

#[cfg(test)]
#[path = "drafts_tests.rs"]
mod tests;
