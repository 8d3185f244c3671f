//! Kept state on disk: it outlives budget and process, and whatever becomes of the files, outputs stay the same.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;
use tokbar_engine::tier::{ChainKey, Kind, Link, Tier, TierOptions};

use super::*;

fn tier(root: &TempDir) -> TierOptions {
    let tier = TierOptions::new(root.path().to_owned(), "fake".to_owned(), 64 << 20);
    TierOptions { n_free_min: Some(0), ..tier }
}

fn on_disk(root: &TempDir) -> EngineOptions {
    EngineOptions { tier: Some(tier(root)), n_block: 16, n_snapshot_gap: 64, ..options() }
}

/// `n_prompt` tokens that begin like all of the same `family`.
fn prompt(family: u32, n_shared: usize, n_prompt: usize) -> Request {
    let token = |i: usize| {
        let salt = if i < n_shared { family } else { family + 7 * n_prompt as u32 + 1 };
        (i as u32 * 31 + salt * 17) % 499 + 1
    };
    Request {
        prompt: (0..n_prompt).map(token).collect(),
        boundaries: vec![n_shared.min(n_prompt)],
        ..request(family, 8)
    }
}

/// Runs a request alone and returns its cached tokens.
fn run(bench: &Bench, request: &Request) -> usize {
    let mut outputs = bench.submit(request);
    let (tokens, _, usage) = drain(&mut outputs);
    assert_eq!(tokens, expected_tokens(&bench.fake, request));
    usage.n_cached
}

fn recurrent() -> FakeOptions {
    let fake = fake();
    FakeOptions { info: ModelInfo { snapshot_bytes: 100, ..fake.info }, ..fake }
}

#[test]
fn a_restart_begins_where_the_last_run_ended() {
    for fake in [fake(), recurrent()] {
        let root = TempDir::new().unwrap();
        let request = prompt(1, 0, 700);
        let bench = Bench::start(fake.clone(), on_disk(&root));
        assert_eq!(run(&bench, &request), 0);
        bench.check_nothing_left();
        let has_snapshots = fake.info.snapshot_bytes > 0;
        let bench = Bench::start(fake, on_disk(&root));
        assert!(bench.engine.stats().n_blocks >= 43, "the hottest chain is there before the first request");
        let seen = bench.probe.seen();
        assert_eq!((seen.n_opens, seen.n_open), (usize::from(!has_snapshots), 0), "its blocks have been put together");
        assert_eq!(run(&bench, &request), 699);
        assert_eq!(bench.engine.stats().tier.flaws.n_all(), 0);
        bench.check_nothing_left();
    }
}

#[test]
fn what_memory_had_to_give_up_comes_back_from_disk() {
    for fake in [fake(), recurrent()] {
        let root = TempDir::new().unwrap();
        // One long prompt fits, two do not.
        let options = EngineOptions { kv_budget_bytes: Some(1200 * 4 + 1000), ..on_disk(&root) };
        let bench = Bench::start(fake, options);
        let (first, second) = (prompt(1, 0, 900), prompt(2, 0, 900));
        assert_eq!(run(&bench, &first), 0);
        assert_eq!(run(&bench, &second), 0);
        let n_cached = run(&bench, &first);
        assert!(n_cached >= 700, "only {n_cached} of 900 came back");
        assert!(bench.engine.stats().tier.n_imported > 0);
        bench.check_nothing_left();
    }
}

#[test]
fn a_block_that_the_model_refuses_is_computed() {
    let root = TempDir::new().unwrap();
    let request = prompt(3, 0, 200);
    let disk = Tier::start(&tier(&root), &fake().info.fingerprint, || {});
    let tokens: Arc<[u32]> = request.prompt[..16].into();
    let key = ChainKey::ROOT.then(Kind::Block, &tokens);
    disk.put(&Link { key, kind: Kind::Block, parent: ChainKey::ROOT, start: 0, tokens }, b"no such block".to_vec());
    drop(disk);
    let bench = Bench::start(fake(), on_disk(&root));
    assert_eq!(run(&bench, &request), 0);
    assert_eq!(bench.engine.stats().tier.n_refused, 1);
    bench.check_nothing_left();
}

