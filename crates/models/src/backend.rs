//! [`Backend`] on MLX: sequences and their KV caches, steps queued and answered in order.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::Path;
use std::sync::Arc;

use tokbar_engine::{
    Backend, DraftAsk, ModelInfo, Opening, Prefix, PromptScores, Row, RowInput, RowOutput, SamplingOptions, SequenceId,
    Step, StepError, StepOutput, TokenId,
};

use crate::cache::KvCache;
use crate::cut::{Part, cut, n_tokens};
use crate::draft::DraftModel;
use crate::families::Model;
use crate::flight::{Flight, FlightRow, HostScores, Start, step_error};
use crate::load::{LoadOptions, ModelSummary, load};
use crate::mx::{self, Array, Cut, Device};
use crate::pass::{Pass, PassRow};
use crate::sample::{Counts, SampleRow, Sampled, sample, score};
use crate::weights::LoadProgress;
use crate::{LoadError, LoadResult};

mod drafter;
mod verify;

use verify::drafts;

/// Most steps in flight.
const N_IN_FLIGHT_MAX: usize = 2;

/// Most tokens that run through the network at once on a CPU.
const N_PASS_CPU: usize = 512;

/// Most logits computed at once when a prompt is scored, in elements.
const N_SCORE_LOGITS_MAX: usize = 1 << 24;

/// A model on MLX. Lives on the thread that loaded it.
pub struct MlxBackend {
    model: Box<dyn Model>,
    info: ModelInfo,
    summary: ModelSummary,
    device: Device,
    /// Most tokens that run through the network at once.
    n_pass_max: usize,
    drafter: Option<DraftModel>,
    sequences: HashMap<SequenceId, Sequence>,
    in_flight: VecDeque<Flight>,
}

/// One sequence's state.
struct Sequence {
    caches: Vec<KvCache>,
    n_positions: usize,
    n_prompt: usize,
    sampling: Arc<SamplingOptions>,
    counts: Option<Counts>,
}

impl MlxBackend {
    /// Loads a checkpoint in Hugging Face or MLX layout.
    ///
    /// # Errors
    /// When a file is missing, damaged or contradicts another, the architecture is unknown, or memory runs out.
    pub fn load(dir: &Path, options: &LoadOptions, progress: &mut dyn FnMut(LoadProgress)) -> LoadResult<Self> {
        let loaded = load(dir, options, progress)?;
        let mut backend = Self {
            model: loaded.model,
            info: loaded.info,
            summary: loaded.summary,
            device: loaded.device,
            drafter: None,
            n_pass_max: if loaded.device == Device::Cpu { N_PASS_CPU } else { usize::MAX },
            sequences: HashMap::new(),
            in_flight: VecDeque::new(),
        };
        backend.probe(dir)?;
        Ok(backend)
    }

    /// Runs one token, so that weights that are no numbers are found now and not by whoever asks first.
    fn probe(&mut self, dir: &Path) -> LoadResult<()> {
        let id = SequenceId(u64::MAX);
        let sampling = Arc::new(SamplingOptions { n_logprobs: Some(0), ..SamplingOptions::default() });
        let input = RowInput::Tokens(vec![0]);
        let row = Row { sequence: id, start: 0, input, output: RowOutput::sample(0.0) };
        let output = self
            .open(id, &Opening { sampling, prompt: &[0], output: &[], prefix: Prefix::default() })
            .and_then(|()| self.submit(&Step { rows: vec![row] }))
            .and_then(|()| self.collect());
        self.close(id);
        let unsound = |detail: String| LoadError::Unsound { dir: dir.to_owned(), detail };
        let output = output.map_err(|error| unsound(error.to_string()))?;
        let mut tokens = output.rows.into_iter().flat_map(|row| row.tokens);
        if tokens.any(|token| token.logprob.is_finite()) {
            return Ok(());
        }
        Err(unsound("its weights or config.json make scores that are not finite numbers".to_owned()))
    }

    /// What was loaded.
    pub fn summary(&self) -> &ModelSummary {
        &self.summary
    }
}

impl Backend for MlxBackend {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn open(&mut self, id: SequenceId, opening: &Opening<'_>) -> Result<(), StepError> {
        let Opening { sampling, prompt, output, .. } = opening;
        let counts = sampling.has_penalties().then(|| Counts::new(prompt, output, self.info.n_vocab));
        let sequence = Sequence {
            caches: self.model.sizes().windows.iter().map(|window| KvCache::new(*window)).collect(),
            n_positions: 0,
            n_prompt: prompt.len(),
            sampling: sampling.clone(),
            counts,
        };
        match self.sequences.insert(id, sequence) {
            None => Ok(()),
            Some(_) => Err(mismatch(id, "is open already")),
        }
    }

