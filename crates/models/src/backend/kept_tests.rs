//! Prefixes that are reused give what computing them again gives.

use std::ops::Range;
use std::sync::Arc;

use tokbar_engine::{
    Backend, BlockId, Kept, Opening, Prefix, Row, RowInput, RowOutput, SamplingOptions, SequenceId, SnapshotId, Step,
    StepError, TokenId,
};

use crate::backend::MlxBackend;
use crate::fixtures::{Fixture, RECURRENT, uniforms};
use crate::load::LoadOptions;

/// Room for the difference between one long and several short sums.
const TOLERANCE: f32 = 1e-4;

fn backend(name: &str) -> MlxBackend {
    let dir = tempfile::tempdir().unwrap();
    Fixture::read(name).write(dir.path());
    MlxBackend::load(dir.path(), &LoadOptions::default(), &mut |_| {}).unwrap()
}

fn tokens(name: &str, n: usize) -> Vec<TokenId> {
    uniforms(name).take(n).map(|u| (u * 67.0) as u32).collect()
}

fn open(backend: &mut MlxBackend, id: u64, prefix: Prefix<'_>) -> Result<SequenceId, StepError> {
    let sampling = Arc::new(SamplingOptions { n_logprobs: Some(5), ..SamplingOptions::default() });
    backend.open(SequenceId(id), &Opening { sampling, prompt: &[], output: &[], prefix })?;
    Ok(SequenceId(id))
}

/// Computes tokens and returns the next one's likeliest candidates.
fn run(backend: &mut MlxBackend, id: SequenceId, start: usize, tokens: &[TokenId]) -> Vec<(TokenId, f32)> {
    let input = RowInput::Tokens(tokens.to_vec());
    backend.submit(&Step { rows: vec![Row { sequence: id, start, input, output: RowOutput::sample(0.0) }] }).unwrap();
    backend.collect().unwrap().rows.remove(0).tokens.remove(0).top
}

fn assert_alike(actual: &[(TokenId, f32)], expected: &[(TokenId, f32)], what: &str) {
    for (a, b) in actual.iter().zip(expected) {
        assert!(a.0 == b.0 && (a.1 - b.1).abs() < TOLERANCE, "{what}: {actual:?} {expected:?}");
    }
    assert_eq!(actual.len(), expected.len(), "{what}");
}

fn keep(backend: &mut MlxBackend, id: SequenceId, blocks: &[(u64, Range<usize>)]) {
    for (block, positions) in blocks {
        backend.keep(id, BlockId(*block), positions.clone()).unwrap();
    }
}

#[test]
fn prefixes_are_reused_at_every_length() {
    for name in ["llama_gqa", "gemma3_text_rotating", "mistral_window"].iter().chain(RECURRENT).copied() {
        let mut backend = backend(name);
        let needs_snapshot = backend.info().snapshot_bytes > 0;
        assert_eq!(needs_snapshot, name != "llama_gqa", "{name}");
        let text = tokens(name, 60);
        for n_taken in [1, 20, 31, 40] {
            let source = open(&mut backend, 1, Prefix::default()).unwrap();
            run(&mut backend, source, 0, &text[..n_taken]);
            backend.snapshot(source, SnapshotId(1)).unwrap();
            run(&mut backend, source, n_taken, &text[n_taken..]);
            keep(&mut backend, source, &[(1, 0..20), (2, 20..40)]);
            backend.close(source);
            let snapshot = needs_snapshot.then_some(SnapshotId(1));
            let prefix = Prefix { blocks: &[BlockId(1), BlockId(2)], n_tokens: n_taken, snapshot };
            let other = tokens("other", 25);
            let reused = open(&mut backend, 2, prefix).unwrap();
            let actual = run(&mut backend, reused, n_taken, &other);
            let plain = open(&mut backend, 3, Prefix::default()).unwrap();
            run(&mut backend, plain, 0, &text[..n_taken]);
            let expected = run(&mut backend, plain, n_taken, &other);
            assert_alike(&actual, &expected, &format!("{name} after {n_taken}"));
            backend.close(reused);
            backend.close(plain);
            backend.forget(&[Kept::Block(BlockId(1)), Kept::Block(BlockId(2)), Kept::Snapshot(SnapshotId(1))]);
        }
        assert!(backend.kept.is_empty());
    }
}

