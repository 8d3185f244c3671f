//! A step's graph: passes over the network, then sampling.

use std::collections::HashSet;
use std::ops::Range;
use std::rc::Rc;

use tokbar_engine::{PromptScores, Row, RowInput, RowOutput, SamplingOptions, Step, TokenId};

use super::bind::unbound;
use super::verify::drafts;
use super::{MlxBackend, Sequence};
use crate::cache::state::Computed;
use crate::cut::{Part, cut, n_tokens};
use crate::flight::{Flight, FlightRow, HostScores, Start};
use crate::mx::{self, Array, Cut};
use crate::pass::{Pass, PassRow};
use crate::sample::{SampleRow, Sampled, sample, score};

/// Most logits computed at once when a prompt is scored, in elements.
const N_SCORE_LOGITS_MAX: usize = 1 << 24;

impl MlxBackend {
    /// Builds the step's graph; `sequences` are those of its rows, in order.
    pub(super) fn build(&self, step: &Step, sequences: &mut [Sequence]) -> mx::Result<Flight> {
        let tokens = self.tokens(step)?;
        let mut scores = vec![PromptScores::new(); step.rows.len()];
        let mut last = Vec::new();
        let mut start = 0;
        for parts in cut(step, self.n_pass_max) {
            let n = parts.iter().map(|part| part.len as i32).sum::<i32>();
            let tokens = mx::slice(&tokens, &[Cut { axis: 0, start, stop: start + n }])?;
            start += n;
            let hidden = self.model.hidden(&tokens, &mut pass(step, &parts, sequences))?;
            for part in parts.iter().filter(|_| self.head().is_some()) {
                let cut = Cut { axis: 0, start: part.start as i32, stop: (part.start + part.len) as i32 };
                // A view would keep what the pass made of all rows.
                sequences[part.row_idx].recent.push(mx::contiguous(&mx::slice(&hidden, &[cut])?)?);
            }
            for part in &parts {
                scores[part.row_idx].extend(self.score_part(&hidden, step, part, &sequences[part.row_idx])?);
            }
            last.extend(sampled_positions(&hidden, step, &parts)?);
        }
        let mut n_sampled = 0;
        let rows = step.rows.iter().zip(sequences.iter()).zip(scores).map(|((row, sequence), prompt_scores)| {
            let draws = n_sampled..n_sampled + row.output.draws().len();
            n_sampled = draws.end;
            let drafts = drafts(row).to_vec();
            FlightRow { sequence: row.sequence, draws, drafts, n_top: sequence.sampling.n_logprobs, prompt_scores }
        });
        let rows = rows.collect();
        let last = match last.as_slice() {
            [] => None,
            [last] => Some(last.clone()),
            last => Some(mx::concatenate(&last.iter().collect::<Vec<_>>(), 0)?),
        };
        for (row, sequence) in step.rows.iter().zip(sequences.iter_mut()) {
            sequence.count_known(&row.input, (row.start, drafts(row).len()))?;
        }
        let logits = last.map(|last| self.model.logits(&last)).transpose()?;
        let (sampled, unbound) = match logits {
            Some(logits) if step.rows.iter().any(Row::is_late) => (None, Some(unbound(step, logits))),
            Some(logits) => (Some(sample_now(step, sequences, &logits)?), None),
            None => (None, None),
        };
        Ok(Flight { rows, sampled, unbound, state: state(step, sequences), start: Start::Waiting })
    }

    /// `[T]`: the ids of all rows' tokens. Tokens in flight that follow each other there are taken at once.
    fn tokens(&self, step: &Step) -> mx::Result<Array> {
        let mut parts = Vec::new();
        let mut known: Vec<u32> = Vec::new();
        let mut drawn: Option<(&Array, Range<usize>)> = None;
        for row in &step.rows {
            match &row.input {
                RowInput::Tokens(tokens) => {
                    take_drawn(&mut drawn, &mut parts)?;
                    known.extend(tokens);
                }
                RowInput::Pending => {
                    let Some((tokens, at)) = self.pending(row.sequence) else { continue };
                    flush(&mut known, &mut parts);
                    match &mut drawn {
                        Some((_, range)) if range.end == at => range.end = at + 1,
                        _ => {
                            take_drawn(&mut drawn, &mut parts)?;
                            drawn = Some((tokens, at..at + 1));
                        }
                    }
                }
            }
        }
        take_drawn(&mut drawn, &mut parts)?;
        flush(&mut known, &mut parts);
        match parts.as_slice() {
            [part] => Ok(part.clone()),
            parts => mx::concatenate(&parts.iter().collect::<Vec<_>>(), 0),
        }
    }

    /// Scores of the targets at a part's positions.
    fn score_part(&self, hidden: &Array, step: &Step, part: &Part, sequence: &Sequence) -> mx::Result<PromptScores> {
        let RowOutput::Score { targets, .. } = &step.rows[part.row_idx].output else { return Ok(Vec::new()) };
        let n_targets = targets.len();
        let targets = &targets[part.first.min(n_targets)..(part.first + part.len).min(n_targets)];
        self.score(hidden, part.start, targets, &sequence.sampling)
    }

