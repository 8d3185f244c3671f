//! Random traffic through the engine: branches, cancels, preemptions, drafts, restarts and damaged files. Whatever is reused,
//! outputs are those of lone runs without any of it.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;
use tokbar_engine::tier::TierOptions;
use tokbar_engine::{
    Backend, Engine, EngineOptions, FinishReason, ModelInfo, Opening, Output, Outputs, Prefix, Priority, Request, Row,
    RowInput, RowOutput, SamplingOptions, SequenceId, Step, TokenId,
};

use super::traffic_tests::{Dice, n_rounds};
use crate::backend::MlxBackend;
use crate::families::hybrid;
use crate::fixtures::Fixture;
use crate::load::LoadOptions;

/// How much less likely than the likeliest a token may be by rounding.
const TOLERANCE: f32 = 1e-4;

struct Traffic {
    checkpoint: TempDir,
    disk: TempDir,
    /// Computes everything anew.
    reference: MlxBackend,
    dice: Dice,
    /// Texts that later prompts start like.
    texts: Vec<Vec<TokenId>>,
    seen: Seen,
}

/// What must have happened for the test to mean something.
#[derive(Debug, Default)]
struct Seen {
    n_hit_tokens: u64,
    n_preempted: u64,
    n_accepted: usize,
    n_imported: u64,
    n_cancelled: u64,
}

impl Traffic {
    fn new(fixture: &Fixture) -> Self {
        let checkpoint = tempfile::tempdir().unwrap();
        fixture.write(checkpoint.path());
        Self {
            reference: MlxBackend::load(checkpoint.path(), &LoadOptions::default(), &mut |_| {}).unwrap(),
            disk: tempfile::tempdir().unwrap(),
            dice: Dice::new(&format!("engine traffic {}", fixture.config)),
            texts: vec![vec![1, 2, 3]],
            seen: Seen::default(),
            checkpoint,
        }
    }

    fn start(&self, options: EngineOptions) -> Engine {
        let dir = self.checkpoint.path().to_owned();
        let load = move || {
            let backend = MlxBackend::load(&dir, &LoadOptions::default(), &mut |_| {})?;
            Ok(Box::new(backend) as Box<dyn Backend>)
        };
        Engine::start(load, options).unwrap()
    }

    /// A disk, and too little memory for all that runs.
    fn options(&self) -> EngineOptions {
        let ModelInfo { kv_bytes_per_token, snapshot_bytes, .. } = *self.reference.info();
        let tier = TierOptions::new(self.disk.path().to_owned(), "tiny".to_owned(), 64 << 20);
        EngineOptions {
            token_budget: 48,
            n_rows_max: 6,
            kv_budget_bytes: Some(kv_bytes_per_token * 420 + snapshot_bytes * 12),
            n_block: 16,
            n_snapshot_gap: 32,
            tier: Some(TierOptions { n_free_min: Some(0), ..tier }),
            ..EngineOptions::default()
        }
    }

    fn request(&mut self) -> Request {
        let text = self.dice.roll(self.texts.len());
        let n_shared = match self.dice.roll(3) {
            0 => self.dice.roll(self.texts[text].len() + 1),
            _ => self.texts[text].len(),
        };
        let mut prompt = self.texts[text][..n_shared.min(100)].to_vec();
        let boundaries = vec![prompt.len()];
        let n_new = 1 + self.dice.roll(30);
        prompt.extend((0..n_new).map(|_| self.dice.roll(67) as TokenId));
        let is_sampled = self.dice.roll(4) == 0;
        let sampling = SamplingOptions {
            temperature: if is_sampled { 0.8 } else { 0.0 },
            top_p: if self.dice.roll(2) == 0 { 0.9 } else { 1.0 },
            seed: self.dice.roll(1 << 20) as u64,
            ..SamplingOptions::default()
        };
        let priority = if self.dice.roll(4) == 0 { Priority::Background } else { Priority::Interactive };
        let max_tokens = 1 + self.dice.roll(24);
        Request { prompt, sampling, max_tokens, ignore_eos: true, boundaries, priority, ..Request::default() }
    }

    /// One process' life; `n_requests` come in waves.
    fn live(&mut self, n_requests: usize) {
        let engine = self.start(self.options());
        for _ in 0..n_requests / 10 {
            let requests: Vec<_> = (0..10).map(|_| self.request()).collect();
            let running: Vec<_> = requests.iter().map(|request| engine.submit(request.clone()).unwrap()).collect();
            for (request, mut outputs) in requests.iter().zip(running) {
                match self.dice.roll(6) {
                    0 => drop(outputs),
                    1 => drop(outputs.blocking_next()),
                    _ => self.check(request, outputs),
                }
            }
        }
        let stats = engine.stats();
        engine.shutdown();
        self.seen.n_hit_tokens += stats.n_hit_tokens;
        self.seen.n_preempted += stats.n_preempted;
        self.seen.n_imported += stats.tier.n_imported;
        self.seen.n_cancelled += stats.n_cancelled;
        assert_eq!((stats.n_failed, stats.tier.n_errors, stats.tier.n_refused), (0, 0, 0), "{stats:?}");
        let end = engine.stats();
        assert_eq!((end.n_running, end.n_waiting, end.n_kv_tokens), (0, 0, 0));
    }

