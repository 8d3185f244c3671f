use std::sync::Arc;

use tokbar_engine::{Backend, Opening, Prefix, RowInput, RowOutput, SamplingOptions, SequenceId, Step, TokenId};

use super::super::MlxBackend;
use super::super::tests::{prompt, row, uniform};
use crate::fixtures::Fixture;
use crate::load::{LoadOptions, Precision};
use crate::mx;

fn backend(precision: Precision) -> MlxBackend {
    let dir = tempfile::tempdir().unwrap();
    Fixture::read("llama_gqa").write(dir.path());
    MlxBackend::load(dir.path(), &LoadOptions { precision, ..LoadOptions::default() }, &mut |_| {}).unwrap()
}

fn samplings() -> [SamplingOptions; 3] {
    let base = SamplingOptions::default;
    let filtered = SamplingOptions { temperature: 0.8, top_k: 9, top_p: 0.9, min_p: 0.01, ..base() };
    let penalised = SamplingOptions {
        repetition_penalty: 1.2,
        presence_penalty: 0.3,
        frequency_penalty: 0.9,
        logit_bias: [(3, -1.0)].into(),
        n_logprobs: Some(2),
        ..filtered.clone()
    };
    [base(), filtered, penalised]
}

/// Operations of a decode step of `n_rows` sequences that have decoded together for some steps.
fn n_operations(precision: Precision, sampling: &SamplingOptions, n_rows: u64) -> usize {
    let mut backend = backend(precision);
    let sampling = Arc::new(sampling.clone());
    let prompts: Vec<Vec<TokenId>> = (0..n_rows).map(|id| prompt(&format!("counted {id}"), 5 + id as usize)).collect();
    for (id, prompt) in (0..).zip(&prompts) {
        let opening = Opening { sampling: Arc::clone(&sampling), prompt, output: &[], prefix: Prefix::default() };
        backend.open(SequenceId(id), &opening).unwrap();
    }
    let mut n_operations = 0;
    for at in 0..6 {
        let rows = (0..).zip(&prompts).map(|(id, prompt)| {
            let (start, input) = match at {
                0 => (0, RowInput::Tokens(prompt.clone())),
                _ => (prompt.len() + at - 1, RowInput::Pending),
            };
            row(SequenceId(id), start, input, RowOutput::sample(uniform(id, at)))
        });
        let n_before = mx::n_operations();
        backend.submit(&Step { rows: rows.collect() }).unwrap();
        n_operations = mx::n_operations() - n_before;
        if at > 0 {
            backend.collect().unwrap();
        }
    }
    n_operations
}

#[test]
fn a_step_of_many_rows_has_about_as_many_operations_as_one_of_two() {
    for precision in [Precision::Auto, Precision::Published] {
        for (kind, sampling) in samplings().iter().enumerate() {
            let [one, two, eight] = [1, 2, 8].map(|n_rows| n_operations(precision, sampling, n_rows));
            println!("{precision:?}, sampling {kind}: {one} operations for a row, {two} for two, {eight} for eight");
            // Penalties count each row's token by itself: what is counted outlives the rows beside it.
            let n_own = if sampling.has_penalties() { 2 * 6 } else { 0 };
            assert!(eight <= two + n_own, "{precision:?}, sampling {kind}: {eight} operations, {two} for two rows");
            assert!(4 * two <= 6 * one, "{precision:?}, sampling {kind}: {two} operations, {one} for one row");
        }
    }
}
