//! A backend without a model, for tests: the next token is a hash of the stored prefix.
//!
//! Content-addressed, so that any wrong reuse, lost row or cross-talk changes the output: a sequence that starts from the
//! wrong block or snapshot goes on wrongly. It also checks that every row starts where its cache ends and that only
//! positions it holds are kept, and says what it holds, so that tests can assert that nothing is left.
//! With [`ModelInfo::snapshot_bytes`] it behaves as a recurrent model does, which resumes only from a snapshot.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::{
    Backend, BlockId, DraftAsk, Draw, Kept, ModelInfo, Opening, Row, RowInput, RowOutput, RowResult, SamplingOptions,
    SequenceId, SnapshotId, Step, StepError, StepOutput, Terms, TokenId, TokenScore,
};

mod check;
mod drafter;
mod expected;
mod fault;
mod kept;
mod late;
mod probe;
mod script;
mod state;

use check::n_input;
pub use expected::{expected_prompt_scores, expected_tokens};
pub use fault::{Call, Effect, Fault};
use kept::{KeptSnapshot, Shelf};
use late::Flight;
pub use probe::{Probe, Seen};
pub use script::{Reply, Script};
use state::{Digest, Position};

/// How a fake backend behaves.
#[derive(Clone, Debug)]
pub struct FakeOptions {
    /// Facts it claims.
    pub info: ModelInfo,
    /// Answers every prompt with these tokens and then EOS, in place of hashes.
    pub reply: Option<Vec<TokenId>>,
    /// Answers prompts that it knows in place of `reply`.
    pub script: Option<Script>,
    /// Positions that fit, kept ones included; a step beyond them is out of memory.
    pub n_tokens_max: Option<usize>,
    /// What goes wrong.
    pub faults: Vec<Fault>,
    /// How long a step takes, on a real clock; nothing at all unless time itself is tested.
    pub pace: Duration,
    /// Of 100 drafts, how many are right; it drafts when [`ModelInfo::n_drafter_tokens`] is not 0.
    pub drafter_percent: usize,
}

impl Default for FakeOptions {
    fn default() -> Self {
        let info = ModelInfo {
            n_vocab: 1000,
            n_context: 4096,
            eos: vec![0],
            kv_bytes_per_token: 16,
            weight_bytes: 1 << 20,
            n_drafts_max: 32,
            ..ModelInfo::default()
        };
        Self {
            info,
            reply: None,
            script: None,
            n_tokens_max: None,
            faults: Vec::new(),
            pace: Duration::ZERO,
            drafter_percent: 0,
        }
    }
}

/// See the module.
#[derive(Debug)]
pub struct FakeBackend {
    options: FakeOptions,
    sequences: HashMap<SequenceId, Stored>,
    in_flight: VecDeque<Flight>,
    shelf: Shelf,
    probe: Arc<Probe>,
}

/// What a sequence's cache holds.
#[derive(Debug)]
struct Stored {
    sampling: Arc<SamplingOptions>,
    n_prompt: usize,
    /// What it answers, in place of hashes.
    reply: Option<Arc<[TokenId]>>,
    /// Tokens that the penalties have counted, those of the prompt included.
    n_counted: usize,
    positions: Vec<Arc<Position>>,
    digest: Digest,
    /// The newest sampled token: the only one that may come next.
    sampled: Option<TokenId>,
    is_lost: bool,
}

impl FakeBackend {
    /// An idle backend.
    pub fn new(options: FakeOptions) -> Self {
        let (sequences, in_flight) = (HashMap::new(), VecDeque::new());
        Self { options, sequences, in_flight, shelf: Shelf::default(), probe: Arc::default() }
    }

    /// What a test holds on to when the backend moves to its thread.
    pub fn probe(&self) -> Arc<Probe> {
        Arc::clone(&self.probe)
    }

    fn meet_faults(&self, call: Call, nth: usize) -> Result<(), StepError> {
        match self.options.faults.iter().find(|fault| fault.call == call && fault.nth == nth).map(|fault| &fault.effect)
        {
            Some(Effect::Fail(error)) => Err(error.clone()),
            Some(Effect::Panic(text)) => panic!("{text}"),
            None => Ok(()),
        }
    }

    fn n_live(&self) -> usize {
        self.shelf.n_live.load(Ordering::Relaxed)
    }

    fn check_memory(&self, n_more: usize) -> Result<(), StepError> {
        let n_tokens = self.n_live() + n_more;
        match self.options.n_tokens_max {
            Some(n_max) if n_tokens > n_max => {
                Err(StepError::OutOfMemory { detail: format!("{n_tokens} positions, {n_max} fit") })
            }
            _ => Ok(()),
        }
    }