    fn submit(&mut self, step: &Step) -> Result<(), StepError> {
        self.check(step)?;
        // Taken out of the map for the time of the pass, which borrows them all at once.
        let mut sequences: Vec<_> = step.rows.iter().filter_map(|row| self.sequences.remove(&row.sequence)).collect();
        let saved: Vec<_> =
            sequences.iter().map(|sequence| (sequence.caches.clone(), sequence.counts.clone())).collect();
        let flight = self.build(step, &mut sequences);
        for ((row, mut sequence), (caches, counts)) in step.rows.iter().zip(sequences).zip(saved) {
            match &flight {
                Ok(_) => sequence.n_positions = row.start + n_tokens(row),
                Err(_) => (sequence.caches, sequence.counts) = (caches, counts),
            }
            self.sequences.insert(row.sequence, sequence);
        }
        let mut flight = flight.map_err(step_error)?;
        // On a CPU the next step's graph waits until the device is free: buffers that a running step reads cannot be
        // written in place. A GPU gains more from having its commands early.
        if self.device == Device::Gpu || self.in_flight.is_empty() {
            flight.start();
        }
        self.in_flight.push_back(flight);
        Ok(())
    }

    fn collect(&mut self) -> Result<StepOutput, StepError> {
        let flight = self.in_flight.pop_front();
        let flight = flight.ok_or_else(|| StepError::Mismatch { detail: "no step is in flight".into() })?;
        let verified: Vec<_> =
            flight.rows.iter().filter(|row| row.has_drafts()).map(|row| (row.sequence, row.drafts.len())).collect();
        let output = flight.finish();
        if let Some(next) = self.in_flight.front_mut() {
            next.start();
        }
        let output = output?;
        for (id, n_drafts) in verified {
            self.settle_drafts(id, n_drafts, &output)?;
        }
        Ok(output)
    }

    fn draft(&mut self, asks: &[DraftAsk<'_>]) -> Result<Vec<Vec<TokenId>>, StepError> {
        self.ask_drafter(asks)
    }

    fn close(&mut self, id: SequenceId) {
        self.drafter.iter_mut().for_each(|drafter| drafter.close(id));
        self.sequences.remove(&id);
        if self.sequences.is_empty()
            && let Err(error) = mx::clear_cache()
        {
            tracing::warn!(error = error.what, "the allocator kept its cache");
        }
    }

    fn memory_bytes(&self) -> usize {
        let (active, cached) = mx::memory();
        active + cached
    }
}

impl MlxBackend {
    /// Refuses a step that does not fit the state, before anything has changed.
    fn check(&self, step: &Step) -> Result<(), StepError> {
        if step.rows.is_empty() || self.in_flight.len() >= N_IN_FLIGHT_MAX {
            let (rows, flights) = (step.rows.len(), self.in_flight.len());
            return Err(StepError::Mismatch { detail: format!("a step of {rows} rows with {flights} in flight") });
        }
        let mut seen = HashSet::new();
        for row in &step.rows {
            let id = row.sequence;
            let sequence = self.sequences.get(&id).ok_or_else(|| mismatch(id, "is not open"))?;
            if !seen.insert(id) {
                return Err(mismatch(id, "has two rows"));
            }
            if row.start != sequence.n_positions {
                let detail = format!("starts at {}, but its cache holds {}", row.start, sequence.n_positions);
                return Err(mismatch(id, &detail));
            }
            self.check_row(row)?;
        }
        Ok(())
    }

    fn check_row(&self, row: &Row) -> Result<(), StepError> {
        let n_vocab = self.info.n_vocab;
        let is_token = |token: &TokenId| (*token as usize) < n_vocab;
        match &row.input {
            RowInput::Tokens(tokens) if tokens.is_empty() => return Err(mismatch(row.sequence, "has no tokens")),
            RowInput::Tokens(tokens) if !tokens.iter().all(is_token) => {
                return Err(mismatch(row.sequence, &format!("has a token outside the vocabulary of {n_vocab}")));
            }
            RowInput::Pending if self.pending(row.sequence).is_none() => {
                return Err(mismatch(row.sequence, "waits for a token that the last step does not sample"));
            }
            _ => {}
        }
        self.check_draws(row)?;
        match &row.output {
            RowOutput::Score { targets, .. } if targets.len() > n_tokens(row) || !targets.iter().all(is_token) => {
                Err(mismatch(row.sequence, "has targets beyond its tokens or the vocabulary"))
            }
            _ => Ok(()),
        }
    }

