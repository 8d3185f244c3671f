use std::sync::Arc;

use tokbar_engine::{
    Backend, Draw, Opening, Prefix, Row, RowInput, RowOutput, SamplingOptions, SequenceId, Step, StepError, StepOutput,
    TokenId,
};

use super::MlxBackend;
use crate::fixtures::{Fixture, uniforms};
use crate::flight::step_error;
use crate::load::{LoadOptions, Precision};
use crate::mx;

pub(super) fn backend(name: &str) -> MlxBackend {
    let dir = tempfile::tempdir().unwrap();
    Fixture::read(name).write(dir.path());
    let options = LoadOptions { precision: Precision::Auto, ..LoadOptions::default() };
    MlxBackend::load(dir.path(), &options, &mut |_| {}).unwrap()
}

pub(super) fn open(backend: &mut MlxBackend, id: u64, prompt: &[TokenId], sampling: &SamplingOptions) -> SequenceId {
    let opening = Opening { sampling: Arc::new(sampling.clone()), prompt, output: &[], prefix: Prefix::default() };
    backend.open(SequenceId(id), &opening).unwrap();
    SequenceId(id)
}

pub(super) fn row(sequence: SequenceId, start: usize, input: RowInput, output: RowOutput) -> Row {
    Row { sequence, start, input, output }
}

pub(super) fn prompt(name: &str, n: usize) -> Vec<TokenId> {
    uniforms(name).take(n).map(|u| (u * 67.0) as u32).collect()
}

/// The draw of a sequence's `n`-th token.
fn draw(id: u64, n: usize) -> RowOutput {
    RowOutput::sample(uniform(id, n))
}

/// The number that draws a sequence's `n`-th token.
pub(super) fn uniform(id: u64, n: usize) -> f32 {
    uniforms(&format!("draw {id}")).nth(n).unwrap()
}

/// A sequence run alone, every token brought back before the next step.
pub(super) fn lone_run(
    backend: &mut MlxBackend,
    id: u64,
    prompt: &[TokenId],
    sampling: &SamplingOptions,
    n: usize,
) -> Vec<TokenId> {
    let sequence = open(backend, id, prompt, sampling);
    let mut input = prompt.to_vec();
    let mut start = 0;
    let mut output = Vec::new();
    for at in 0..n {
        let step = Step { rows: vec![row(sequence, start, RowInput::Tokens(input.clone()), draw(id, at))] };
        start += input.len();
        backend.submit(&step).unwrap();
        input = vec![token(&backend.collect().unwrap(), 0)];
        output.extend(&input);
    }
    backend.close(sequence);
    output
}

fn token(output: &StepOutput, row_idx: usize) -> TokenId {
    output.rows[row_idx].tokens[0].token
}

pub(super) fn samplings() -> Vec<SamplingOptions> {
    let base = SamplingOptions::default;
    vec![
        base(),
        SamplingOptions { temperature: 1.0, ..base() },
        SamplingOptions { temperature: 0.8, top_k: 9, frequency_penalty: 0.9, repetition_penalty: 1.2, ..base() },
        SamplingOptions { presence_penalty: 2.0, n_logprobs: Some(2), ..base() },
    ]
}

#[test]
fn a_batch_with_steps_in_flight_gives_what_lone_runs_give() {
    ["llama_gqa", "qwen3_next"].into_iter().for_each(batch_in_flight);
}

fn batch_in_flight(name: &str) {
    let mut backend = backend(name);
    let prompts: Vec<_> = (0..4).map(|id| prompt(&format!("prompt {id}"), 3 + 7 * id)).collect();
    let samplings = samplings();
    let n = 12;
    let lone: Vec<_> =
        (0..4).map(|id| lone_run(&mut backend, 100 + id as u64, &prompts[id], &samplings[id], n)).collect();
    let ids: Vec<_> = (0..4).map(|id| open(&mut backend, 100 + id as u64, &prompts[id], &samplings[id])).collect();
    let mut outputs = vec![Vec::new(); 4];
    for at in 0..=n {
        if at < n {
            // Rows in another order every step.
            let rows = (0..4).map(|i| (i + at) % 4).map(|i| {
                let (start, input) = match at {
                    0 => (0, RowInput::Tokens(prompts[i].clone())),
                    _ => (prompts[i].len() + at - 1, RowInput::Pending),
                };
                row(ids[i], start, input, draw(100 + i as u64, at))
            });
            backend.submit(&Step { rows: rows.collect() }).unwrap();
        }
        if at > 0 {
            for row in backend.collect().unwrap().rows {
                outputs[(row.sequence.0 - 100) as usize].push(row.tokens[0].token);
            }
        }
    }
    assert_eq!(outputs, lone);
}

