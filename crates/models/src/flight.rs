//! Steps between submit and collect: what the device owes, and how it becomes a [`StepOutput`].

use std::ops::Range;

use tokbar_engine::{Draw, PromptScores, RowResult, SequenceId, StepError, StepOutput, TokenId, TokenScore};

use crate::mx::{self, Array, Result};
use crate::sample::{Sampled, Scores};

/// A submitted step.
pub struct Flight {
    /// In the step's order.
    pub rows: Vec<FlightRow>,
    /// Tokens of the rows that sample, in the order of draws.
    pub sampled: Option<Sampled>,
    /// What is to be sampled once its terms are told.
    pub unbound: Option<Unbound>,
    /// What else must be computed: caches of rows that return nothing, counts of penalties.
    pub state: Vec<Array>,
    /// Whether the device has it, or why it does not.
    pub start: Start,
}

/// Logits whose draws hang on what is not known yet.
pub struct Unbound {
    /// `[N, V]`: of the draws of all rows, in order.
    pub logits: Array,
    /// The rows that sample, in the step's order.
    pub rows: Vec<UnboundRow>,
}

/// One row's draws.
pub struct UnboundRow {
    /// Whose.
    pub sequence: SequenceId,
    /// In the order of positions.
    pub draws: Vec<Draw>,
    /// The input tokens at the positions of all draws but the first.
    pub drafts: Vec<TokenId>,
}

/// One row's part of a flight.
pub struct FlightRow {
    /// Whose.
    pub sequence: SequenceId,
    /// Its draws among the sampled tokens.
    pub draws: Range<usize>,
    /// The input tokens at the positions of all draws but the first.
    pub drafts: Vec<TokenId>,
    /// How many likeliest tokens the row wants; `None` = no scores.
    pub n_top: Option<usize>,
    /// Scores of prompt tokens, known already.
    pub prompt_scores: PromptScores,
}

/// Where a flight stands.
#[derive(Clone, Debug, PartialEq)]
pub enum Start {
    /// The graph is built.
    Waiting,
    /// The device works on it.
    Started,
    /// The device refused it.
    Failed(StepError),
}

impl Flight {
    /// Hands the graph to the device.
    pub fn start(&mut self) {
        if self.start != Start::Waiting {
            return;
        }
        let mut arrays: Vec<&Array> = self.state.iter().collect();
        arrays.extend(self.sampled.iter().flat_map(sampled_arrays));
        arrays.extend(self.unbound.as_ref().map(|unbound| &unbound.logits));
        self.start = mx::async_eval(&arrays).map_or_else(|error| Start::Failed(step_error(error)), |()| Start::Started);
        // What is held here could not be written in place by the next step.
        self.state.drain(..self.state.len().saturating_sub(1));
    }

    /// Takes what was sampled once the terms were told, and hands it to the device if that has the rest.
    pub fn bound(&mut self, sampled: Result<Sampled>, counts: Vec<Array>) {
        let started = sampled.and_then(|sampled| {
            let arrays: Vec<&Array> = sampled_arrays(&sampled).chain(&counts).collect();
            if self.start == Start::Started {
                mx::async_eval(&arrays)?;
            }
            self.sampled = Some(sampled);
            Ok(())
        });
        if let Err(error) = started {
            self.start = Start::Failed(step_error(error));
        }
    }

    /// Waits for the device.
    pub fn finish(mut self) -> std::result::Result<StepOutput, StepError> {
        self.start();
        if let Start::Failed(error) = self.start {
            return Err(error);
        }
        if self.unbound.is_some() {
            return Err(StepError::Mismatch { detail: "a step is collected whose terms were not told".to_owned() });
        }
        self.read().map_err(step_error)
    }

    fn read(self) -> Result<StepOutput> {
        if let Some(array) = self.state.first() {
            mx::eval(&[array])?;
        }
        let (tokens, scores) = match &self.sampled {
            Some(Sampled { tokens, scores }) => {
                (mx::to_u32(tokens)?, scores.as_ref().map(HostScores::read).transpose()?)
            }
            None => (Vec::new(), None),
        };
        let rows = self.rows.into_iter().map(|row| row.result(&tokens, scores.as_ref()));
        Ok(StepOutput { rows: rows.collect() })
    }
}

fn sampled_arrays(sampled: &Sampled) -> impl Iterator<Item = &Array> {
    let scores = sampled.scores.iter().flat_map(|Scores { logprobs, top }| {
        std::iter::once(logprobs).chain(top.iter().flat_map(|(ids, values)| [ids, values]))
    });
    std::iter::once(&sampled.tokens).chain(scores)
}

impl FlightRow {
    /// Whether its cache holds positions that a draft may have spoilt.
    pub fn has_drafts(&self) -> bool {
        !self.drafts.is_empty()
    }

    /// Draws up to and including the first that is not the draft at the next position.
    fn result(self, tokens: &[TokenId], scores: Option<&HostScores>) -> RowResult {
        let drawn = &tokens[self.draws.clone()];
        let n_accepted = drawn.iter().zip(&self.drafts).take_while(|(token, draft)| token == draft).count();
        let asked = scores.zip(self.n_top);
        let kept = drawn.iter().enumerate().take(n_accepted + 1).map(|(at, &token)| {
            let free = || TokenScore { token, logprob: f32::NAN, top: Vec::new() };
            asked.map_or_else(free, |(scores, n_top)| scores.at(self.draws.start + at, token, n_top))
        });
        RowResult { sequence: self.sequence, tokens: kept.collect(), prompt_scores: self.prompt_scores }
    }
}

/// Scores on the host.
pub struct HostScores {
    logprobs: Vec<f32>,
    top: Option<(Vec<u32>, Vec<f32>)>,
}

impl HostScores {
    /// Waits for the device.
    pub fn read(scores: &Scores) -> Result<Self> {
        let top = match &scores.top {
            Some((ids, values)) => Some((mx::to_u32(ids)?, mx::to_f32(values)?)),
            None => None,
        };
        Ok(Self { logprobs: mx::to_f32(&scores.logprobs)?, top })
    }

    /// The score of `token` at index `at`, with the `n_top` likeliest.
    pub fn at(&self, at: usize, token: TokenId, n_top: usize) -> TokenScore {
        let mut top = Vec::new();
        if let Some((ids, values)) = &self.top {
            let n = ids.len() / self.logprobs.len().max(1);
            let range = at * n..(at + 1) * n;
            top = ids[range.clone()].iter().copied().zip(values[range].iter().copied()).collect();
            top.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            top.truncate(n_top);
        }
        TokenScore { token, logprob: self.logprobs[at], top }
    }
}

/// What the engine should make of an MLX error.
pub fn step_error(error: mx::Error) -> StepError {
    let is_out_of_memory = error.is_out_of_memory();
    let detail = error.what;
    if is_out_of_memory { StepError::OutOfMemory { detail } } else { StepError::Device { detail } }
}
