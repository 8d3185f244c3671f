//! Draws whose terms are told once the device works on the step: the tokens that they hang on were not known before.

use tokbar_engine::{Draw, RowInput, Step, Terms, TokenId};

use super::verify::drafts;
use super::{MlxBackend, Sequence};
use crate::cache;
use crate::flight::{Start, Unbound, UnboundRow};
use crate::mx::{self, Array};
use crate::sample::{Counts, SampleRow, sample};

impl MlxBackend {
    /// Samples the oldest step in flight.
    pub(super) fn bind_oldest(&mut self, terms: Vec<Vec<Terms>>) {
        let Some(flight) = self.in_flight.front_mut() else { return };
        let Some(Unbound { logits, mut rows }) = flight.unbound.take() else { return };
        let late = rows.iter_mut().filter(|row| row.draws.iter().any(|draw| draw.terms.is_none()));
        for (row, terms) in late.zip(terms) {
            row.draws.iter_mut().zip(terms).for_each(|(draw, terms)| *draw = Draw::on(draw.uniform, terms));
        }
        // Taken out of the map, as all their counts are borrowed at once.
        let mut sequences: Vec<_> =
            rows.iter().filter_map(|row| Some((row.sequence, self.sequences.remove(&row.sequence)?))).collect();
        let mut samples: Vec<_> = rows.iter().zip(&mut sequences).map(|(row, (_, s))| sample_row(row, s)).collect();
        let sampled = sample(&logits, &mut samples);
        let counts = sequences.iter().filter_map(|(_, sequence)| sequence.counts.as_ref());
        flight.bound(sampled, counts.map(|counts| counts.array().clone()).collect());
        for (row, (_, sequence)) in rows.iter().zip(&mut sequences) {
            sequence.n_counted += usize::from(row.draws.len() == 1 && !matches!(flight.start, Start::Failed(_)));
        }
        self.sequences.extend(sequences);
    }
}

fn sample_row<'a>(row: &'a UnboundRow, sequence: &'a mut Sequence) -> SampleRow<'a> {
    let Sequence { sampling, counts, .. } = sequence;
    SampleRow { options: sampling, draws: &row.draws, drafts: &row.drafts, counts: counts.as_mut() }
}

/// What is to be sampled from `logits` once its terms are told.
pub(super) fn unbound(step: &Step, logits: Array) -> Unbound {
    let rows = step.rows.iter().filter(|row| !row.output.draws().is_empty()).map(|row| UnboundRow {
        sequence: row.sequence,
        draws: row.output.draws().to_vec(),
        drafts: drafts(row).to_vec(),
    });
    Unbound { logits, rows: rows.collect() }
}

impl Sequence {
    /// Counts the output tokens of a row that nothing drew: a form left no choice of them.
    pub(super) fn count_known(&mut self, input: &RowInput, (start, n_drafts): (usize, usize)) -> mx::Result<()> {
        let (Some(counts), RowInput::Tokens(tokens)) = (&mut self.counts, input) else { return Ok(()) };
        let known = &tokens[..tokens.len() - n_drafts];
        let new: &[TokenId] = known.get(self.n_counted.saturating_sub(start)..).unwrap_or_default();
        self.n_counted += new.len();
        counts.add_known(new)
    }

    pub(super) fn save(&self) -> Saved {
        Saved { cache: self.cache.save(), counts: self.counts.clone(), n_counted: self.n_counted }
    }

    pub(super) fn restore(&mut self, saved: Saved) {
        self.cache.restore(saved.cache);
        (self.counts, self.n_counted) = (saved.counts, saved.n_counted);
    }
}

/// What a step that is refused after all has changed.
pub(super) struct Saved {
    cache: cache::Saved,
    counts: Option<Counts>,
    n_counted: usize,
}

#[cfg(test)]
#[path = "bind_tests.rs"]
mod tests;