    fn check(&mut self, request: &Request, outputs: Outputs) {
        let (output, n_accepted) = drain(outputs);
        self.seen.n_accepted += n_accepted;
        assert_eq!(output.len(), request.max_tokens);
        if request.sampling.temperature == 0.0 {
            self.check_greedy(&request.prompt, &output);
        } else {
            let alone = self.start(EngineOptions::default());
            assert_eq!(output, drain(alone.submit(request.clone()).unwrap()).0);
        }
        if self.texts.len() > 16 {
            self.texts.swap_remove(1);
        }
        self.texts.push(request.prompt.iter().chain(&output).copied().collect());
    }

    /// Each token is the likeliest one when all are computed at once, up to rounding.
    fn check_greedy(&mut self, prompt: &[TokenId], output: &[TokenId]) {
        let tokens = [prompt, output].concat();
        let (input, targets) = (tokens[..tokens.len() - 1].to_vec(), tokens[1..].to_vec());
        let sampling = Arc::new(SamplingOptions { n_logprobs: Some(1), ..SamplingOptions::default() });
        let opening = Opening { sampling, prompt: &[], output: &[], prefix: Prefix::default() };
        let sequence = SequenceId(0);
        let backend = &mut self.reference;
        backend.open(sequence, &opening).unwrap();
        let output = RowOutput::Score { targets, draw: None };
        let row = Row { sequence, start: 0, input: RowInput::Tokens(input), output };
        backend.submit(&Step { rows: vec![row] }).unwrap();
        let scores = backend.collect().unwrap().rows.remove(0).prompt_scores;
        for score in &scores[prompt.len() - 1..] {
            assert!(score.logprob >= score.top[0].1 - TOLERANCE, "{score:?}");
        }
        backend.close(sequence);
    }

    /// Flips a bit in a file of the tier, or cuts it.
    fn spoil(&mut self) {
        let files = files(self.disk.path());
        let Some(path) = files.get(self.dice.roll(files.len().max(1))) else { return };
        let mut bytes = fs::read(path).unwrap();
        let at = self.dice.roll(bytes.len().max(1));
        if self.dice.roll(2) == 0 {
            bytes.truncate(at);
        } else if let Some(byte) = bytes.get_mut(at) {
            *byte ^= 1 << self.dice.roll(8);
        }
        fs::write(path, bytes).unwrap();
    }

    fn run(mut self, n_requests: usize) {
        for life in 0..n_requests.div_ceil(40) {
            self.live(40);
            // Every other start finds all there is.
            (0..life % 2).for_each(|_| self.spoil());
        }
        let Seen { n_hit_tokens, n_preempted, n_accepted, n_imported, n_cancelled } = self.seen;
        let seen = [n_hit_tokens, n_preempted, n_imported, n_cancelled];
        let can_draft = self.reference.info().n_drafts_max > 0;
        assert!(seen.iter().all(|n| *n > 0) && can_draft == (n_accepted > 0), "{:?}", self.seen);
    }
}

/// The tokens, and how many of them were drafts.
fn drain(mut outputs: Outputs) -> (Vec<TokenId>, usize) {
    let mut tokens = Vec::new();
    while let Some(output) = outputs.blocking_next() {
        match output {
            Output::Token(score) => tokens.push(score.token),
            Output::Finish { reason: FinishReason::Length, usage } => return (tokens, usage.n_accepted),
            Output::Finish { reason, .. } => panic!("{reason:?}"),
            Output::Prefill { .. } | Output::Prompt(_) => {}
        }
    }
    panic!("no finish");
}

/// The tier's records.
fn files(root: &Path) -> Vec<std::path::PathBuf> {
    let dirs = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let files = dirs.flat_map(|dir| fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()));
    let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|name| name == "kv")).collect();
    files.sort();
    files
}

#[test]
fn traffic_through_the_engine_on_layers_that_keep_every_position() {
    Traffic::new(&Fixture::read("llama_gqa")).run(240 * n_rounds());
}

#[test]
fn traffic_through_the_engine_on_windows() {
    Traffic::new(&Fixture::read("gemma3_text_rotating")).run(120 * n_rounds());
}

#[test]
fn traffic_through_the_engine_on_recurrent_layers() {
    Traffic::new(&hybrid::fixture()).run(120 * n_rounds());
}
