use std::sync::Arc;

use crate::fake::{FakeBackend, FakeOptions};
use crate::{
    Backend, BlockId, Draw, Kept, ModelInfo, Opening, Prefix, Row, RowInput, RowOutput, SamplingOptions, SequenceId,
    SnapshotId, Step, StepError, Terms, TokenBits, TokenId,
};

const PROMPT: [TokenId; 8] = [1, 2, 3, 4, 5, 6, 7, 8];

fn backend(snapshot_bytes: usize) -> FakeBackend {
    let info = ModelInfo { snapshot_bytes, ..FakeOptions::default().info };
    FakeBackend::new(FakeOptions { info, ..FakeOptions::default() })
}

fn open(backend: &mut FakeBackend, id: u64, prefix: Prefix<'_>) -> Result<(), StepError> {
    let sampling = Arc::new(SamplingOptions::default());
    backend.open(SequenceId(id), &Opening { sampling, prompt: &PROMPT, output: &[], prefix })
}

/// Computes `tokens` from `start` on and returns what is sampled.
fn step(backend: &mut FakeBackend, id: u64, start: usize, tokens: &[TokenId], output: RowOutput) -> Vec<TokenId> {
    let row = Row { sequence: SequenceId(id), start, input: RowInput::Tokens(tokens.to_vec()), output };
    backend.submit(&Step { rows: vec![row] }).unwrap();
    backend.collect().unwrap().rows.remove(0).tokens.into_iter().map(|score| score.token).collect()
}

/// A backend that has computed the prompt in halves, kept both and taken a snapshot between them, and the next token.
fn kept(snapshot_bytes: usize) -> (FakeBackend, TokenId) {
    let mut backend = backend(snapshot_bytes);
    open(&mut backend, 1, Prefix::default()).unwrap();
    step(&mut backend, 1, 0, &PROMPT[..4], RowOutput::None);
    backend.snapshot(SequenceId(1), SnapshotId(9)).unwrap();
    let next = step(&mut backend, 1, 4, &PROMPT[4..], RowOutput::sample(0.5))[0];
    backend.keep(SequenceId(1), BlockId(1), 0..4).unwrap();
    backend.keep(SequenceId(1), BlockId(2), 4..8).unwrap();
    backend.close(SequenceId(1));
    (backend, next)
}

fn snapshot(n_tokens: usize) -> Option<SnapshotId> {
    (n_tokens == 4).then_some(SnapshotId(9))
}

#[test]
fn a_sequence_goes_on_from_kept_blocks_even_from_inside_one() {
    for n_tokens in [1usize, 4, 6, 7] {
        let (mut backend, next) = kept(0);
        let blocks = &[BlockId(1), BlockId(2)][..n_tokens.div_ceil(4)];
        open(&mut backend, 2, Prefix { blocks, n_tokens, snapshot: None }).unwrap();
        assert_eq!(backend.probe().seen().n_live, 8, "nothing is copied");
        assert_eq!(step(&mut backend, 2, n_tokens, &PROMPT[n_tokens..], RowOutput::sample(0.5)), [next]);
    }
}

#[test]
fn a_wrong_block_changes_the_output() {
    let (mut backend, next) = kept(0);
    open(&mut backend, 2, Prefix::default()).unwrap();
    step(&mut backend, 2, 0, &[9, 2, 3, 4], RowOutput::None);
    backend.keep(SequenceId(2), BlockId(3), 0..4).unwrap();
    open(&mut backend, 3, Prefix { blocks: &[BlockId(3), BlockId(2)], n_tokens: 7, snapshot: None }).unwrap();
    assert_ne!(step(&mut backend, 3, 7, &PROMPT[7..], RowOutput::sample(0.5)), [next]);
}

#[test]
fn a_recurrent_model_goes_on_from_a_snapshot_only() {
    let (mut backend, next) = kept(64);
    let both = [BlockId(1), BlockId(2)];
    for (n_tokens, snapshot) in [(4usize, None), (7, Some(SnapshotId(9))), (4, Some(SnapshotId(8)))] {
        let blocks = &both[..n_tokens.div_ceil(4)];
        let error = open(&mut backend, 2, Prefix { blocks, n_tokens, snapshot }).unwrap_err();
        assert!(error.to_string().contains("is not a snapshot at"), "{error}");
    }
    open(&mut backend, 2, Prefix { blocks: &both[..1], n_tokens: 4, snapshot: snapshot(4) }).unwrap();
    assert_eq!(step(&mut backend, 2, 4, &PROMPT[4..], RowOutput::sample(0.5)), [next]);
}

