use std::sync::Arc;

use tokbar_engine::{
    Backend, Draw, RowInput, RowOutput, SamplingOptions, SequenceId, Step, StepError, Terms, TokenBits, TokenId,
};

use super::super::tests::{backend, open, prompt, row, samplings, uniform};

const N_VOCAB: usize = 67;
/// Tokens of each output.
const N: usize = 12;

/// What holds for the token after `tokens`: it must not be one of them, and none that is near the last is liked.
fn terms(tokens: &[TokenId]) -> Terms {
    let mut words = vec![u32::MAX; N_VOCAB.div_ceil(32)];
    tokens.iter().rev().take(20).for_each(|token| words[*token as usize / 32] &= !(1 << (token % 32)));
    let last = tokens.last().copied().unwrap_or(0);
    let bias = (1..4).map(|n| ((last + n) % N_VOCAB as TokenId, -3.0)).collect();
    Terms { mask: Some(Arc::new(TokenBits { words })), bias }
}

/// One step after the other, on terms that are known when it is submitted.
fn slow(sampling: &SamplingOptions, id: u64) -> Vec<TokenId> {
    let mut backend = backend("llama_gqa");
    let mut tokens = prompt(&format!("late {id}"), 5);
    let sequence = open(&mut backend, id, &tokens, sampling);
    let (mut start, mut input) = (0, tokens.clone());
    for at in 0..N {
        let draws = vec![Draw::on(uniform(id, at), terms(&tokens))];
        let row = row(sequence, start, RowInput::Tokens(input.clone()), RowOutput::Sample { draws });
        backend.submit(&Step { rows: vec![row] }).unwrap();
        start += input.len();
        input = vec![backend.collect().unwrap().rows[0].tokens[0].token];
        tokens.extend(&input);
    }
    tokens
}

#[test]
fn terms_told_late_give_what_terms_told_at_once_give() {
    let mut backend = backend("llama_gqa");
    let samplings = samplings();
    let mut tokens: Vec<_> = (0..samplings.len()).map(|id| prompt(&format!("late {id}"), 5)).collect();
    let n_prompt = tokens[0].len();
    for (id, sampling) in samplings.iter().enumerate() {
        open(&mut backend, id as u64, &tokens[id], sampling);
    }
    // As the engine does it: a step is submitted before the one ahead of it is collected.
    for at in 0..=N {
        if at < N {
            let rows = (0..samplings.len()).map(|id| {
                let (start, input) = match at {
                    0 => (0, RowInput::Tokens(tokens[id].clone())),
                    _ => (n_prompt + at - 1, RowInput::Pending),
                };
                let draws = vec![Draw::late(uniform(id as u64, at))];
                row(SequenceId(id as u64), start, input, RowOutput::Sample { draws })
            });
            backend.submit(&Step { rows: rows.collect() }).unwrap();
        }
        if at > 0 {
            let output = backend.collect().unwrap();
            output.rows.iter().zip(&mut tokens).for_each(|(row, tokens)| tokens.push(row.tokens[0].token));
        }
        if at < N {
            backend.bind(tokens.iter().map(|tokens| vec![terms(tokens)]).collect());
        }
    }
    for (id, sampling) in samplings.iter().enumerate() {
        assert_eq!(tokens[id], slow(sampling, id as u64), "{sampling:?}");
    }
}

#[test]
fn tokens_that_nothing_drew_are_counted_like_those_that_were() {
    // So dear that what is counted wrongly changes the greedy token: the one known token that must not be liked is.
    let (frequency_penalty, logit_bias) = (100.0, [(66, 60.0), (11, 150.0)].into());
    let sampling = SamplingOptions { frequency_penalty, logit_bias, ..SamplingOptions::default() };
    let prompt = prompt("known", 6);
    let known = [11, 40, 11, 66];
    let mut backend = backend("llama_gqa");
    let draw = |uniform: f32, token: TokenId| {
        let mut words = vec![0; N_VOCAB.div_ceil(32)];
        words[token as usize / 32] |= 1 << (token % 32);
        Draw::on(uniform, Terms { mask: Some(Arc::new(TokenBits { words })), bias: Vec::new() })
    };
    let mut run = |id: u64, inputs: &[(&[TokenId], Draw)]| {
        let sequence = open(&mut backend, id, &prompt, &sampling);
        let (mut start, mut last) = (0, 0);
        for (input, draw) in inputs {
            let output = RowOutput::Sample { draws: vec![draw.clone()] };
            let row = row(sequence, start, RowInput::Tokens(input.to_vec()), output);
            backend.submit(&Step { rows: vec![row] }).unwrap();
            start += input.len();
            last = backend.collect().unwrap().rows[0].tokens[0].token;
        }
        last
    };
    let drawn = [
        (prompt.as_slice(), draw(0.1, known[0])),
        (&known[..1], draw(0.1, known[1])),
        (&known[1..2], draw(0.1, known[2])),
        (&known[2..3], draw(0.1, known[3])),
        (&known[3..], Draw::free(0.4)),
    ];
    let jumped = [(prompt.as_slice(), draw(0.1, known[0])), (&known[..], Draw::free(0.4))];
    let (drawn, jumped) = (run(1, &drawn), run(2, &jumped));
    assert_eq!(drawn, jumped);
    assert!(![11, 66].contains(&drawn), "{drawn} was counted too seldom");
}

#[test]
fn a_step_whose_terms_never_came_fails() {
    let mut backend = backend("llama");
    let id = open(&mut backend, 1, &[1], &SamplingOptions::default());
    let output = RowOutput::Sample { draws: vec![Draw::late(0.0)] };
    backend.submit(&Step { rows: vec![row(id, 0, RowInput::Tokens(vec![1]), output)] }).unwrap();
    match backend.collect() {
        Err(StepError::Mismatch { detail }) => assert!(detail.contains("terms were not told"), "{detail}"),
        other => panic!("{other:?}"),
    }
}