    /// Tells the probe what is held now.
    fn show(&self) {
        let info = &self.options.info;
        let (n_open, n_live) = (self.sequences.len(), self.n_live());
        let n_tokens = self.sequences.values().map(|stored| stored.positions.len()).sum();
        let (n_blocks, n_snapshots) = (self.shelf.blocks.len(), self.shelf.snapshots.len());
        let kv_bytes = n_live * info.kv_bytes_per_token + (n_snapshots + n_open) * info.snapshot_bytes;
        self.probe.update(|seen| {
            (seen.n_open, seen.n_tokens, seen.n_live) = (n_open, n_tokens, n_live);
            (seen.n_blocks, seen.n_snapshots, seen.kv_bytes) = (n_blocks, n_snapshots, kv_bytes);
            seen.n_live_max = seen.n_live_max.max(n_live);
            seen.kv_bytes_max = seen.kv_bytes_max.max(kv_bytes);
        });
    }

    fn has_row_in_flight(&self, id: SequenceId) -> bool {
        self.in_flight.iter().flat_map(|flight| &flight.results).any(|result| result.sequence == id)
    }

    fn compute(&mut self, row: &Row) -> Result<RowResult, StepError> {
        let lost = || StepError::Mismatch { detail: format!("{:?} is not open", row.sequence) };
        let stored = self.sequences.get_mut(&row.sequence).ok_or_else(lost)?;
        let tokens = match &row.input {
            RowInput::Tokens(tokens) => tokens.clone(),
            RowInput::Pending => stored.sampled.into_iter().collect(),
        };
        let targets = match &row.output {
            RowOutput::Score { targets, .. } => &targets[..],
            _ => &[],
        };
        let draws = row.output.draws();
        let n_undrawn = tokens.len() - draws.len();
        stored.sampled = None;
        let mut result = RowResult { sequence: row.sequence, tokens: Vec::new(), prompt_scores: Vec::new() };
        for (at, token) in tokens.iter().enumerate() {
            if stored.sampled.is_some_and(|sampled| sampled != *token) {
                break;
            }
            stored.count(stored.positions.len(), *token);
            stored.digest.append(*token);
            stored.positions.push(Position::new(stored.digest.chain, &self.shelf.n_live));
            let n_vocab = self.options.info.n_vocab;
            let score = targets.get(at).map(|target| stored.digest.score(*target, &stored.sampling, n_vocab));
            result.prompt_scores.extend(score);
            let draw = at.checked_sub(n_undrawn).and_then(|nth| draws.get(nth));
            if let Some(draw) = draw.filter(|draw| draw.terms.is_some()) {
                result.tokens.push(stored.sample(&self.options, draw));
            }
        }
        Ok(result)
    }
}

impl Backend for FakeBackend {
    fn info(&self) -> &ModelInfo {
        &self.options.info
    }

    fn open(&mut self, id: SequenceId, opening: &Opening<'_>) -> Result<(), StepError> {
        let nth = self.probe.count(|seen| &mut seen.n_opens);
        self.meet_faults(Call::Open, nth)?;
        let snapshot_bytes = self.options.info.snapshot_bytes;
        let mut digest = Digest::new(opening.prompt, opening.output, snapshot_bytes);
        let positions = self.shelf.resume(&opening.prefix, &mut digest, snapshot_bytes)?;
        let stored = Stored {
            sampling: Arc::clone(&opening.sampling),
            n_prompt: opening.prompt.len(),
            reply: self.options.reply_to(opening.prompt.as_ref()),
            n_counted: opening.prompt.len() + opening.output.len(),
            positions,
            digest,
            sampled: None,
            is_lost: false,
        };
        if self.sequences.insert(id, stored).is_some() {
            return Err(StepError::Mismatch { detail: format!("{id:?} is open already") });
        }
        self.show();
        Ok(())
    }

    fn submit(&mut self, step: &Step) -> Result<(), StepError> {
        let nth = self.probe.count(|seen| &mut seen.n_submits);
        self.meet_faults(Call::Submit, nth)?;
        let ids: HashSet<_> = step.rows.iter().map(|row| row.sequence).collect();
        if step.rows.is_empty() || ids.len() < step.rows.len() || self.in_flight.len() >= 2 {
            let detail =
                format!("{} rows of {} sequences, {} in flight", step.rows.len(), ids.len(), self.in_flight.len());
            return Err(StepError::Mismatch { detail });
        }
        for row in &step.rows {
            self.check_row(row)
                .map_err(|why| StepError::Mismatch { detail: format!("row of {:?}: {why}", row.sequence) })?;
        }
        let n_tokens = step.rows.iter().map(n_input).sum();
        self.check_memory(n_tokens)?;
        let flight = self.start(step)?;
        self.in_flight.push_back(flight);
        self.probe.update(|seen| {
            seen.n_computed += n_tokens;
            seen.n_rows_max = seen.n_rows_max.max(step.rows.len());
            seen.n_step_tokens_max = seen.n_step_tokens_max.max(n_tokens);
        });
        self.show();
        Ok(())
    }