#[test]
fn prefixes_and_ranges_that_are_not_held_are_refused() {
    let (mut backend, _) = kept(0);
    for (blocks, n_tokens) in [(&[BlockId(7)][..], 2), (&[BlockId(2)], 4), (&[BlockId(1)], 5), (&[BlockId(1)], 9)] {
        assert!(open(&mut backend, 2, Prefix { blocks, n_tokens, snapshot: None }).is_err(), "{blocks:?} {n_tokens}");
    }
    open(&mut backend, 2, Prefix { blocks: &[BlockId(1)], n_tokens: 4, snapshot: None }).unwrap();
    for (block, range) in [(BlockId(4), 2..5), (BlockId(4), 4..4), (BlockId(1), 0..4)] {
        assert!(backend.keep(SequenceId(2), block, range.clone()).is_err(), "{block:?} {range:?}");
    }
    assert!(backend.keep(SequenceId(3), BlockId(4), 0..1).is_err());
}

#[test]
fn kept_state_goes_out_and_comes_back() {
    let (mut backend, next) = kept(64);
    let all = [Kept::Block(BlockId(1)), Kept::Block(BlockId(2)), Kept::Snapshot(SnapshotId(9))];
    let bytes: Vec<_> = all.iter().map(|kept| backend.export(*kept).unwrap()).collect();
    backend.forget(&all);
    let seen = backend.probe().seen();
    assert_eq!((seen.n_blocks, seen.n_snapshots, seen.n_live), (0, 0, 0));
    assert!(backend.export(all[0]).is_err());
    for (kept, bytes) in all.iter().zip(&bytes) {
        backend.import(*kept, bytes).unwrap();
    }
    open(&mut backend, 2, Prefix { blocks: &[BlockId(1)], n_tokens: 4, snapshot: snapshot(4) }).unwrap();
    assert_eq!(step(&mut backend, 2, 4, &PROMPT[4..], RowOutput::sample(0.5)), [next]);
    for (kept, bytes) in [(all[0], &bytes[2][..]), (all[2], &bytes[0]), (all[0], &bytes[0][..5]), (all[0], &[])] {
        assert!(backend.import(kept, bytes).is_err(), "{kept:?}");
    }
}

#[test]
fn drafts_are_confirmed_up_to_the_first_that_is_wrong() {
    let tokens = {
        let (mut backend, first) = kept(0);
        open(&mut backend, 2, Prefix { blocks: &[BlockId(1)], n_tokens: 4, snapshot: None }).unwrap();
        assert_eq!(step(&mut backend, 2, 4, &PROMPT[4..], RowOutput::sample(0.5)), [first]);
        let second = step(&mut backend, 2, 8, &[first], RowOutput::sample(0.5))[0];
        [first, second, step(&mut backend, 2, 9, &[second], RowOutput::sample(0.5))[0]]
    };
    let wrong = (tokens[1] + 1) % 1000;
    for (draft, n_confirmed) in [(tokens[1], 3), (wrong, 2)] {
        let (mut backend, _) = kept(0);
        open(&mut backend, 2, Prefix { blocks: &[BlockId(1)], n_tokens: 4, snapshot: None }).unwrap();
        let inputs = [&PROMPT[4..], &[tokens[0], draft]].concat();
        let found = step(&mut backend, 2, 4, &inputs, RowOutput::Sample { draws: vec![Draw::free(0.5); 3] });
        assert_eq!(found, tokens[..n_confirmed]);
        assert_eq!(backend.probe().seen().n_tokens, 7 + n_confirmed, "cut back to what was confirmed");
    }
}

#[test]
fn a_mask_decides_what_may_be_drawn() {
    let mut words = vec![0; 32];
    words[3] = 1 << 5;
    let mask = Some(Arc::new(TokenBits { words }));
    let draw = Draw::on(0.5, Terms { mask, bias: Vec::new() });
    let mut backend = backend(0);
    open(&mut backend, 1, Prefix::default()).unwrap();
    assert_eq!(step(&mut backend, 1, 0, &PROMPT, RowOutput::Sample { draws: vec![draw] }), [3 * 32 + 5]);
}
