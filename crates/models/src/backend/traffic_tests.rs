//! Random traffic on the backend itself: shared prefixes, branches, drafts, cancels, exports and imports. Whatever is reused,
//! outputs are those of a run without any of it.

use std::sync::Arc;

use tokbar_engine::{
    Backend, BlockId, Draw, Kept, Opening, Prefix, Row, RowInput, RowOutput, SamplingOptions, SequenceId, SnapshotId,
    Step, TokenId,
};

use crate::backend::MlxBackend;
use crate::cache::KvQuantization;
use crate::families::hybrid;
use crate::fixtures::{Fixture, uniforms};
use crate::load::LoadOptions;

/// Positions of a block.
const N_BLOCK: usize = 16;

/// A random number of choices.
pub struct Dice(Box<dyn Iterator<Item = f32>>);

impl Dice {
    pub fn new(seed: &str) -> Self {
        Self(Box::new(uniforms(seed)))
    }

    pub fn roll(&mut self, n: usize) -> usize {
        (self.0.next().unwrap() * n as f32) as usize
    }
}

/// A kept block or snapshot and all tokens up to its end.
struct Stored<I> {
    id: I,
    tokens: Vec<TokenId>,
}

/// A request on its way.
struct Live {
    id: SequenceId,
    /// Prompt, then output.
    tokens: Vec<TokenId>,
    n_prompt: usize,
    n_computed: usize,
    n_target: usize,
    is_cancelled: bool,
}

struct Traffic {
    backend: MlxBackend,
    dice: Dice,
    blocks: Vec<Stored<BlockId>>,
    snapshots: Vec<Stored<SnapshotId>>,
    live: Vec<Live>,
    /// Texts that later prompts start like.
    texts: Vec<Vec<TokenId>>,
    next_id: u64,
    n_reused: usize,
    n_drafts_accepted: usize,
    tolerance: f32,
}

