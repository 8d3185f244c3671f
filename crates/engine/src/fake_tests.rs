use std::sync::Arc;

use super::{FakeBackend, FakeOptions};
use crate::{Backend, Opening, Prefix, Row, RowInput, RowOutput, SamplingOptions, SequenceId, Step, StepError};

fn row(id: u64, start: usize, input: RowInput) -> Row {
    Row { sequence: SequenceId(id), start, input, output: RowOutput::sample(0.5) }
}

fn known(tokens: &[u32]) -> RowInput {
    RowInput::Tokens(tokens.to_vec())
}

/// A backend that holds `[1, 2]` for sequence 1, and the token it sampled next.
fn backend() -> (FakeBackend, u32) {
    let mut backend = FakeBackend::new(FakeOptions { n_tokens_max: Some(10), ..FakeOptions::default() });
    for id in [1, 2] {
        let opening = Opening {
            sampling: Arc::new(SamplingOptions::default()),
            prompt: &[1, 2],
            output: &[],
            prefix: Prefix::default(),
        };
        backend.open(SequenceId(id), &opening).unwrap();
    }
    backend.submit(&Step { rows: vec![row(1, 0, known(&[1, 2]))] }).unwrap();
    let token = backend.collect().unwrap().rows[0].tokens[0].token;
    (backend, token)
}

fn check_refused(rows: Vec<Row>, expected: &str) {
    let (mut backend, _) = backend();
    let seen = backend.probe().seen();
    let error = backend.submit(&Step { rows }).unwrap_err();
    assert!(error.to_string().contains(expected), "{error} does not say {expected}");
    let now = backend.probe().seen();
    assert_eq!((now.n_tokens, now.n_computed), (seen.n_tokens, seen.n_computed), "nothing has happened");
}

#[test]
fn rows_that_do_not_continue_their_cache_are_refused() {
    let (_, sampled) = backend();
    check_refused(vec![row(3, 0, known(&[1]))], "it is not open");
    check_refused(vec![row(1, 0, known(&[1]))], "it starts at 0, the cache holds 2");
    check_refused(vec![row(1, 3, known(&[1]))], "it starts at 3, the cache holds 2");
    check_refused(vec![row(1, 2, known(&[sampled + 1]))], "was sampled, but");
    check_refused(vec![row(1, 2, RowInput::Pending)], "no step in flight samples its token");
    check_refused(vec![row(2, 0, known(&[]))], "it has no tokens");
    check_refused(vec![row(2, 0, known(&[5000]))], "token 5000 does not exist");
    check_refused(vec![row(2, 0, known(&[1])), row(2, 1, known(&[2]))], "2 rows of 1 sequences");
    check_refused(vec![], "0 rows of 0 sequences");
    check_refused(vec![row(2, 0, known(&[1; 9]))], "11 positions, 10 fit");
}

#[test]
fn the_next_token_depends_on_every_stored_token_and_on_nothing_else() {
    let next = |chunks: &[&[u32]]| {
        let (mut backend, _) = backend();
        let mut start = 0;
        for chunk in chunks {
            backend.submit(&Step { rows: vec![row(2, start, known(chunk))] }).unwrap();
            start += chunk.len();
            let token = backend.collect().unwrap().rows[0].tokens[0].token;
            if start == 3 {
                return token;
            }
            backend.sequences.get_mut(&SequenceId(2)).unwrap().sampled = None;
        }
        panic!("three tokens are needed");
    };
    let token = next(&[&[4, 5, 6]]);
    assert_eq!(token, next(&[&[4], &[5, 6]]));
    for other in [[3, 5, 6], [4, 3, 6], [4, 5, 3], [5, 4, 6]] {
        assert_ne!(token, next(&[&other]), "{other:?}");
    }
}

#[test]
fn a_lost_cache_is_not_used_again() {
    let (mut backend, token) = backend();
    backend.options.faults = vec![super::Fault {
        call: super::Call::Collect,
        nth: 1,
        effect: super::Effect::Fail(StepError::Device { detail: "gone".to_owned() }),
    }];
    backend.submit(&Step { rows: vec![row(1, 2, known(&[token]))] }).unwrap();
    assert!(backend.collect().is_err());
    let error = backend.submit(&Step { rows: vec![row(1, 3, known(&[token]))] }).unwrap_err();
    assert!(error.to_string().contains("its cache is lost"), "{error}");
    backend.close(SequenceId(1));
    assert_eq!(backend.probe().seen().n_tokens, 0);
}