#[test]
fn a_folder_in_use_or_unusable_fails_no_request() {
    let root = TempDir::new().unwrap();
    let first = Bench::start(fake(), on_disk(&root));
    let second = Bench::start(fake(), on_disk(&root));
    let file = root.path().join("file");
    fs::write(&file, b"").unwrap();
    let without = EngineOptions { tier: Some(TierOptions { dir: file, ..tier(&root) }), ..on_disk(&root) };
    let third = Bench::start(fake(), without);
    for bench in [&first, &second, &third] {
        assert_eq!(run(bench, &prompt(1, 0, 300)), 0);
        assert_eq!(run(bench, &prompt(1, 0, 300)), 299);
    }
    assert!(first.engine.stats().tier.is_writing && !second.engine.stats().tier.is_writing);
    assert_eq!(third.engine.stats().tier.n_errors, 1);
    [first, second, third].into_iter().for_each(Bench::check_nothing_left);
}

/// A small source of numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

fn segments(root: &Path) -> Vec<PathBuf> {
    let dirs = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let files = dirs.flat_map(|dir| fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()));
    let mut segments: Vec<_> = files.filter(|path| path.extension().is_some_and(|name| name == "kv")).collect();
    segments.sort();
    segments
}

/// Does to a file what disks, crashes and people do.
fn spoil(root: &Path, dice: &mut Dice) {
    let segments = segments(root);
    let Some(path) = segments.get(dice.below(segments.len().max(1))) else { return };
    let mut bytes = fs::read(path).unwrap();
    let at = dice.below(bytes.len().max(1));
    match dice.below(6) {
        0 | 1 if !bytes.is_empty() => bytes[at] ^= 1 << dice.below(8),
        2 => bytes.truncate(at),
        3 => bytes.extend(std::iter::repeat_n(0xAB, at)),
        4 => bytes.copy_within(0..at / 2, at / 2),
        _ => return fs::remove_file(path).unwrap(),
    }
    fs::write(path, bytes).unwrap();
}

/// One process' life: requests at once, some of which go away early.
fn live(bench: &Bench, dice: &mut Dice, n_requests: usize) {
    for _ in 0..n_requests.div_ceil(8) {
        let requests: Vec<_> =
            (0..8).map(|_| prompt(dice.below(3) as u32, 16 * dice.below(20), 1 + dice.below(400))).collect();
        let running: Vec<_> = requests.iter().map(|request| bench.submit(request)).collect();
        for (request, mut outputs) in requests.iter().zip(running) {
            match dice.below(5) {
                0 => drop(outputs),
                1 => drop(outputs.blocking_next()),
                _ => bench.check_whole(request, outputs),
            }
        }
    }
}

#[test]
fn no_restart_and_no_damage_changes_an_output() {
    let n_lives = if std::env::var_os("TOKBAR_TEST_ALL").is_some() { 400 } else { 16 };
    let root = TempDir::new().unwrap();
    let mut dice = Dice(7);
    for life in 0..n_lives {
        let mut fake = if life % 2 == 0 { fake() } else { recurrent() };
        fake.info.fingerprint = format!("fake {}", life % 2);
        let kv_budget_bytes = (dice.below(3) > 0).then_some(2500 * 4 + 1000);
        let bench = Bench::start(fake, EngineOptions { kv_budget_bytes, ..on_disk(&root) });
        live(&bench, &mut dice, 40);
        let stats = bench.engine.stats().tier;
        assert_eq!((stats.n_errors, stats.n_refused), (0, 0), "{stats:?}");
        bench.check_nothing_left();
        (0..dice.below(4)).for_each(|_| spoil(root.path(), &mut dice));
    }
}