impl Traffic {
    fn new(fixture: &Fixture, options: &LoadOptions, tolerance: f32) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fixture.write(dir.path());
        Self {
            backend: MlxBackend::load(dir.path(), options, &mut |_| {}).unwrap(),
            dice: Dice::new(&format!("traffic {}", fixture.config)),
            blocks: Vec::new(),
            snapshots: Vec::new(),
            live: Vec::new(),
            texts: vec![Vec::new()],
            next_id: 0,
            n_reused: 0,
            n_drafts_accepted: 0,
            tolerance,
        }
    }

    fn id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// The longest prefix of `tokens` that can be reused: blocks, positions, snapshot.
    fn find(&mut self, tokens: &[TokenId]) -> (Vec<BlockId>, usize, Option<SnapshotId>) {
        let mut blocks = Vec::new();
        let mut n_found = 0;
        while let Some(block) = self.blocks.iter().find(|block| {
            block.tokens.len() > n_found
                && block.tokens.len() <= n_found + N_BLOCK
                && n_found % N_BLOCK == 0
                && shared(&block.tokens, tokens) > n_found
        }) {
            blocks.push(block.id);
            n_found = shared(&block.tokens, tokens).min(block.tokens.len());
        }
        let n_found = n_found.min(tokens.len() - 1);
        if self.backend.info().snapshot_bytes == 0 {
            let n_taken = if self.dice.roll(3) == 0 { self.dice.roll(n_found + 1) } else { n_found };
            return (blocks, n_taken, None);
        }
        let fits =
            |snapshot: &&Stored<SnapshotId>| snapshot.tokens.len() <= n_found && tokens.starts_with(&snapshot.tokens);
        match self.snapshots.iter().filter(fits).max_by_key(|snapshot| snapshot.tokens.len()) {
            Some(snapshot) => (blocks, snapshot.tokens.len(), Some(snapshot.id)),
            None => (Vec::new(), 0, None),
        }
    }

    fn arrive(&mut self) {
        let text = self.dice.roll(self.texts.len());
        let n_shared = self.dice.roll(self.texts[text].len() + 1);
        let n_shared = if self.dice.roll(2) == 0 { self.texts[text].len() } else { n_shared };
        let mut tokens = self.texts[text][..n_shared.min(90)].to_vec();
        for _ in 0..1 + self.dice.roll(30) {
            tokens.push(self.dice.roll(67) as TokenId);
        }
        let id = SequenceId(self.id());
        let (blocks, n_tokens, snapshot) = self.find(&tokens);
        let sampling = Arc::new(SamplingOptions::default());
        let prefix = Prefix { blocks: &blocks, n_tokens, snapshot };
        self.backend.open(id, &Opening { sampling, prompt: &tokens, output: &[], prefix }).unwrap();
        self.n_reused += n_tokens;
        let (n_prompt, n_target) = (tokens.len(), tokens.len() + 1 + self.dice.roll(8));
        let is_cancelled = self.dice.roll(6) == 0;
        self.live.push(Live { id, tokens, n_prompt, n_computed: n_tokens, n_target, is_cancelled });
    }

    /// One step of all requests; drafts where the model takes them back.
    fn step(&mut self) {
        let mut rows = Vec::new();
        let can_draft = self.backend.info().n_drafts_max > 0;
        for at in 0..self.live.len() {
            let (sequence, start) = (self.live[at].id, self.live[at].n_computed);
            let mut input = self.live[at].tokens[start..].to_vec();
            if input.len() > 1 && self.dice.roll(3) == 0 {
                input.truncate(1 + self.dice.roll(input.len() - 1));
                rows.push(Row { sequence, start, input: RowInput::Tokens(input), output: RowOutput::None });
                continue;
            }
            let n_drafts = if can_draft && self.dice.roll(2) == 0 { self.dice.roll(4) } else { 0 };
            input.extend((0..n_drafts).map(|_| self.dice.roll(67) as TokenId));
            let draws = vec![Draw::free(0.0); n_drafts + 1];
            rows.push(Row { sequence, start, input: RowInput::Tokens(input), output: RowOutput::Sample { draws } });
        }
        let n_inputs: Vec<_> = rows
            .iter()
            .map(|row| match (&row.input, &row.output) {
                (RowInput::Tokens(tokens), RowOutput::None) => (tokens.len(), 0),
                (RowInput::Tokens(tokens), output) => (tokens.len() + 1 - output.draws().len(), output.draws().len()),
                _ => unreachable!(),
            })
            .collect();
        self.backend.submit(&Step { rows }).unwrap();
        let results = self.backend.collect().unwrap().rows;
        for ((live, result), (n_known, n_draws)) in self.live.iter_mut().zip(results).zip(n_inputs) {
            live.n_computed += n_known;
            if n_draws > 0 {
                let n_accepted = result.tokens.len() - 1;
                self.n_drafts_accepted += n_accepted;
                live.n_computed += n_accepted;
                live.tokens.extend(result.tokens.iter().map(|score| score.token));
            }
        }
    }

    /// Keeps blocks and a snapshot of what a request has computed.
    fn keep(&mut self, at: usize) {
        let (id, tokens, n_computed) = (self.live[at].id, self.live[at].tokens.clone(), self.live[at].n_computed);
        for start in (0..n_computed).step_by(N_BLOCK) {
            let end = n_computed.min(start + N_BLOCK);
            let known = |block: &Stored<BlockId>| block.tokens == tokens[..end];
            if !self.blocks.iter().any(known) {
                let block = BlockId(self.id());
                self.backend.keep(id, block, start..end).unwrap();
                self.blocks.push(Stored { id: block, tokens: tokens[..end].to_vec() });
            }
        }
        if n_computed > 0 {
            let snapshot = SnapshotId(self.id());
            self.backend.snapshot(id, snapshot).unwrap();
            self.snapshots.push(Stored { id: snapshot, tokens: tokens[..n_computed].to_vec() });
        }
    }

    /// Sends something kept out and back in, or lets it go.
    fn shuffle(&mut self) {
        let goes = self.dice.roll(2) == 0;
        if !self.blocks.is_empty() {
            let at = self.dice.roll(self.blocks.len());
            let old = Kept::Block(self.blocks[at].id);
            let bytes = self.backend.export(old).unwrap();
            self.backend.forget(&[old]);
            if goes {
                self.blocks.swap_remove(at);
            } else {
                self.blocks[at].id = BlockId(self.id());
                self.backend.import(Kept::Block(self.blocks[at].id), &bytes).unwrap();
            }
        }
        if !self.snapshots.is_empty() {
            let at = self.dice.roll(self.snapshots.len());
            let old = Kept::Snapshot(self.snapshots[at].id);
            let bytes = self.backend.export(old).unwrap();
            self.backend.forget(&[old]);
            self.snapshots[at].id = SnapshotId(self.id());
            self.backend.import(Kept::Snapshot(self.snapshots[at].id), &bytes).unwrap();
        }
    }

    fn leave(&mut self, at: usize) {
        let live = self.live.swap_remove(at);
        self.backend.close(live.id);
        self.check(&live);
        if self.texts.len() > 12 {
            self.texts.swap_remove(1);
        }
        self.texts.push(live.tokens);
    }

    /// Each output token is the likeliest one when all tokens are computed at once, up to rounding.
    fn check(&mut self, live: &Live) {
        let id = SequenceId(self.id());
        let sampling = Arc::new(SamplingOptions { n_logprobs: Some(1), ..SamplingOptions::default() });
        let opening = Opening { sampling, prompt: &[], output: &[], prefix: Prefix::default() };
        self.backend.open(id, &opening).unwrap();
        let (input, targets) = (live.tokens[..live.tokens.len() - 1].to_vec(), live.tokens[1..].to_vec());
        if !input.is_empty() {
            let output = RowOutput::Score { targets, draw: None };
            let row = Row { sequence: id, start: 0, input: RowInput::Tokens(input), output };
            self.backend.submit(&Step { rows: vec![row] }).unwrap();
            let scores = self.backend.collect().unwrap().rows.remove(0).prompt_scores;
            for score in &scores[live.n_prompt - 1..] {
                assert!(score.logprob >= score.top[0].1 - self.tolerance, "{:?}: {score:?}", live.id);
            }
        }
        self.backend.close(id);
    }

    fn run(mut self, n_requests: usize) {
        let mut n_left = n_requests;
        while n_left > 0 || !self.live.is_empty() {
            if n_left > 0 && self.live.len() < 4 && self.dice.roll(2) == 0 {
                self.arrive();
                n_left -= 1;
            }
            if self.live.is_empty() {
                continue;
            }
            self.step();
            for at in (0..self.live.len()).rev() {
                let live = &self.live[at];
                let is_done = live.tokens.len() >= live.n_target;
                if is_done || (live.is_cancelled && live.n_computed > 5) {
                    self.keep(at);
                    self.leave(at);
                } else if self.dice.roll(6) == 0 {
                    self.keep(at);
                }
            }
            self.shuffle();
        }
        assert!(self.n_reused > n_requests, "{} positions were reused", self.n_reused);
        let kept: Vec<_> = self.blocks.iter().map(|block| Kept::Block(block.id)).collect();
        self.backend.forget(&kept);
        self.backend.forget(&self.snapshots.iter().map(|it| Kept::Snapshot(it.id)).collect::<Vec<_>>());
        assert!(self.backend.sequences.is_empty() && self.backend.kept.is_empty());
    }
}