    /// Tokens of the last step submitted, and the index of a sequence's among them; none that hangs on drafts.
    fn pending(&self, id: SequenceId) -> Option<(&Array, usize)> {
        let flight = self.in_flight.back()?;
        let row = flight.rows.iter().find(|row| row.sequence == id && row.draws.len() == 1)?;
        Some((&flight.sampled.as_ref()?.tokens, row.draws.start))
    }

    /// Builds the step's graph; `sequences` are those of its rows, in order.
    fn build(&self, step: &Step, sequences: &mut [Sequence]) -> mx::Result<Flight> {
        let tokens = self.tokens(step)?;
        let mut scores = vec![PromptScores::new(); step.rows.len()];
        let mut last = Vec::new();
        let mut start = 0;
        for parts in cut(step, self.n_pass_max) {
            let n = parts.iter().map(|part| part.len as i32).sum::<i32>();
            let tokens = mx::slice(&tokens, &[Cut { axis: 0, start, stop: start + n }])?;
            start += n;
            let hidden = self.model.hidden(&tokens, &mut pass(step, &parts, sequences))?;
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
        let sampled = match last.as_slice() {
            [] => None,
            [last] => Some(self.sample(step, sequences, last)?),
            last => Some(self.sample(step, sequences, &mx::concatenate(&last.iter().collect::<Vec<_>>(), 0)?)?),
        };
        Ok(Flight { rows, sampled, state: state(step, sequences), start: Start::Waiting })
    }

    /// `[T]`: the ids of all rows' tokens.
    fn tokens(&self, step: &Step) -> mx::Result<Array> {
        let mut parts: Vec<Array> = Vec::new();
        let mut known: Vec<u32> = Vec::new();
        for row in &step.rows {
            match &row.input {
                RowInput::Tokens(tokens) => known.extend(tokens),
                RowInput::Pending => {
                    if let Some((tokens, at)) = self.pending(row.sequence) {
                        flush(&mut known, &mut parts);
                        parts.push(mx::slice(tokens, &[Cut { axis: 0, start: at as i32, stop: at as i32 + 1 }])?);
                    }
                }
            }
        }
        flush(&mut known, &mut parts);
        match parts.as_slice() {
            [part] => Ok(part.clone()),
            parts => mx::concatenate(&parts.iter().collect::<Vec<_>>(), 0),
        }
    }

    /// Samples from `[N, hidden]`, the positions of all draws.
    fn sample(&self, step: &Step, sequences: &mut [Sequence], last: &Array) -> mx::Result<Sampled> {
        let logits = self.model.logits(last)?;
        let mut rows: Vec<_> = step
            .rows
            .iter()
            .zip(sequences)
            .filter(|(row, _)| !row.output.draws().is_empty())
            .map(|(row, sequence)| {
                let Sequence { sampling, counts, .. } = sequence;
                SampleRow { options: sampling, draws: row.output.draws(), drafts: drafts(row), counts: counts.as_mut() }
            })
            .collect();
        sample(&logits, &mut rows)
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

fn pass<'a>(step: &Step, parts: &[Part], sequences: &'a mut [Sequence]) -> Pass<'a> {
    let mut parts = parts.iter().peekable();
    let rows = sequences.iter_mut().enumerate().filter_map(|(row_idx, sequence)| {
        let part = parts.next_if(|part| part.row_idx == row_idx)?;
        let row = &step.rows[row_idx];
        let n_total = sequence.n_prompt.max(row.start + n_tokens(row));
        let offset = row.start + part.first;
        Some(PassRow { start: part.start, len: part.len, offset, n_total, caches: &mut sequence.caches })
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

/// What a flight must compute besides its outputs.
fn state(step: &Step, sequences: &[Sequence]) -> Vec<Array> {
    let mut state = Vec::new();
    for (row, sequence) in step.rows.iter().zip(sequences) {
        if row.output.draws().is_empty() {
            state.extend(sequence.caches.iter().flat_map(KvCache::arrays).cloned());
        }
        state.extend(sequence.counts.iter().map(|counts| counts.array().clone()));
    }
    state
}

fn flush(known: &mut Vec<u32>, parts: &mut Vec<Array>) {
    if !known.is_empty() {
        parts.push(Array::from_slice(known, &[known.len() as i32]));
        known.clear();
    }
}

fn mismatch(id: SequenceId, detail: &str) -> StepError {
    StepError::Mismatch { detail: format!("sequence {} {detail}", id.0) }
}

#[cfg(test)]
#[path = "backend_tests.rs"]
mod tests;
