//! [`Backend`] on MLX: sequences and their KV caches, steps queued and answered in order.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Range;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use tokbar_engine::{
    Backend, BlockId, DraftAsk, ExpertStats, Kept, ModelInfo, Opening, Prefix, Row, RowInput, RowOutput,
    SamplingOptions, SequenceId, SnapshotId, Step, StepError, StepOutput, Terms, TokenId,
};

use crate::cache::bytes::Owner;
use crate::cache::slab;
use crate::cache::slabs::Slabs;
use crate::cache::template::Template;
use crate::cache::{CacheKind, Layout, SequenceCache};
use crate::cut::n_tokens;
use crate::draft::DraftModel;
use crate::draft::head::{HeadDrafter, Recent, n_catch_up};
use crate::families::{Model, Predictor};
use crate::flight::{Flight, Start, step_error};
use crate::load::{LoadOptions, ModelSummary, load};
use crate::mx::{self, Array, Device};
use crate::sample::Counts;
use crate::weights::{ExpertCounts, LoadProgress};
use crate::{LoadError, LoadResult};

mod bind;
mod build;
mod drafter;
mod kept;
mod verify;

use kept::KeptState;

/// Most steps in flight.
const N_IN_FLIGHT_MAX: usize = 2;

/// Most tokens that run through the network at once on a CPU.
const N_PASS_CPU: usize = 512;

/// Most tokens that a head of the model drafts at a time: it was trained to see one ahead, and is right less often further on.
const N_HEAD_TOKENS: usize = 4;

/// A model on MLX. Lives on the thread that loaded it.
pub struct MlxBackend {
    model: Box<dyn Model>,
    info: ModelInfo,
    summary: ModelSummary,
    device: Device,
    /// Most tokens that run through the network at once.
    n_pass_max: usize,
    drafter: Option<DraftModel>,
    /// What the model's own head knows, where it has one and no draft model drafts in its place.
    head_drafter: HeadDrafter,
    layout: Rc<Layout>,
    template: Template,
    sequences: HashMap<SequenceId, Sequence>,
    kept: KeptState,
    slabs: Slabs,
    in_flight: VecDeque<Flight>,
    expert_counts: Option<Rc<ExpertCounts>>,
}

/// One sequence's state.
struct Sequence {
    cache: SequenceCache,
    n_prompt: usize,
    sampling: Arc<SamplingOptions>,
    counts: Option<Counts>,
    /// Tokens that are counted, those of the prompt included.
    n_counted: usize,
    /// What the model's head goes on from; empty where nothing drafts with it.
    recent: Recent,
}

impl MlxBackend {
    /// Loads a checkpoint in Hugging Face or MLX layout.
    ///
    /// # Errors
    /// When a file is missing, damaged or contradicts another, the architecture is unknown, or memory runs out.
    pub fn load(dir: &Path, options: &LoadOptions, progress: &mut dyn FnMut(LoadProgress)) -> LoadResult<Self> {
        let loaded = load(dir, options, progress)?;
        let mut backend = Self {
            layout: Layout::new(&loaded.model.sizes().caches, None),
            template: Template::default(),
            model: loaded.model,
            info: loaded.info,
            summary: loaded.summary,
            device: loaded.device,
            expert_counts: loaded.expert_counts,
            drafter: None,
            head_drafter: HeadDrafter::default(),
            n_pass_max: if loaded.device == Device::Cpu { N_PASS_CPU } else { usize::MAX },
            sequences: HashMap::new(),
            kept: KeptState::default(),
            slabs: Slabs::default(),
            in_flight: VecDeque::new(),
        };
        backend.probe(dir)?;
        if let Some(quantization) = options.kv_quantization {
            quantization.check(backend.template.head_dims())?;
            backend.layout = Layout::new(backend.layout.kinds(), Some(quantization));
        }
        let Self { info, layout, template, model, .. } = &mut backend;
        info.snapshot_bytes = template.snapshot_bytes(info.n_context);
        if layout.n_full() > 0 {
            info.kv_bytes_per_token = template.kv_bytes_per_token(layout);
        }
        if let Some(head) = model.predictor() {
            info.n_drafter_tokens = N_HEAD_TOKENS.min(info.n_drafts_max);
            // Its layers that keep every position are as the model's.
            let n_full = head.caches().iter().filter(|kind| **kind == CacheKind::Full).count();
            info.kv_bytes_per_token += n_full * info.kv_bytes_per_token / layout.n_full().max(1);
        }
        Ok(backend)
    }