#[test]
fn a_preempted_sequence_goes_on_as_if_it_were_not() {
    let mut backend = backend("llama_gqa");
    let sampling = SamplingOptions { frequency_penalty: 1.5, ..SamplingOptions::default() };
    let prompt = prompt("preempted", 9);
    let whole = lone_run(&mut backend, 1, &prompt, &sampling, 10);
    let opening =
        Opening { sampling: Arc::new(sampling), prompt: &prompt, output: &whole[..5], prefix: Prefix::default() };
    backend.open(SequenceId(1), &opening).unwrap();
    let tokens = [prompt.as_slice(), &whole[..5]].concat();
    let step = Step { rows: vec![row(SequenceId(1), 0, RowInput::Tokens(tokens), draw(1, 5))] };
    backend.submit(&step).unwrap();
    assert_eq!(token(&backend.collect().unwrap(), 0), whole[5]);
}

#[test]
fn prompt_scores_are_those_of_single_steps() {
    let mut backend = backend("qwen3");
    let sampling = SamplingOptions { n_logprobs: Some(3), ..SamplingOptions::default() };
    let tokens = prompt("scored", 20);
    let whole = open(&mut backend, 1, &tokens, &sampling);
    let output = RowOutput::Score { targets: tokens[1..].to_vec(), draw: Some(Draw::free(0.0)) };
    backend.submit(&Step { rows: vec![row(whole, 0, RowInput::Tokens(tokens.clone()), output)] }).unwrap();
    let result = backend.collect().unwrap().rows.remove(0);
    assert_eq!(result.prompt_scores.iter().map(|score| score.token).collect::<Vec<_>>(), tokens[1..]);
    assert!(!result.tokens.is_empty());
    let single = open(&mut backend, 2, &tokens, &sampling);
    for (at, score) in result.prompt_scores.iter().enumerate() {
        let output = RowOutput::Score { targets: vec![tokens[at + 1]], draw: None };
        backend.submit(&Step { rows: vec![row(single, at, RowInput::Tokens(vec![tokens[at]]), output)] }).unwrap();
        let result = backend.collect().unwrap().rows.remove(0);
        assert_eq!(result.tokens, []);
        assert!((result.prompt_scores[0].logprob - score.logprob).abs() < 1e-4);
        assert_eq!(result.prompt_scores[0].top.len(), 3);
        assert!(score.top[0].1 >= score.top[1].1 && score.top[0].1 >= score.logprob);
    }
}

#[test]
fn steps_that_do_not_fit_are_refused_and_change_nothing() {
    let mut backend = backend("llama");
    let tokens = prompt("refused", 5);
    let greedy = SamplingOptions::default();
    let expected = lone_run(&mut backend, 9, &tokens, &greedy, 1);
    let id = open(&mut backend, 1, &tokens, &greedy);
    let known = |tokens: &[u32]| RowInput::Tokens(tokens.to_vec());
    let score = |targets: Vec<u32>| RowOutput::Score { targets, draw: None };
    let good = row(id, 0, known(&tokens), RowOutput::sample(0.0));
    let cases = [
        (vec![], "0 rows"),
        (vec![row(SequenceId(7), 0, known(&[1]), RowOutput::None)], "sequence 7 is not open"),
        (vec![good.clone(), good.clone()], "has two rows"),
        (vec![row(id, 3, known(&[1]), RowOutput::None)], "starts at 3, but its cache holds 0"),
        (vec![row(id, 0, known(&[]), RowOutput::None)], "has no tokens"),
        (vec![row(id, 0, known(&[67]), RowOutput::None)], "outside the vocabulary of 67"),
        (vec![row(id, 0, RowInput::Pending, RowOutput::None)], "does not sample"),
        (vec![row(id, 0, known(&[1]), score(vec![1, 2]))], "targets beyond"),
        (vec![row(id, 0, known(&[1]), score(vec![67]))], "targets beyond"),
    ];
    for (rows, expected) in cases {
        match backend.submit(&Step { rows }) {
            Err(StepError::Mismatch { detail }) => assert!(detail.contains(expected), "{detail}"),
            other => panic!("{expected}: {other:?}"),
        }
    }
    let opening = Opening { sampling: Arc::new(greedy), prompt: &tokens, output: &[], prefix: Prefix::default() };
    assert!(backend.open(id, &opening).is_err(), "open twice");
    assert!(backend.collect().is_err(), "nothing is in flight");
    backend.submit(&Step { rows: vec![good] }).unwrap();
    assert_eq!(token(&backend.collect().unwrap(), 0), expected[0]);
}

