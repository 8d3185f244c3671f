use super::Sequence;
use crate::draw::uniform;
use crate::{Draw, ModelInfo, Request, RowInput, RowOutput, SamplingOptions, SequenceId};

fn sequence(prompt: &[u32], max_tokens: usize, score_prompt: bool) -> Sequence {
    let info = ModelInfo {
        n_vocab: 100,
        n_context: 50,
        eos: vec![0],
        kv_bytes_per_token: 1,
        weight_bytes: 0,
        ..ModelInfo::default()
    };
    let sampling = SamplingOptions { seed: 9, ..SamplingOptions::default() };
    let prompt = prompt.to_vec();
    let request = Request { prompt, sampling, max_tokens, stop_tokens: vec![], score_prompt, ..Request::default() };
    Sequence::new(SequenceId(1), request, &info)
}

/// Plans chunks of the given sizes and compares what they ask for.
fn check(sequence: &mut Sequence, chunks: &[(usize, RowInput, RowOutput)]) {
    for (n_tokens, input, output) in chunks {
        let start = sequence.n_computed;
        let (row, _) = sequence.plan_row(*n_tokens);
        assert_eq!((row.start, &row.input, &row.output), (start, input, output));
    }
}

#[test]
fn the_last_chunk_samples_and_then_the_token_is_pending() {
    let mut sequence = sequence(&[1, 2, 3], 5, false);
    check(
        &mut sequence,
        &[
            (2, RowInput::Tokens(vec![1, 2]), RowOutput::None),
            (1, RowInput::Tokens(vec![3]), RowOutput::sample(uniform(9, 3))),
            (1, RowInput::Pending, RowOutput::sample(uniform(9, 4))),
        ],
    );
}

#[test]
fn scores_name_the_token_after_each_position_of_the_prompt() {
    let score = |targets: &[u32], uniform: Option<f32>| RowOutput::Score {
        targets: targets.to_vec(),
        draw: uniform.map(Draw::free),
    };
    let mut generates = sequence(&[1, 2, 3], 5, true);
    check(
        &mut generates,
        &[
            (1, RowInput::Tokens(vec![1]), score(&[2], None)),
            (2, RowInput::Tokens(vec![2, 3]), score(&[3], Some(uniform(9, 3)))),
            (1, RowInput::Pending, RowOutput::sample(uniform(9, 4))),
        ],
    );
    let mut scores_only = sequence(&[1, 2, 3], 0, true);
    check(&mut scores_only, &[(3, RowInput::Tokens(vec![1, 2, 3]), score(&[2, 3], None))]);
    assert_eq!(scores_only.gap(), 0);
}

#[test]
fn a_retracted_row_is_planned_again_alike() {
    let mut sequence = sequence(&[1, 2, 3], 5, false);
    let (row, planned) = sequence.plan_row(3);
    sequence.retract_row(&planned);
    assert_eq!(sequence.gap(), 3);
    assert_eq!(sequence.plan_row(3).0, row);
}

#[test]
fn the_limit_is_the_nearer_of_context_and_max_tokens() {
    let n_positions = |n_prompt, max_tokens| sequence(&vec![1; n_prompt], max_tokens, false).n_positions_max();
    let cases = [(3, 5, 7), (3, 1, 3), (3, 0, 3), (3, usize::MAX, 49), (50, 0, 50)];
    for (n_prompt, max_tokens, expected) in cases {
        assert_eq!(n_positions(n_prompt, max_tokens), expected, "prompt {n_prompt}, max {max_tokens}");
    }
}