    fn bind(&mut self, terms: Vec<Vec<Terms>>) {
        self.bind_oldest(terms);
    }

    fn collect(&mut self) -> Result<StepOutput, StepError> {
        let nth = self.probe.count(|seen| &mut seen.n_collects);
        std::thread::sleep(self.options.pace);
        self.probe.pass();
        let Some(Flight { results: rows, late }) = self.in_flight.pop_front() else {
            return Err(StepError::Mismatch { detail: "no step is in flight".to_owned() });
        };
        assert!(late.is_empty(), "a step is collected whose terms were never told: {late:?}");
        if let Err(error) = self.meet_faults(Call::Collect, nth) {
            for row in &rows {
                self.lose(row.sequence);
            }
            return Err(error);
        }
        Ok(StepOutput { rows })
    }

    fn draft(&mut self, asks: &[DraftAsk<'_>]) -> Result<Vec<Vec<TokenId>>, StepError> {
        let asks = asks.iter().filter(|_| self.options.info.n_drafter_tokens > 0);
        Ok(asks.map(|ask| self.guess(ask)).collect())
    }

    fn close(&mut self, id: SequenceId) {
        if self.sequences.remove(&id).is_some() {
            assert!(!self.has_row_in_flight(id), "{id:?} closed with a row in flight");
            self.show();
        }
    }

    fn memory_bytes(&self) -> usize {
        self.options.info.weight_bytes + self.probe.seen().kv_bytes
    }

    fn keep(&mut self, id: SequenceId, block: BlockId, positions: Range<usize>) -> Result<(), StepError> {
        let nth = self.probe.count(|seen| &mut seen.n_keeps);
        self.meet_faults(Call::Keep, nth)?;
        let stored = self.sequences.get(&id).filter(|stored| !stored.is_lost);
        let lost = || StepError::Mismatch { detail: format!("{id:?} has nothing to keep") };
        self.shelf.keep(block, positions, &stored.ok_or_else(lost)?.positions)?;
        self.show();
        Ok(())
    }

    fn snapshot(&mut self, id: SequenceId, snapshot: SnapshotId) -> Result<(), StepError> {
        let nth = self.probe.count(|seen| &mut seen.n_snapshot_calls);
        self.meet_faults(Call::Snapshot, nth)?;
        let stored = self.sequences.get(&id).filter(|stored| !stored.is_lost);
        let lost = || StepError::Mismatch { detail: format!("{id:?} has no state to keep") };
        let stored = stored.ok_or_else(lost)?;
        let kept = KeptSnapshot { n_tokens: stored.positions.len(), recurrent: stored.digest.recurrent };
        if self.shelf.snapshots.insert(snapshot, kept).is_some() {
            return Err(StepError::Mismatch { detail: format!("{snapshot:?} is taken twice") });
        }
        self.show();
        Ok(())
    }

    fn forget(&mut self, kept: &[Kept]) {
        kept.iter().for_each(|kept| self.shelf.forget(*kept));
        self.show();
    }

    fn export(&mut self, kept: Kept) -> Result<Vec<u8>, StepError> {
        self.shelf.export(kept)
    }

    fn import(&mut self, kept: Kept, bytes: &[u8]) -> Result<(), StepError> {
        self.check_memory(bytes.len() / 8)?;
        self.shelf.import(kept, bytes)?;
        self.show();
        Ok(())
    }
}

impl FakeBackend {
    /// Spoils a sequence's cache, and with it the results in flight that were built on it.
    fn lose(&mut self, id: SequenceId) {
        if let Some(stored) = self.sequences.get_mut(&id) {
            stored.is_lost = true;
        }
        let results = self.in_flight.iter_mut().flat_map(|flight| &mut flight.results);
        for row in results.filter(|row| row.sequence == id) {
            for score in &mut row.tokens {
                score.token = (score.token + 1) % self.options.info.n_vocab as TokenId;
            }
        }
    }
}

impl Drop for FakeBackend {
    fn drop(&mut self) {
        self.probe.update(|seen| seen.is_dropped = true);
    }
}

impl Stored {
    fn sample(&mut self, options: &FakeOptions, draw: &Draw) -> TokenScore {
        let n_vocab = options.info.n_vocab;
        let written = (self.positions.len().saturating_sub(self.n_prompt), self.reply.as_deref());
        let token = options.token(&self.digest, &self.sampling, draw, written);
        self.sampled = Some(token);
        let score = self.digest.score(token, &self.sampling, n_vocab);
        self.count(self.positions.len(), token);
        score
    }

    /// Counts the token at a position, unless it was counted when it was drawn.
    fn count(&mut self, position: usize, token: TokenId) {
        if position >= self.n_counted {
            self.digest.count_output(token);
            self.n_counted = position + 1;
        }
    }
}

#[cfg(test)]
#[path = "fake_tests.rs"]
mod tests;