    /// Scores of `targets` at the positions from `start` on, a bounded number of logits at a time. Waits for the device.
    fn score(
        &self,
        hidden: &Array,
        start: usize,
        targets: &[TokenId],
        sampling: &SamplingOptions,
    ) -> mx::Result<PromptScores> {
        let n_top = sampling.n_logprobs.unwrap_or(0);
        let n_chunk = (N_SCORE_LOGITS_MAX / self.info.n_vocab).max(1);
        let mut scores = Vec::with_capacity(targets.len());
        for (chunk_idx, chunk) in targets.chunks(n_chunk).enumerate() {
            let first = (start + chunk_idx * n_chunk) as i32;
            let hidden = mx::slice(hidden, &[Cut { axis: 0, start: first, stop: first + chunk.len() as i32 }])?;
            let tokens = Array::from_slice(chunk, &[chunk.len() as i32]);
            let host = HostScores::read(&score(&self.model.logits(&hidden)?, &tokens, n_top)?)?;
            scores.extend(chunk.iter().enumerate().map(|(at, &token)| host.at(at, token, n_top)));
        }
        Ok(scores)
    }
}

/// Samples from `[N, V]`, the logits of all draws.
fn sample_now(step: &Step, sequences: &mut [Sequence], logits: &Array) -> mx::Result<Sampled> {
    let mut rows: Vec<_> = step
        .rows
        .iter()
        .zip(sequences)
        .filter(|(row, _)| !row.output.draws().is_empty())
        .map(|(row, sequence)| {
            let Sequence { sampling, counts, n_counted, .. } = sequence;
            *n_counted += usize::from(row.output.draws().len() == 1);
            SampleRow { options: sampling, draws: row.output.draws(), drafts: drafts(row), counts: counts.as_mut() }
        })
        .collect();
    sample(logits, &mut rows)
}

fn pass<'a>(step: &Step, parts: &[Part], sequences: &'a mut [Sequence]) -> Pass<'a> {
    let mut parts = parts.iter().peekable();
    let rows = sequences.iter_mut().enumerate().filter_map(|(row_idx, sequence)| {
        let part = parts.next_if(|part| part.row_idx == row_idx)?;
        let row = &step.rows[row_idx];
        let n_total = sequence.n_prompt.max(row.start + n_tokens(row));
        let offset = row.start + part.first;
        let n_sure = row.start + n_tokens(row) - drafts(row).len();
        Some(PassRow { start: part.start, len: part.len, offset, n_total, n_sure, cache: &mut sequence.cache })
    });
    Pass::new(rows.collect())
}

/// Of `[T, hidden]`, the positions of the pass that want a token, in order; `None` = there are none.
fn sampled_positions(hidden: &Array, step: &Step, parts: &[Part]) -> mx::Result<Option<Array>> {
    let drawn = parts.iter().flat_map(|&Part { row_idx, first, len, start }| {
        let row = &step.rows[row_idx];
        let first_drawn = n_tokens(row) - row.output.draws().len();
        (first_drawn.max(first)..first + len).map(move |at| (start + at - first) as i32)
    });
    let at: Vec<i32> = drawn.collect();
    match at.len() {
        0 => Ok(None),
        n if n == hidden.dim(0) as usize => Ok(Some(hidden.clone())),
        n => mx::take(hidden, &Array::from_slice(&at, &[n as i32]), 0).map(Some),
    }
}

/// What a flight must compute besides its outputs: those do not need what recurrent layers leave for the next step, which
/// would hold on to everything that it is computed from.
fn state(step: &Step, sequences: &[Sequence]) -> Vec<Array> {
    let mut state = Vec::new();
    let mut batches = HashSet::new();
    for cache in sequences.iter().flat_map(|sequence| sequence.cache.states()) {
        match cache.computed() {
            Computed::Together(batch) if batches.insert(Rc::as_ptr(batch)) => state.extend_from_slice(batch),
            Computed::Together(_) => {}
            Computed::Alone(arrays) => state.extend_from_slice(arrays),
        }
    }
    for (row, sequence) in step.rows.iter().zip(sequences) {
        if row.output.draws().is_empty() {
            state.extend(sequence.cache.arrays());
        }
        state.extend(sequence.recent.last().cloned());
        state.extend(sequence.counts.iter().map(|counts| counts.array().clone()));
    }
    state
}

/// Moves tokens in flight to the parts.
fn take_drawn(drawn: &mut Option<(&Array, Range<usize>)>, parts: &mut Vec<Array>) -> mx::Result<()> {
    let Some((tokens, range)) = drawn.take() else { return Ok(()) };
    let is_all = range.len() == tokens.dim(0) as usize;
    let cut = Cut { axis: 0, start: range.start as i32, stop: range.end as i32 };
    parts.push(if is_all { tokens.clone() } else { mx::slice(tokens, &[cut])? });
    Ok(())
}

fn flush(known: &mut Vec<u32>, parts: &mut Vec<Array>) {
    if !known.is_empty() {
        parts.push(Array::from_slice(known, &[known.len() as i32]));
        known.clear();
    }
}

#[cfg(test)]
#[path = "build_tests.rs"]
mod tests;