#[test]
fn branches_do_not_disturb_each_other() {
    let mut backend = backend("llama_gqa");
    let text = tokens("trunk", 50);
    let trunk = open(&mut backend, 1, Prefix::default()).unwrap();
    run(&mut backend, trunk, 0, &text);
    keep(&mut backend, trunk, &[(1, 0..25), (2, 25..50)]);
    let blocks = [BlockId(1), BlockId(2)];
    // The trunk's own end, its middle, and the trunk itself, all at once and in turns.
    let lengths = [50, 50, 37, 25, 10];
    let mut branches = Vec::new();
    for (n_tokens, id) in lengths.into_iter().zip(10..) {
        branches.push(open(&mut backend, id, Prefix { blocks: &blocks, n_tokens, snapshot: None }).unwrap());
    }
    backend.close(trunk);
    let late = open(&mut backend, 20, Prefix { blocks: &blocks, n_tokens: 50, snapshot: None }).unwrap();
    let all: Vec<_> = branches.into_iter().zip(lengths).chain([(late, 50)]).collect();
    for at in 0..6 {
        let rows = all.iter().enumerate().map(|(i, (id, n))| Row {
            sequence: *id,
            start: n + at,
            input: RowInput::Tokens(vec![tokens(&format!("branch {i}"), 6)[at]]),
            output: RowOutput::sample(0.0),
        });
        backend.submit(&Step { rows: rows.collect() }).unwrap();
        let output = backend.collect().unwrap();
        for (i, (row, (_, n))) in output.rows.iter().zip(&all).enumerate() {
            let plain = open(&mut backend, 99, Prefix::default()).unwrap();
            let whole = [&text[..*n], &tokens(&format!("branch {i}"), 6)[..=at]].concat();
            let expected = run(&mut backend, plain, 0, &whole);
            assert_alike(&row.tokens[0].top, &expected, &format!("branch {i} at {at}"));
            backend.close(plain);
        }
    }
}

#[test]
fn what_is_not_kept_is_refused_by_name() {
    let mut backend = backend("gemma3_text_rotating");
    let id = open(&mut backend, 1, Prefix::default()).unwrap();
    run(&mut backend, id, 0, &tokens("kept", 30));
    keep(&mut backend, id, &[(1, 0..10), (2, 20..30)]);
    backend.snapshot(id, SnapshotId(1)).unwrap();
    let refused = |result: Result<SequenceId, StepError>, expected: &str| match result {
        Err(StepError::Mismatch { detail }) => assert!(detail.contains(expected), "{detail}"),
        other => panic!("{expected}: {other:?}"),
    };
    let mut check = |blocks: &[BlockId], n_tokens, snapshot, expected| {
        refused(open(&mut backend, 2, Prefix { blocks, n_tokens, snapshot }), expected);
    };
    check(&[BlockId(7)], 5, None, "block 7 is not kept");
    check(&[BlockId(1), BlockId(2)], 20, None, "block 2 does not continue");
    check(&[BlockId(1)], 20, None, "hold 10 positions of a prefix of 20");
    check(&[BlockId(1)], 10, None, "without the snapshot");
    check(&[BlockId(1)], 10, Some(SnapshotId(2)), "snapshot 2 is not kept");
    check(&[BlockId(1)], 10, Some(SnapshotId(1)), "snapshot 1 is of 30 positions");
    assert!(backend.keep(id, BlockId(1), 0..10).is_err(), "kept twice");
    assert!(backend.keep(id, BlockId(3), 20..31).is_err(), "not there yet");
    assert!(backend.keep(SequenceId(9), BlockId(3), 0..1).is_err(), "not open");
}