    /// Runs one token, so that weights that are no numbers are found now and not by whoever asks first, and to see what
    /// the caches hold.
    fn probe(&mut self, dir: &Path) -> LoadResult<()> {
        let id = SequenceId(u64::MAX);
        let sampling = Arc::new(SamplingOptions { n_logprobs: Some(0), ..SamplingOptions::default() });
        let input = RowInput::Tokens(vec![0]);
        let row = Row { sequence: id, start: 0, input, output: RowOutput::sample(0.0) };
        let output = self
            .open(id, &Opening { sampling, prompt: &[0], output: &[], prefix: Prefix::default() })
            .and_then(|()| self.submit(&Step { rows: vec![row] }))
            .and_then(|()| self.collect());
        self.template = self.sequences.get(&id).map(|probed| Template::of(&probed.cache)).unwrap_or_default();
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
        let Opening { sampling, prompt, output, prefix } = opening;
        if self.sequences.contains_key(&id) {
            return Err(mismatch(id, "is open already"));
        }
        let counts = sampling.has_penalties().then(|| Counts::new(prompt, output, self.info.n_vocab));
        let sequence = Sequence {
            cache: self.kept.open(&self.layout, prefix)?,
            n_prompt: prompt.len(),
            sampling: sampling.clone(),
            counts,
            n_counted: prompt.len() + output.len(),
            recent: Recent::new(prefix.n_tokens, self.model.predictor().map_or(0, n_catch_up)),
        };
        self.sequences.insert(id, sequence);
        Ok(())
    }

