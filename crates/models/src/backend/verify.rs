//! Rows with drafts: what they may carry, and how a cache takes back what was rejected.

use tokbar_engine::{Draw, Row, RowInput, RowOutput, SequenceId, StepError, StepOutput, TokenId};

use super::{MlxBackend, mismatch};
use crate::cut::n_tokens;
use crate::flight::step_error;
use crate::sample::n_mask_words;

impl MlxBackend {
    /// Refuses draws that the row or the model cannot honour.
    pub(super) fn check_draws(&self, row: &Row) -> Result<(), StepError> {
        let (draws, n_vocab) = (row.output.draws(), self.info.n_vocab);
        if matches!(row.output, RowOutput::Sample { .. }) && !(1..=n_tokens(row)).contains(&draws.len()) {
            let detail = format!("has {} draws for {} positions", draws.len(), n_tokens(row));
            return Err(mismatch(row.sequence, &detail));
        }
        if draws.len() > self.info.n_drafts_max + 1 {
            let detail =
                format!("has {} drafts, more than the {} of the model", draws.len() - 1, self.info.n_drafts_max);
            return Err(mismatch(row.sequence, &detail));
        }
        let mut masks = draws.iter().filter_map(Draw::mask);
        match masks.find(|mask| mask.words.len() < n_mask_words(n_vocab)) {
            Some(mask) => {
                let detail = format!("has a mask of {} words for {n_vocab} tokens", mask.words.len());
                Err(mismatch(row.sequence, &detail))
            }
            None => Ok(()),
        }
    }

    /// Takes rejected drafts out of the cache, and counts what was sampled.
    pub(super) fn settle_drafts(
        &mut self,
        id: SequenceId,
        n_drafts: usize,
        output: &StepOutput,
    ) -> Result<(), StepError> {
        let Some(sequence) = self.sequences.get_mut(&id) else { return Ok(()) };
        let row = output.rows.iter().find(|row| row.sequence == id).ok_or_else(|| mismatch(id, "has no result"))?;
        let n_positions = sequence.cache.n_positions() + row.tokens.len() - (n_drafts + 1);
        if !sequence.cache.cut_back(n_positions) {
            return Err(mismatch(id, "has drafts that its cache cannot take back"));
        }
        if let Some(counts) = &mut sequence.counts {
            let tokens: Vec<_> = row.tokens.iter().map(|score| score.token).collect();
            counts.add_known(&tokens).map_err(step_error)?;
            sequence.n_counted += tokens.len();
        }
        Ok(())
    }
}

/// A row's input tokens at the positions of all its draws but the first.
pub(super) fn drafts(row: &Row) -> &[TokenId] {
    match (&row.input, row.output.draws().len()) {
        (RowInput::Tokens(tokens), n_draws) if n_draws > 1 => &tokens[(tokens.len() + 1).saturating_sub(n_draws)..],
        _ => &[],
    }
}

#[cfg(test)]
#[path = "verify_tests.rs"]
mod tests;
