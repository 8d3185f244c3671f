//! One sequence: its tokens, how many positions are computed, and what is in flight.

use std::collections::HashSet;
use std::sync::Arc;

use crate::draw::uniform;
use crate::plan::PlannedRow;
use crate::{
    Draw, FinishReason, ModelInfo, Opening, Output, Prefix, PromptScores, Request, Row, RowInput, RowOutput, RowResult,
    SamplingOptions, SequenceId, TokenId, Usage,
};

/// Where a sequence stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Holds nothing in the backend.
    Waiting,
    /// Takes part in steps.
    Running,
    /// Plans no more rows, and is closed once none is in flight.
    Leaving(Leave),
}

/// Why a sequence leaves, which decides what its rows in flight are worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leave {
    /// Preempted: rows in flight still count, and it waits to be computed anew.
    Preempted,
    /// Its cache is lost: rows in flight are void, and it waits to be computed anew.
    Lost,
    /// Finished: rows in flight are void.
    Finished,
}

/// A request in progress. A step closes the gap between `n_computed` and the target; there is no other phase.
#[derive(Debug)]
pub(crate) struct Sequence {
    id: SequenceId,
    sampling: Arc<SamplingOptions>,
    /// Prompt and output, as far as known.
    tokens: Vec<TokenId>,
    stop_tokens: HashSet<TokenId>,
    n_prompt: usize,
    /// Most tokens, prompt and output together.
    n_limit: usize,
    /// Positions computed, those in flight included.
    pub n_computed: usize,
    /// Tokens that rows in flight sample.
    n_pending: usize,
    pub n_rows_in_flight: usize,
    /// Positions set aside for it in the KV budget.
    pub n_reserved: usize,
    /// Scores so far; `None` when not wanted or already reported.
    scores: Option<PromptScores>,
    pub standing: Standing,
    /// The receiver has no room for more output.
    pub is_paused: bool,
    /// Whether the backend holds it.
    pub is_open: bool,
}

impl Sequence {
    pub(crate) fn new(id: SequenceId, request: Request, info: &ModelInfo) -> Self {
        let mut stop_tokens: HashSet<_> = request.stop_tokens.into_iter().collect();
        if !request.ignore_eos {
            stop_tokens.extend(&info.eos);
        }
        let n_prompt = request.prompt.len();
        Self {
            id,
            sampling: Arc::new(request.sampling),
            tokens: request.prompt,
            stop_tokens,
            n_prompt,
            n_limit: n_prompt.saturating_add(request.max_tokens).min(info.n_context),
            n_computed: 0,
            n_pending: 0,
            n_rows_in_flight: 0,
            n_reserved: 0,
            scores: request.score_prompt.then(Vec::new),
            standing: Standing::Waiting,
            is_paused: false,
            is_open: false,
        }
    }

    pub(crate) fn id(&self) -> SequenceId {
        self.id
    }