    fn submit(&mut self, step: &Step) -> Result<(), StepError> {
        self.check(step)?;
        self.start_oldest();
        // Taken out of the map for the time of the pass, which borrows them all at once.
        let mut sequences: Vec<_> = step.rows.iter().filter_map(|row| self.sequences.remove(&row.sequence)).collect();
        let rows = sequences.iter_mut().zip(&step.rows).map(|(sequence, row)| (&mut sequence.cache, n_tokens(row)));
        let arranged = self.slabs.arrange(rows);
        let saved: Vec<_> = sequences.iter().map(Sequence::save).collect();
        let slabs = self.slabs.save();
        let flight = arranged.and_then(|()| self.build(step, &mut sequences));
        match &flight {
            Ok(_) => drop(slabs),
            Err(_) => slabs.into_iter().for_each(slab::Saved::restore),
        }
        for ((row, mut sequence), saved) in step.rows.iter().zip(sequences).zip(saved) {
            if flight.is_err() {
                sequence.restore(saved);
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

    fn bind(&mut self, terms: Vec<Vec<Terms>>) {
        self.bind_oldest(terms);
    }

    fn collect(&mut self) -> Result<StepOutput, StepError> {
        let flight = self.in_flight.pop_front();
        let flight = flight.ok_or_else(|| StepError::Mismatch { detail: "no step is in flight".into() })?;
        let ids: Vec<_> = flight.rows.iter().map(|row| row.sequence).collect();
        let verified: Vec<_> =
            flight.rows.iter().filter(|row| row.has_drafts()).map(|row| (row.sequence, row.drafts.len())).collect();
        let output = flight.finish();
        if output.is_err() {
            // Blocks that others have of these runs may be half written.
            let failed = ids.iter().filter_map(|id| self.sequences.get(id));
            failed.flat_map(|sequence| sequence.cache.written()).for_each(|run| run.lose());
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

    fn experts(&self) -> ExpertStats {
        let Some(counts) = &self.expert_counts else { return ExpertStats::default() };
        ExpertStats {
            n_hits: counts.n_hits.get(),
            n_misses: counts.n_misses.get(),
            n_bytes_read: counts.n_bytes_read.get(),
            n_resident: counts.n_resident.get(),
            n_all: counts.n_all.get(),
        }
    }

    fn close(&mut self, id: SequenceId) {
        self.drafter.iter_mut().for_each(|drafter| drafter.close(id));
        self.head_drafter.close(id);
        if let Some(sequence) = self.sequences.remove(&id) {
            let runs = sequence.cache.runs().map(Rc::clone).collect();
            drop(sequence);
            kept::shrink(runs);
        }
        if self.sequences.is_empty()
            && let Err(error) = self.slabs.tidy().and_then(|()| mx::clear_cache())
        {
            tracing::warn!(error = error.what, "the allocator kept its cache");
        }
    }

    fn give_back(&mut self) {
        if let Err(error) = mx::clear_cache() {
            tracing::warn!(error = error.what, "the allocator kept its cache");
        }
    }

    fn memory_bytes(&self) -> usize {
        let (active, cached) = mx::memory();
        active + cached
    }

    fn keep(&mut self, id: SequenceId, block: BlockId, positions: Range<usize>) -> Result<(), StepError> {
        let sequence = self.sequences.get(&id).ok_or_else(|| mismatch(id, "is not open"))?;
        if positions.is_empty() || positions.end > sequence.cache.n_positions() {
            let n = sequence.cache.n_positions();
            return Err(mismatch(id, &format!("holds {n} positions, {positions:?} are to be kept")));
        }
        self.kept.insert_block(block, sequence.cache.pieces(&positions))
    }

    fn snapshot(&mut self, id: SequenceId, snapshot: SnapshotId) -> Result<(), StepError> {
        let sequence = self.sequences.get(&id).ok_or_else(|| mismatch(id, "is not open"))?;
        let taken = sequence.cache.snapshot().map_err(step_error)?;
        let arrays: Vec<_> = taken.arrays().cloned().collect();
        self.kept.insert_snapshot(snapshot, taken)?;
        match self.in_flight.back_mut() {
            // Computed with the step, before the next one writes what is copied here.
            Some(flight) if flight.start == Start::Waiting => flight.state.extend(arrays),
            _ => mx::async_eval(&arrays.iter().collect::<Vec<_>>()).map_err(step_error)?,
        }
        Ok(())
    }

    fn forget(&mut self, kept: &[Kept]) {
        self.kept.forget(kept);
    }

    fn export(&mut self, kept: Kept) -> Result<Vec<u8>, StepError> {
        let bytes = match kept {
            Kept::Block(id) => self.owner().export_block(self.kept.block(id)?),
            Kept::Snapshot(id) => self.owner().export_snapshot(self.kept.snapshot(id)?),
        };
        bytes.map_err(kept::bytes_error)
    }

    fn import(&mut self, kept: Kept, bytes: &[u8]) -> Result<(), StepError> {
        match kept {
            Kept::Block(id) => {
                let pieces = self.owner().import_block(bytes).map_err(kept::bytes_error)?;
                self.kept.insert_block(id, pieces)
            }
            Kept::Snapshot(id) => {
                let snapshot = self.owner().import_snapshot(bytes).map_err(kept::bytes_error)?;
                self.kept.insert_snapshot(id, snapshot)
            }
        }
    }
}

impl MlxBackend {
    /// The head that drafts, if any.
    fn head(&self) -> Option<&dyn Predictor> {
        self.model.predictor().filter(|_| self.drafter.is_none())
    }

    /// Whom exported state belongs to.
    fn owner(&self) -> Owner<'_> {
        let Self { info, layout, template, .. } = self;
        Owner { fingerprint: &info.fingerprint, n_context: info.n_context, layout, template }
    }

    /// Hands the oldest step to the device, if it has not got it. On a CPU that takes nearly as long as the step: whoever
    /// collects is not to wait for the step after, so that it starts with the next call and not with the last one's results.
    fn start_oldest(&mut self) {
        self.in_flight.front_mut().into_iter().for_each(Flight::start);
    }

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
            if sequence.cache.written().any(|run| run.is_lost()) {
                return Err(mismatch(id, "lost its keys and values with a step that failed"));
            }
            let n_positions = sequence.cache.n_positions();
            if row.start != n_positions {
                let detail = format!("starts at {}, but its cache holds {n_positions}", row.start);
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
}

fn mismatch(id: SequenceId, detail: &str) -> StepError {
    StepError::Mismatch { detail: format!("sequence {} {detail}", id.0) }
}

#[cfg(test)]
#[path = "backend_tests.rs"]
mod tests;
