//! Which rows the fake backend refuses, as a real one does.

use super::{FakeBackend, Stored};
use crate::{Draw, Row, RowInput, RowOutput, RowResult, TokenId};

impl FakeBackend {
    /// Whether the row continues what its cache holds.
    pub(super) fn check_row(&self, row: &Row) -> Result<(), String> {
        let stored = self.sequences.get(&row.sequence).ok_or("it is not open")?;
        if stored.is_lost {
            return Err("its cache is lost".to_owned());
        }
        if row.start != stored.positions.len() {
            return Err(format!("it starts at {}, the cache holds {}", row.start, stored.positions.len()));
        }
        match &row.input {
            RowInput::Tokens(tokens) => self.check_tokens(stored, tokens)?,
            RowInput::Pending => {
                let is_sampled = |result: &RowResult| result.sequence == row.sequence && !result.tokens.is_empty();
                if !self.in_flight.back().is_some_and(|flight| flight.results.iter().any(is_sampled)) {
                    return Err("no step in flight samples its token".to_owned());
                }
            }
        }
        let n_masked = row.output.draws().iter().filter_map(Draw::mask).map(|mask| mask.words.len());
        if n_masked.into_iter().any(|n_words| n_words * 32 < self.options.info.n_vocab) {
            return Err("its mask is shorter than the vocabulary".to_owned());
        }
        match &row.output {
            RowOutput::Score { targets, .. } if targets.len() > n_input(row) => {
                Err("more targets than inputs".to_owned())
            }
            RowOutput::Sample { draws } if draws.is_empty() || draws.len() > n_input(row) => {
                Err(format!("{} draws for {} inputs", draws.len(), n_input(row)))
            }
            RowOutput::Sample { draws } if draws.len() > 1 && self.has_row_in_flight(row.sequence) => {
                Err("drafts beside another row in flight".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn check_tokens(&self, stored: &Stored, tokens: &[TokenId]) -> Result<(), String> {
        let n_vocab = self.options.info.n_vocab;
        let Some(first) = tokens.first() else { return Err("it has no tokens".to_owned()) };
        if let Some(token) = tokens.iter().find(|token| **token as usize >= n_vocab) {
            return Err(format!("token {token} does not exist"));
        }
        match stored.sampled {
            Some(sampled) if sampled != *first => Err(format!("token {sampled} was sampled, but {first} comes next")),
            _ => Ok(()),
        }
    }
}

/// Positions that a row computes.
pub(super) fn n_input(row: &Row) -> usize {
    match &row.input {
        RowInput::Tokens(tokens) => tokens.len(),
        RowInput::Pending => 1,
    }
}