    pub(crate) fn opening(&self) -> Opening<'_> {
        let (prompt, output) = self.tokens.split_at(self.n_prompt);
        Opening { sampling: Arc::clone(&self.sampling), prompt, output, prefix: Prefix::default() }
    }

    /// Positions still to compute. The last token of a sequence is never computed, as nothing follows it.
    pub(crate) fn gap(&self) -> usize {
        let n_known = self.tokens.len() + self.n_pending;
        n_known.min(self.n_positions_max()).saturating_sub(self.n_computed)
    }

    /// Positions it holds when it runs to its limit.
    pub(crate) fn n_positions_max(&self) -> usize {
        self.n_prompt.max(self.n_limit - 1)
    }

    /// Positions to set aside so that it holds `n_positions` and grows by `n_growth` more, if it may.
    pub(crate) fn reservation(&self, n_positions: usize, n_growth: usize) -> usize {
        n_positions.saturating_add(n_growth).min(self.n_positions_max())
    }

    /// Positions that admission must find room for: all that is known.
    pub(crate) fn n_known(&self) -> usize {
        self.tokens.len()
    }

    fn n_output(&self) -> usize {
        self.tokens.len() - self.n_prompt
    }

    /// Plans the next `n_tokens` positions, at most the gap.
    pub(crate) fn plan_row(&mut self, n_tokens: usize) -> (Row, PlannedRow) {
        let (start, end) = (self.n_computed, self.n_computed + n_tokens);
        let n_known = self.tokens.len() + self.n_pending;
        let input = match self.tokens.get(start..end) {
            Some(tokens) => RowInput::Tokens(tokens.to_vec()),
            None => RowInput::Pending,
        };
        let has_sample = end == n_known && n_known < self.n_limit;
        let draw = has_sample.then(|| Draw::free(uniform(self.sampling.seed, end)));
        let targets = self.targets(start, end);
        let planned = PlannedRow {
            id: self.id,
            n_tokens,
            end,
            has_sample,
            n_scores: targets.len(),
            is_prefill: start < self.n_prompt || end < n_known || n_tokens > 1,
        };
        let output = match (targets.is_empty(), draw) {
            (false, draw) => RowOutput::Score { targets, draw },
            (true, Some(draw)) => RowOutput::Sample { draws: vec![draw] },
            (true, None) => RowOutput::None,
        };
        self.n_computed = end;
        self.n_pending += usize::from(has_sample);
        self.n_rows_in_flight += 1;
        (Row { sequence: self.id, start, input, output }, planned)
    }

    /// The prompt tokens that follow the positions `start..end`, while scores are wanted.
    fn targets(&self, start: usize, end: usize) -> Vec<TokenId> {
        match &self.scores {
            Some(_) => self.tokens[(start + 1).min(self.n_prompt)..(end + 1).min(self.n_prompt)].to_vec(),
            None => Vec::new(),
        }
    }

    /// Takes back a planned row that was never submitted; the newest first.
    pub(crate) fn retract_row(&mut self, planned: &PlannedRow) {
        self.n_computed -= planned.n_tokens;
        self.n_pending -= usize::from(planned.has_sample);
        self.n_rows_in_flight -= 1;
    }

    /// Takes in a row's result and says what there is to report.
    pub(crate) fn apply(&mut self, planned: &PlannedRow, result: RowResult) -> Vec<Output> {
        self.n_rows_in_flight -= 1;
        if matches!(self.standing, Standing::Leaving(Leave::Lost | Leave::Finished)) {
            return Vec::new();
        }
        let mut outputs = Vec::new();
        if let Some(scores) = &mut self.scores {
            scores.extend(result.prompt_scores);
        }
        if planned.end < self.n_prompt {
            if self.n_output() == 0 {
                outputs.push(Output::Prefill { n_computed: planned.end, n_prompt: self.n_prompt });
            }
            return outputs;
        }
        outputs.extend(self.scores.take().map(Output::Prompt));
        for score in result.tokens {
            self.n_pending -= 1;
            self.tokens.push(score.token);
            let is_stop = self.stop_tokens.contains(&score.token);
            outputs.push(Output::Token(score));
            if is_stop {
                outputs.push(self.finish(FinishReason::Stop));
                return outputs;
            }
        }
        if self.tokens.len() >= self.n_limit {
            outputs.push(self.finish(FinishReason::Length));
        }
        outputs
    }

    /// Ends the sequence now; it is closed once no row of it is in flight.
    pub(crate) fn finish(&mut self, reason: FinishReason) -> Output {
        self.standing = Standing::Leaving(Leave::Finished);
        let usage = Usage { n_prompt: self.n_prompt, n_cached: 0, n_output: self.n_output() };
        Output::Finish { reason, usage }
    }

    /// Back to waiting, with everything known as the new target. No row of it is in flight.
    pub(crate) fn requeue(&mut self) {
        debug_assert_eq!(self.n_rows_in_flight, 0);
        self.standing = Standing::Waiting;
        self.is_open = false;
        self.n_computed = 0;
        self.n_pending = 0;
        self.n_reserved = 0;
        if let Some(scores) = &mut self.scores {
            scores.clear();
        }
    }
}

#[cfg(test)]
#[path = "sequence_tests.rs"]
mod tests;