#[test]
fn closing_frees_the_cache() {
    let mut backend = backend("llama");
    // Other tests allocate beside this one: compare orders of magnitude.
    let tokens: Vec<_> = std::iter::repeat_n(prompt("freed", 50), 20).flatten().collect();
    for id in 0..20 {
        let id = open(&mut backend, id, &tokens, &SamplingOptions::default());
        backend.submit(&Step { rows: vec![row(id, 0, RowInput::Tokens(tokens.clone()), RowOutput::None)] }).unwrap();
        assert_eq!(backend.collect().unwrap().rows[0].tokens, []);
        backend.close(id);
        backend.close(id);
    }
    assert!(backend.sequences.is_empty());
    let n_cache_bytes = tokens.len() * backend.info.kv_bytes_per_token;
    mx::clear_cache().unwrap();
    assert!(mx::memory().0 < 20 * n_cache_bytes, "20 caches of {n_cache_bytes} bytes are gone");
}

#[test]
fn what_the_allocator_refuses_is_out_of_memory() {
    let cases = [
        ("[malloc] Unable to allocate 4096 bytes.", true),
        ("[metal::malloc] Attempting to allocate 9 bytes which is greater than the maximum allowed buffer size", true),
        ("cudaMallocAsync(&data, size, stream) failed: out of memory", true),
        ("[matmul] Last dimension of first input does not match", false),
    ];
    for (what, is_memory) in cases {
        let error = step_error(mx::Error { what: what.to_owned() });
        assert_eq!(matches!(error, StepError::OutOfMemory { .. }), is_memory, "{what}");
    }
}

#[test]
fn mlx_errors_come_back() {
    let a = mx::zeros(&[2, 3], mx::Dtype::Float32).unwrap();
    let b = mx::zeros(&[4, 5], mx::Dtype::Float32).unwrap();
    let error = mx::matmul(&a, &b).unwrap_err();
    assert!(error.what.contains("matmul") && !error.what.contains(".cpp"), "{error}");
    assert!(mx::slice(&a, &[mx::Cut { axis: 0, start: 1, stop: 3 }]).is_err());
    assert!(mx::reshape(&a, &[5]).is_err());
}

#[test]
fn long_steps_run_in_passes_and_give_what_short_steps_give() {
    let mut backend = backend("mistral_window");
    let sampling = SamplingOptions { n_logprobs: Some(0), ..SamplingOptions::default() };
    let prompts = [prompt("long a", 500), prompt("long b", 550)];
    let targets = |from: usize, to: usize, tokens: &[u32]| tokens[from + 1..tokens.len().min(to + 1)].to_vec();
    let mut run = |n_chunk: usize, first_id: u64| {
        let ids = [0, 1].map(|i| open(&mut backend, first_id + i as u64, &prompts[i], &sampling));
        let mut results = [Vec::new(), Vec::new()];
        for from in (0..550).step_by(n_chunk) {
            let rows = [0, 1].into_iter().filter(|&i| from < prompts[i].len()).map(|i| {
                let to = prompts[i].len().min(from + n_chunk);
                let uniform = (to == prompts[i].len()).then_some(0.0);
                let output =
                    RowOutput::Score { targets: targets(from, to, &prompts[i]), draw: uniform.map(Draw::free) };
                row(ids[i], from, RowInput::Tokens(prompts[i][from..to].to_vec()), output)
            });
            backend.submit(&Step { rows: rows.collect() }).unwrap();
            for row in backend.collect().unwrap().rows {
                let i = (row.sequence.0 - first_id) as usize;
                results[i].extend(row.prompt_scores);
                results[i].extend(row.tokens);
            }
        }
        results
    };
    let (long, short) = (run(550, 0), run(50, 10));
    for (long, short) in long.iter().zip(&short) {
        assert_eq!(long.len(), short.len());
        for (long, short) in long.iter().zip(short) {
            assert_eq!(long.token, short.token);
            assert!((long.logprob - short.logprob).abs() < 1e-4, "{long:?} {short:?}");
        }
    }
}