fn shared(a: &[TokenId], b: &[TokenId]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// How many times as many requests `cargo xtask test --all` runs.
pub fn n_rounds() -> usize {
    if std::env::var_os("TOKBAR_TEST_ALL").is_some() { 10 } else { 1 }
}

#[test]
fn traffic_on_layers_that_keep_every_position() {
    Traffic::new(&Fixture::read("llama_gqa"), &LoadOptions::default(), 1e-4).run(200 * n_rounds());
}

#[test]
fn traffic_on_windows() {
    Traffic::new(&Fixture::read("gemma3_text_rotating"), &LoadOptions::default(), 1e-4).run(80 * n_rounds());
}

#[test]
fn traffic_on_recurrent_layers() {
    Traffic::new(&hybrid::fixture(), &LoadOptions::default(), 1e-4).run(60 * n_rounds());
    for name in ["bailing_hybrid", "kimi_linear", "qwen3_next"] {
        Traffic::new(&Fixture::read(name), &LoadOptions::default(), 1e-4).run(30 * n_rounds());
    }
}

#[test]
fn traffic_on_keys_that_layers_share_cut_into_chunks_or_pick() {
    for name in ["gemma4_text", "llama4", "deepseek_v32"] {
        Traffic::new(&Fixture::read(name), &LoadOptions::default(), 1e-4).run(20 * n_rounds());
    }
}

#[test]
fn traffic_on_packed_kv() {
    // Rounding before packing may move a number to the next step of its scale.
    for (bits, min_length) in [(8, 0), (4, 21)] {
        let options = LoadOptions { kv_quantization: Some(KvQuantization { bits, min_length }), ..Default::default() };
        Traffic::new(&wide_heads(), &options, 0.05).run(30 * n_rounds());
    }
}

/// A network whose heads can be packed.
fn wide_heads() -> Fixture {
    let mut fixture = Fixture::read("llama_gqa");
    fixture.config["head_dim"] = serde_json::json!(64);
    for tensor in &mut fixture.tensors {
        let is = |name: &str| tensor.name.ends_with(&format!("{name}.weight"));
        match tensor.shape.as_mut_slice() {
            [n_out, _] if is("q_proj") => *n_out = 6 * 64,
            [n_out, _] if is("k_proj") || is("v_proj") => *n_out = 2 * 64,
            [_, n_in] if is("o_proj") => *n_in = 6 * 64,
            _ => {}
        }
    }
    fixture
}

#[test]
fn heads_that_do_not_split_into_groups_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    Fixture::read("llama_gqa").write(dir.path());
    let load = |bits| {
        let kv_quantization = Some(KvQuantization { bits, min_length: 0 });
        let options = LoadOptions { kv_quantization, ..LoadOptions::default() };
        MlxBackend::load(dir.path(), &options, &mut |_| {}).err().unwrap().to_string()
    };
    assert!(load(8).contains("heads of 8 elements"), "{}", load(8));
    assert!(load(5).contains("5 bits; it can have 4 or 8"), "{}", load(5));
}
