//! A draft model beside the model, or a head of the model.

use std::path::Path;
use std::sync::Arc;

use tokbar_engine::{DraftAsk, StepError, TokenId};

use super::{MlxBackend, mismatch};
use crate::draft::DraftModel;
use crate::draft::head::HeadAsk;
use crate::flight::step_error;
use crate::load::{LoadOptions, load};
use crate::weights::LoadProgress;
use crate::{LoadError, LoadResult};

/// Logits of the larger vocabulary over those of the smaller: sizes of one tokenizer differ by padding only.
const PADDING_MAX: f64 = 1.05;

impl MlxBackend {
    /// Loads a second model that drafts `n_tokens` tokens at a time. Both must have the same tokenizer, which the caller
    /// checks. Its weights and caches count as this model's.
    ///
    /// # Errors
    /// When it cannot be loaded, its vocabulary is of another size, or either cannot take rejected drafts back.
    pub fn load_draft_model(
        &mut self,
        dir: &Path,
        n_tokens: usize,
        options: &LoadOptions,
        progress: &mut dyn FnMut(LoadProgress),
    ) -> LoadResult<()> {
        let refused = |detail: String| LoadError::Draft { dir: dir.to_owned(), detail };
        if self.info.n_drafts_max == 0 {
            let family = self.summary.family;
            return Err(refused(format!("{family} models cannot take rejected drafts back; leave --draft-model out")));
        }
        // Room for experts is the model's.
        let loaded = load(dir, &LoadOptions { expert_bytes: None, ..options.clone() }, progress)?;
        let (n_own, n_draft) = (self.info.n_vocab, loaded.info.n_vocab);
        if n_own.max(n_draft) as f64 > n_own.min(n_draft) as f64 * PADDING_MAX {
            let detail =
                format!("its vocabulary of {n_draft} tokens is not the model's of {n_own}; pick one of its family");
            return Err(refused(detail));
        }
        if loaded.info.n_drafts_max == 0 {
            let family = loaded.summary.family;
            return Err(refused(format!("{family} models cannot take rejected drafts back; pick a plain decoder")));
        }
        self.info.weight_bytes += loaded.info.weight_bytes;
        self.info.kv_bytes_per_token += loaded.info.kv_bytes_per_token;
        self.info.n_drafter_tokens = n_tokens.min(self.info.n_drafts_max);
        self.drafter = Some(DraftModel::new(loaded.model));
        Ok(())
    }

    /// See [`Backend::draft`](tokbar_engine::Backend::draft).
    pub(super) fn ask_drafter(&mut self, asks: &[DraftAsk<'_>]) -> Result<Vec<Vec<TokenId>>, StepError> {
        let Some(drafter) = &mut self.drafter else { return self.ask_head(asks) };
        let sampling = |ask: &DraftAsk<'_>| {
            let sequence = self.sequences.get(&ask.sequence).ok_or_else(|| mismatch(ask.sequence, "is not open"))?;
            Ok(sequence.sampling.clone())
        };
        let samplings = asks.iter().map(sampling).collect::<Result<Vec<_>, _>>()?;
        let mut drafts = drafter.draft(asks, &samplings).map_err(step_error)?;
        for draft in &mut drafts {
            // A token of its padding is none of the model's.
            let n_known = draft.iter().take_while(|token| (**token as usize) < self.info.n_vocab).count();
            draft.truncate(n_known);
        }
        Ok(drafts)
    }

    /// Drafts by the model's own head, if it has one.
    fn ask_head(&mut self, asks: &[DraftAsk<'_>]) -> Result<Vec<Vec<TokenId>>, StepError> {
        let Some(head) = self.model.predictor() else { return Ok(vec![Vec::new(); asks.len()]) };
        let asks = asks.iter().map(|ask| {
            let sequence = self.sequences.get(&ask.sequence).ok_or_else(|| mismatch(ask.sequence, "is not open"))?;
            Ok(HeadAsk { ask, sampling: Arc::clone(&sequence.sampling), recent: &sequence.recent })
        });
        let asks = asks.collect::<Result<Vec<_>, StepError>>()?;
        self.head_drafter.draft(head, &asks, self.info.n_vocab).map_err(step_error)
    }
}

#[cfg(test)]
#[path = "drafter_tests.rs"]
mod tests;
