//! Steps between submit and collect: what the device owes, and how it becomes a [`StepOutput`].

use tokbar_engine::{PromptScores, RowResult, SequenceId, StepError, StepOutput, TokenId, TokenScore};

use crate::mx::{self, Array, Result};
use crate::sample::{Sampled, Scores};

/// A submitted step.
pub struct Flight {
    /// In the step's order.
    pub rows: Vec<FlightRow>,
    /// Tokens of the rows that sample, in order.
    pub sampled: Option<Sampled>,
    /// What else must be computed: caches of rows that return nothing, counts of penalties.
    pub state: Vec<Array>,
    /// Whether the device has it, or why it does not.
    pub start: Start,
}

/// One row's part of a flight.
pub struct FlightRow {
    /// Whose.
    pub sequence: SequenceId,
    /// Index among the sampled tokens.
    pub sample_idx: Option<usize>,
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
        if let Some(Sampled { tokens, scores }) = &self.sampled {
            arrays.push(tokens);
            if let Some(Scores { logprobs, top }) = scores {
                arrays.push(logprobs);
                arrays.extend(top.iter().flat_map(|(ids, values)| [ids, values]));
            }
        }
        self.start = mx::async_eval(&arrays).map_or_else(|error| Start::Failed(step_error(error)), |()| Start::Started);
        // What is held here could not be written in place by the next step.
        self.state.drain(..self.state.len().saturating_sub(1));
    }

    /// Waits for the device.
    pub fn finish(mut self) -> std::result::Result<StepOutput, StepError> {
        self.start();
        if let Start::Failed(error) = self.start {
            return Err(error);
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
        let rows = self.rows.into_iter().map(|row| {
            let token = row.sample_idx.and_then(|at| {
                let token = *tokens.get(at)?;
                let asked = scores.as_ref().zip(row.n_top);
                Some(asked.map_or(TokenScore { token, logprob: f32::NAN, top: Vec::new() }, |(scores, n_top)| {
                    scores.at(at, token, n_top)
                }))
            });
            RowResult { sequence: row.sequence, tokens: token.into_iter().collect(), prompt_scores: row.prompt_scores }
        });
        Ok(StepOutput { rows: rows.collect() })
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
