use tokbar_engine::{
    Backend, DraftAsk, Draw, RowInput, RowOutput, SamplingOptions, SequenceId, Step, StepError, TokenId,
};

use super::super::MlxBackend;
use super::super::tests::{backend, lone_run, open, prompt, row, samplings, uniform};
use crate::LoadError;
use crate::fixtures::Fixture;
use crate::load::LoadOptions;

/// A backend that another fixture drafts for.
fn drafted_by(name: &str, draft_name: &str) -> Result<MlxBackend, LoadError> {
    let mut backend = backend(name);
    let dir = tempfile::tempdir().unwrap();
    Fixture::read(draft_name).write(dir.path());
    backend.load_draft_model(dir.path(), 4, &LoadOptions::default(), &mut |_| {})?;
    Ok(backend)
}

/// Runs a sequence of `n` tokens on drafts of its drafter; also how many drafts were made and were right.
fn run(backend: &mut MlxBackend, id: u64, sampling: &SamplingOptions, n: usize) -> (Vec<TokenId>, usize, usize) {
    let prompt = prompt(&format!("drafter {id}"), 30);
    let sequence = open(backend, id, &prompt, sampling);
    let mut tokens = prompt.clone();
    let (mut n_drafted, mut n_accepted, mut n_computed) = (0, 0, 0);
    while tokens.len() < prompt.len() + n {
        let n_output = tokens.len() - prompt.len();
        let n_drafts = 4.min(n - n_output - 1);
        let uniforms = (n_output..n_output + n_drafts).map(|at| uniform(id, at)).collect();
        let ask = DraftAsk { sequence, tokens: &tokens, uniforms };
        let drafts = backend.draft(&[ask]).unwrap().remove(0);
        // A head has nothing to go on from before the network has computed something.
        let n_drafts = if backend.drafter.is_none() && n_computed == 0 { 0 } else { n_drafts };
        assert_eq!(drafts.len(), n_drafts);
        let input = [&tokens[n_computed..], &drafts].concat();
        let draws = (n_output..=n_output + n_drafts).map(|at| Draw::free(uniform(id, at))).collect();
        let step = Step { rows: vec![row(sequence, n_computed, RowInput::Tokens(input), RowOutput::Sample { draws })] };
        backend.submit(&step).unwrap();
        let result = backend.collect().unwrap().rows.remove(0).tokens;
        n_computed = tokens.len() + result.len() - 1;
        tokens.extend(result.iter().map(|score| score.token));
        n_drafted += n_drafts;
        n_accepted += result.len() - 1;
    }
    backend.close(sequence);
    (tokens[prompt.len()..].to_vec(), n_drafted, n_accepted)
}

#[test]
fn a_model_that_drafts_for_itself_is_always_right() {
    ["llama_gqa", "qwen3_5"].into_iter().for_each(drafts_for_itself);
}

fn drafts_for_itself(name: &str) {
    let mut backend = drafted_by(name, name).unwrap();
    for (id, sampling) in samplings().iter().enumerate().filter(|(_, sampling)| !sampling.has_penalties()) {
        let id = id as u64;
        let plain = lone_run(&mut backend, id, &prompt(&format!("drafter {id}"), 30), sampling, 25);
        let (drafted, n_drafted, n_accepted) = run(&mut backend, id, sampling, 25);
        assert_eq!((drafted, n_accepted), (plain, n_drafted), "{sampling:?}");
    }
}

#[test]
fn output_is_the_same_whatever_is_drafted() {
    let mut backend = drafted_by("llama_gqa", "qwen2").unwrap();
    for (id, sampling) in samplings().iter().enumerate() {
        let id = id as u64;
        let plain = lone_run(&mut backend, id, &prompt(&format!("drafter {id}"), 30), sampling, 25);
        let (drafted, n_drafted, n_accepted) = run(&mut backend, id, sampling, 25);
        assert_eq!(drafted, plain, "{sampling:?}");
        assert!(n_accepted < n_drafted, "two models of chance hardly agree");
    }
    assert!(backend.sequences.is_empty());
}

#[test]
fn a_head_of_the_model_drafts_without_changing_the_output() {
    for name in ["deepseek_v4", "qwen3_next", "qwen3_5", "qwen3_5_moe"] {
        let mut backend = backend(name);
        assert_eq!(backend.info().n_drafter_tokens, 4, "{name}");
        for (id, sampling) in samplings().iter().enumerate() {
            let id = id as u64;
            let plain = lone_run(&mut backend, id, &prompt(&format!("drafter {id}"), 30), sampling, 40);
            let (drafted, n_drafted, n_accepted) = run(&mut backend, id, sampling, 40);
            assert_eq!(drafted, plain, "{name}: {sampling:?}");
            assert!(n_accepted < n_drafted, "a head of chance is hardly always right");
        }
        assert!(backend.sequences.is_empty());
    }
    // MLX conversions have no head.
    assert_eq!(backend("qwen3_next_converted").info().n_drafter_tokens, 0);
}

#[test]
fn drafts_need_an_open_sequence_and_a_drafter() {
    let ask = || DraftAsk { sequence: SequenceId(1), tokens: &[1, 2], uniforms: vec![0.0; 3] };
    let mut plain = backend("llama");
    assert_eq!(plain.info().n_drafter_tokens, 0);
    assert_eq!(plain.draft(&[ask()]).unwrap(), [Vec::<TokenId>::new()]);
    let mut drafted = drafted_by("llama", "llama").unwrap();
    assert_eq!(drafted.info().n_drafter_tokens, 4);
    assert!(drafted.info().kv_bytes_per_token == 2 * plain.info().kv_bytes_per_token);
    assert!(drafted.info().weight_bytes == 2 * plain.info().weight_bytes);
    assert!(matches!(drafted.draft(&[ask()]), Err(StepError::Mismatch { .. })));
    open(&mut drafted, 1, &[1, 2], &SamplingOptions::default());
    assert_eq!(drafted.draft(&[ask()]).unwrap()[0].len(), 3);
}

#[test]
fn a_model_with_another_vocabulary_is_refused_by_name() {
    let mut backend = backend("llama");
    let dir = tempfile::tempdir().unwrap();
    let mut other = Fixture::read("llama_gqa");
    other.config["vocab_size"] = 99.into();
    let n_hidden = other.config["hidden_size"].as_i64().unwrap() as i32;
    for tensor in other.tensors.iter_mut().filter(|tensor| tensor.shape == [67, n_hidden]) {
        tensor.shape[0] = 99;
    }
    other.write(dir.path());
    let refused = backend.load_draft_model(dir.path(), 4, &LoadOptions::default(), &mut |_| {}).unwrap_err();
    let text = refused.to_string();
    assert!(text.contains("vocabulary of 99 tokens is not the model's of 67"), "{text}");
    assert!(text.contains(&dir.path().display().to_string()), "{text}");
    assert_eq!(backend.info().n_drafter_tokens, 0);
}
