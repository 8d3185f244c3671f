//! A sequence's rows with drafts.

use super::Sequence;
use crate::draft::Source;
use crate::draw::uniform;
use crate::plan::PlannedRow;
use crate::speculation::{ModelAcceptance, Offer};
use crate::{DraftAsk, Row, RowInput, RowOutput, TokenId};

impl Sequence {
    /// Most drafts of its next row: within its limit, and within what is set aside for it.
    pub(crate) fn n_drafts_max(&self) -> usize {
        if self.scores.is_some() {
            return 0;
        }
        let n_known = self.tokens.len() + self.n_pending;
        let n_limit = self.n_limit.saturating_sub(n_known + 1);
        n_limit.min(self.n_reserved.saturating_sub(n_known))
    }

    /// What prompt and output offer.
    pub(crate) fn offer_lookup(&mut self, model: &ModelAcceptance, n_max: usize) -> Option<Offer> {
        self.drafting.look(&self.tokens);
        if n_max == 0 { None } else { self.drafting.offer_lookup(model, self.n_pending, n_max) }
    }

    /// What the backend's drafter would offer.
    pub(crate) fn offer_backend(&self, model: &ModelAcceptance, n_max: usize) -> Option<Offer> {
        self.drafting.offer_backend(model, n_max)
    }

    /// Asks for `n` drafts.
    pub(crate) fn ask(&self, n: usize) -> DraftAsk<'_> {
        let n_known = self.tokens.len();
        let uniforms = (n_known..n_known + n).map(|position| uniform(self.sampling.seed, position)).collect();
        DraftAsk { sequence: self.id, tokens: &self.tokens, uniforms }
    }

    /// The backend's drafter knows all tokens now; how many it did not know before.
    pub(crate) fn drafter_caught_up(&mut self) -> usize {
        let n_known = self.tokens.len();
        n_known - std::mem::replace(&mut self.n_drafter_known, n_known)
    }

    /// Plans the next position with drafts after it. No row of the sequence is in flight.
    pub(crate) fn plan_drafted(&mut self, drafts: &[TokenId], source: Source) -> (Row, PlannedRow) {
        debug_assert!(self.n_rows_in_flight == 0 && self.gap() == 1);
        let drafts = &drafts[..self.n_fitting(drafts)];
        let start = self.n_computed;
        let end = start + 1 + drafts.len();
        let tokens = [&self.tokens[start..], drafts].concat();
        let draws = (start + 1..=end).map(|position| self.draw(position)).collect();
        let planned = PlannedRow {
            id: self.id,
            n_tokens: tokens.len(),
            end,
            has_sample: true,
            is_late: self.draws_late(),
            n_drafts: drafts.len(),
            source,
            n_scores: 0,
            is_prefill: start < self.n_prompt,
            snapshot: None,
        };
        self.n_computed = end;
        self.n_pending = drafts.len() + 1;
        self.drafts = drafts.to_vec();
        self.n_rows_in_flight += 1;
        (
            Row { sequence: self.id, start, input: RowInput::Tokens(tokens), output: RowOutput::Sample { draws } },
            planned,
        )
    }
}
