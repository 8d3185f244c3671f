//! One sequence: its tokens, how many positions are computed, and what is in flight.

use std::collections::HashSet;
use std::sync::Arc;

use crate::draft::Source;
use crate::draw::uniform;
use crate::plan::PlannedRow;
use crate::prefix_tree::Hit;
use crate::speculation::Drafting;
use crate::{
    Draw, FinishReason, ModelInfo, Opening, Output, Priority, PromptScores, Request, Row, RowInput, RowOutput,
    RowResult, SamplingOptions, SequenceId, TokenId, Usage,
};

mod drafts;
mod held;
mod holdings;

use held::Held;
pub(crate) use held::N_FORCED_MAX;
pub(crate) use holdings::{Holdings, Keeping, Locks, PathBlock};

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
    /// Preempted: rows in flight still count, unless its cache is lost, and it waits to go on.
    Preempted,
    /// Finished: rows in flight are void.
    Finished,
}

/// Whether kept state from elsewhere was asked for, while a sequence waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// Not yet.
    Due,
    /// It is on its way; the sequence does not start before.
    Held,
    Done,
}

/// A request in progress. A step closes the gap between `n_computed` and the target; there is no other phase.
#[derive(Debug)]
pub(crate) struct Sequence {
    id: SequenceId,
    n_vocab: usize,
    sampling: Arc<SamplingOptions>,
    /// Prompt and output, as far as known.
    tokens: Vec<TokenId>,
    stop_tokens: HashSet<TokenId>,
    n_prompt: usize,
    /// Most tokens, prompt and output together.
    n_limit: usize,
    pub priority: Priority,
    /// Where the model needs snapshots: positions of the prompt at which a chunk ends and one is taken.
    cuts: Vec<usize>,
    /// End of the prompt's first message.
    n_head: usize,
    /// Positions computed, those in flight included.
    pub n_computed: usize,
    /// Positions computed by steps that are collected: what can be kept.
    pub n_confirmed: usize,
    /// Tokens that rows in flight sample.
    n_pending: usize,
    /// Tokens that rows in flight sample although they are known already, as a form leaves no choice.
    n_void: usize,
    /// Drafts of the row in flight.
    drafts: Vec<TokenId>,
    pub n_rows_in_flight: usize,
    /// Positions set aside for it in the KV budget.
    pub n_reserved: usize,
    /// Scores so far; `None` when not wanted or already reported.
    scores: Option<PromptScores>,
    pub standing: Standing,
    pub lookup: Lookup,
    /// The receiver has no room for more output.
    pub is_paused: bool,
    /// Whether the backend holds it.
    pub is_open: bool,
    /// Whether what the backend holds of it is of no use any more.
    pub is_lost: bool,
    pub holdings: Holdings,
    /// Prompt tokens that its first start took from kept blocks; `None` before it.
    n_cached: Option<usize>,
    /// Times in a row that a later arrival was served before it.
    pub n_deferred: usize,
    pub drafting: Drafting,
    /// Tokens that the backend's drafter knows.
    n_drafter_known: usize,
    /// What its output is held to.
    held: Option<Held>,
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
            n_vocab: info.n_vocab,
            sampling: Arc::new(request.sampling),
            tokens: request.prompt,
            stop_tokens,
            n_prompt,
            priority: request.priority,
            cuts: if info.snapshot_bytes > 0 { holdings::cuts(&request.boundaries, n_prompt) } else { Vec::new() },
            n_head: request.boundaries.first().copied().unwrap_or(0).min(n_prompt),
            n_limit: n_prompt.saturating_add(request.max_tokens).min(info.n_context),
            n_computed: 0,
            n_confirmed: 0,
            n_pending: 0,
            n_void: 0,
            drafts: Vec::new(),
            n_rows_in_flight: 0,
            n_reserved: 0,
            scores: request.score_prompt.then(Vec::new),
            standing: Standing::Waiting,
            lookup: Lookup::Due,
            is_paused: false,
            is_open: false,
            is_lost: false,
            holdings: Holdings::default(),
            n_cached: None,
            n_deferred: 0,
            drafting: Drafting::new(&request.prediction, n_prompt),
            n_drafter_known: 0,
            held: request.mask.map(|source| Held::new(source.start())),
        }
    }

    pub(crate) fn id(&self) -> SequenceId {
        self.id
    }

    pub(crate) fn opening(&self) -> Opening<'_> {
        let (prompt, output) = self.tokens.split_at(self.n_prompt);
        Opening { sampling: Arc::clone(&self.sampling), prompt, output, prefix: self.holdings.prefix() }
    }

    /// Prompt and output, as far as known.
    pub(crate) fn tokens(&self) -> &[TokenId] {
        &self.tokens
    }

    /// What kept blocks may save: all but the last token, whose logits are wanted. Nothing while every position's are.
    pub(crate) fn reusable(&self) -> &[TokenId] {
        match self.scores {
            Some(_) => &[],
            None => &self.tokens[..self.tokens.len() - 1],
        }
    }

    /// The prompt's first message.
    pub(crate) fn n_head(&self) -> usize {
        self.n_head
    }

    /// Takes part in steps from now on, from the end of `hit` on, whose blocks are locked.
    pub(crate) fn start(&mut self, hit: Hit, n_reserved: usize, n_block: usize) {
        self.standing = Standing::Running;
        self.n_reserved = n_reserved;
        self.n_computed = hit.n_tokens;
        self.n_confirmed = hit.n_tokens;
        self.n_deferred = 0;
        self.holdings.begin(hit, n_block);
    }

    /// The backend holds it: what there is to report, and the locks that it no longer needs.
    pub(crate) fn opened(&mut self, n_block: usize) -> (Option<Output>, Locks) {
        self.is_open = true;
        let is_first = self.n_cached.is_none();
        let n_start = self.holdings.prefix().n_tokens.min(self.n_prompt);
        let n_cached = *self.n_cached.get_or_insert(n_start);
        let output = (is_first && n_cached > 0).then(|| self.progress(n_cached));
        (output, self.holdings.opened(n_block))
    }

    fn progress(&self, n_computed: usize) -> Output {
        Output::Prefill { n_computed, n_prompt: self.n_prompt, n_cached: self.n_cached.unwrap_or(0) }
    }

    /// Positions until the next place for a snapshot, if the model needs them every `n_gap` positions.
    pub(crate) fn n_to_cut(&self, n_gap: usize) -> usize {
        let at = self.cuts.partition_point(|cut| *cut <= self.n_computed);
        let regular = (self.n_computed / n_gap + 1) * n_gap;
        self.cuts.get(at).copied().unwrap_or(regular).min(regular) - self.n_computed
    }

    /// Whether a snapshot is to be taken where it stands.
    pub(crate) fn is_at_cut(&self, n_gap: usize) -> bool {
        self.n_computed.is_multiple_of(n_gap) || self.cuts.binary_search(&self.n_computed).is_ok()
    }

    /// Positions that it reserves on its own, as no kept block holds them for it.
    pub(crate) fn n_own(&self, n_block: usize) -> usize {
        self.n_reserved - (self.holdings.n_shared() * n_block).min(self.n_reserved)
    }

    /// Positions whose tokens are known and whose state the backend has for certain.
    pub(crate) fn n_keepable(&self) -> usize {
        if self.is_open && !self.is_lost { self.n_confirmed.min(self.tokens.len()) } else { 0 }
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
        let is_late = has_sample && self.draws_late();
        let draw = has_sample.then(|| self.draw(end));
        let targets = self.targets(start, end);
        let planned = PlannedRow {
            id: self.id,
            n_tokens,
            end,
            has_sample,
            is_late,
            n_drafts: 0,
            source: Source::Lookup,
            n_scores: targets.len(),
            is_prefill: start < self.n_prompt || end < n_known || n_tokens > 1,
            snapshot: None,
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

    /// The draw of the token at `position`.
    fn draw(&self, position: usize) -> Draw {
        let uniform = uniform(self.sampling.seed, position);
        if self.draws_late() { Draw::late(uniform) } else { Draw::free(uniform) }
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
        self.n_pending -= planned.n_pending();
        self.n_rows_in_flight -= 1;
        self.drafts.clear();
    }

    /// The tokens of a row's result that are not known yet.
    pub(crate) fn drawn(&self, result: &RowResult) -> Vec<TokenId> {
        result.tokens.iter().skip(self.n_void).map(|score| score.token).collect()
    }

    /// Takes in a row's result and says what there is to report.
    pub(crate) fn apply(&mut self, planned: &PlannedRow, result: RowResult) -> Vec<Output> {
        self.n_rows_in_flight -= 1;
        if self.is_lost {
            return Vec::new();
        }
        let n_void = std::mem::take(&mut self.n_void);
        self.drafts.clear();
        // Of drafts, only those that were right are computed; a token was drawn for each, and one after them.
        let n_rejected = planned.n_pending().saturating_sub(result.tokens.len());
        self.n_pending -= planned.n_pending() - n_void;
        self.n_computed -= n_rejected;
        self.n_confirmed = planned.end - n_rejected;
        if self.standing == Standing::Leaving(Leave::Finished) {
            // No one hears of the token, but the row after it computed its position, which is worth keeping.
            self.tokens.extend(result.tokens.iter().skip(n_void).map(|score| score.token));
            return Vec::new();
        }
        let mut outputs = Vec::new();
        if let Some(scores) = &mut self.scores {
            scores.extend(result.prompt_scores);
        }
        if planned.end < self.n_prompt {
            if self.n_output() == 0 {
                outputs.push(self.progress(planned.end));
            }
            return outputs;
        }
        outputs.extend(self.scores.take().map(Output::Prompt));
        for score in result.tokens.into_iter().skip(n_void) {
            if let Some(finish) = self.take(score, &mut outputs) {
                outputs.push(finish);
                return outputs;
            }
        }
        self.take_forced(&mut outputs);
        if self.tokens.len() >= self.n_limit && self.standing != Standing::Leaving(Leave::Finished) {
            outputs.push(self.finish(FinishReason::Length));
        }
        outputs
    }

    /// Ends the sequence now; it is closed once no row of it is in flight.
    pub(crate) fn finish(&mut self, reason: FinishReason) -> Output {
        self.standing = Standing::Leaving(Leave::Finished);
        let n_cached = self.n_cached.unwrap_or(0);
        let Drafting { n_drafted, n_accepted, .. } = self.drafting;
        let usage = Usage { n_prompt: self.n_prompt, n_cached, n_output: self.n_output(), n_drafted, n_accepted };
        Output::Finish { reason, usage }
    }

    /// Back to waiting, with everything known as the new target. No row of it is in flight.
    pub(crate) fn requeue(&mut self) {
        debug_assert_eq!(self.n_rows_in_flight, 0);
        self.standing = Standing::Waiting;
        self.lookup = Lookup::Due;
        self.is_open = false;
        self.is_lost = false;
        self.holdings = Holdings::default();
        self.n_computed = 0;
        self.n_confirmed = 0;
        self.n_pending = 0;
        self.n_void = 0;
        self.drafts.clear();
        self.n_reserved = 0;
        if let Some(scores) = &mut self.scores {
            scores.clear();
        }
    }
}

#[cfg(test)]
#[path = "sequence_tests.rs"]
mod tests;
