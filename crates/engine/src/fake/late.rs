//! Steps in flight of the fake backend, and rows whose draws hang on what is told later.

use super::FakeBackend;
use crate::{Draw, Row, RowOutput, RowResult, Step, StepError, Terms};

/// A submitted step.
#[derive(Debug)]
pub(super) struct Flight {
    pub results: Vec<RowResult>,
    /// Rows whose terms are to come, each with its place among the results.
    pub late: Vec<(usize, Row)>,
}

impl FakeBackend {
    /// Computes what hangs on nothing to come.
    pub(super) fn start(&mut self, step: &Step) -> Result<Flight, StepError> {
        let mut flight = Flight { results: Vec::new(), late: Vec::new() };
        for (row_idx, row) in step.rows.iter().enumerate() {
            if row.is_late() {
                flight.late.push((row_idx, row.clone()));
            }
            // Which drafts are right hangs on the draws.
            let has_drafts = row.output.draws().len() > 1;
            flight.results.push(match row.is_late() && has_drafts {
                true => RowResult { sequence: row.sequence, tokens: Vec::new(), prompt_scores: Vec::new() },
                false => self.compute(row)?,
            });
        }
        Ok(flight)
    }

    pub(super) fn bind_oldest(&mut self, terms: Vec<Vec<Terms>>) {
        let late = self.in_flight.front_mut().map(|flight| std::mem::take(&mut flight.late)).unwrap_or_default();
        assert!(!late.is_empty() && late.len() == terms.len(), "{} terms are told for {late:?}", terms.len());
        for ((row_idx, row), terms) in late.into_iter().zip(terms) {
            let draws: Vec<_> =
                row.output.draws().iter().zip(terms).map(|(draw, t)| Draw::on(draw.uniform, t)).collect();
            assert_eq!(draws.len(), row.output.draws().len(), "terms of {row:?}");
            let result = match draws.as_slice() {
                [draw] => {
                    let stored = self.sequences.get_mut(&row.sequence).expect("an open sequence");
                    vec![stored.sample(&self.options, draw)]
                }
                _ => {
                    let row = Row { output: RowOutput::Sample { draws }, ..row };
                    self.compute(&row).expect("an open sequence").tokens
                }
            };
            if let Some(flight) = self.in_flight.front_mut() {
                flight.results[row_idx].tokens = result;
            }
        }
        self.show();
    }
}