#[test]
fn exported_state_comes_back_in_another_process() {
    ["gemma3_text_rotating", "qwen3_5"].into_iter().for_each(comes_back);
}

fn comes_back(name: &str) {
    let mut source = backend(name);
    let text = tokens("exported", 70);
    let id = open(&mut source, 1, Prefix::default()).unwrap();
    run(&mut source, id, 0, &text);
    keep(&mut source, id, &[(1, 0..20), (2, 20..40), (3, 40..60), (4, 60..70)]);
    source.snapshot(id, SnapshotId(1)).unwrap();
    let blocks = [1, 2, 3, 4].map(BlockId);
    let kept = blocks.map(Kept::Block).into_iter().chain([Kept::Snapshot(SnapshotId(1))]);
    let mut target = backend(name);
    for kept in kept {
        let bytes = source.export(kept).unwrap();
        target.import(kept, &bytes).unwrap();
        assert!(target.import(kept, &bytes).is_err(), "twice");
        assert_eq!(target.export(kept).unwrap(), bytes);
    }
    let expected = run(&mut source, id, 70, &tokens("next", 5));
    for i in 0..3 {
        let prefix = Prefix { blocks: &blocks, n_tokens: 70, snapshot: Some(SnapshotId(1)) };
        let id = open(&mut target, 2 + i, prefix).unwrap();
        let n_runs = target.sequences[&id].cache.runs().count();
        assert!(n_runs <= 2, "blocks imported apart are read as one: {n_runs}");
        assert_alike(&run(&mut target, id, 70, &tokens("next", 5)), &expected, "imported");
    }
    assert!(source.export(Kept::Block(BlockId(9))).is_err());
}

#[test]
fn ten_branches_cost_little_more_than_one() {
    let mut backend = backend("llama_gqa");
    let text: Vec<_> = std::iter::repeat_n(tokens("long", 64), 128).flatten().collect();
    let trunk = open(&mut backend, 1, Prefix::default()).unwrap();
    run(&mut backend, trunk, 0, &text);
    let n_blocks = text.len() / 64;
    let blocks: Vec<_> = (0..n_blocks as u64).map(|i| (i, i as usize * 64..i as usize * 64 + 64)).collect();
    keep(&mut backend, trunk, &blocks);
    backend.close(trunk);
    let one = held_bytes(&backend);
    assert!(one >= text.len() * backend.info().kv_bytes_per_token);
    let ids: Vec<_> = (0..n_blocks as u64).map(BlockId).collect();
    for i in 0..10 {
        let prefix = Prefix { blocks: &ids, n_tokens: text.len(), snapshot: None };
        let id = open(&mut backend, 10 + i, prefix).unwrap();
        for at in 0..3 {
            run(&mut backend, id, text.len() + at, &[at as u32 + i as u32]);
        }
    }
    let ten = held_bytes(&backend);
    assert!(ten as f64 <= 1.2 * one as f64, "{ten} bytes for ten, {one} for one");
    // Evicting half of the prefix frees half of it, once no one reads it.
    (0..10).for_each(|i| backend.close(SequenceId(10 + i)));
    let gone: Vec<_> = ids[n_blocks / 2..].iter().map(|id| Kept::Block(*id)).collect();
    backend.forget(&gone);
    assert!(held_bytes(&backend) as f64 <= 0.6 * one as f64);
    backend.forget(&ids.iter().map(|id| Kept::Block(*id)).collect::<Vec<_>>());
    assert_eq!(held_bytes(&backend), 0);
}

/// Bytes of all buffers behind open sequences and blocks, each counted once.
fn held_bytes(backend: &MlxBackend) -> usize {
    let mut runs: Vec<_> = backend.sequences.values().flat_map(|sequence| sequence.cache.runs()).collect();
    runs.extend(backend.kept.runs());
    runs.sort_by_key(|run| std::rc::Rc::as_ptr(run));
    runs.dedup_by_key(|run| std::rc::Rc::as_ptr(run));
    runs.iter().map(|run| run.n_bytes()).sum()
}
