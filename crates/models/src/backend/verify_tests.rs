use std::collections::BTreeMap;
use std::sync::Arc;

use tokbar_engine::{
    Backend, Draw, Row, RowInput, RowOutput, SamplingOptions, SequenceId, Step, StepError, Terms, TokenBits, TokenId,
};

use super::super::MlxBackend;
use super::super::tests::{backend, lone_run, open, prompt, row, samplings, uniform};
use crate::fixtures::uniforms;

/// A sequence with the output that it has without drafts.
struct Drafted {
    id: SequenceId,
    prompt: Vec<TokenId>,
    /// The output when run alone.
    truth: Vec<TokenId>,
    output: Vec<TokenId>,
}

impl Drafted {
    fn new(backend: &mut MlxBackend, id: u64, sampling: &SamplingOptions, n: usize) -> Self {
        Self::of(backend, id, sampling, (prompt(&format!("drafted {id}"), 5 + 11 * id as usize % 40), n))
    }

    fn of(backend: &mut MlxBackend, id: u64, sampling: &SamplingOptions, (prompt, n): (Vec<TokenId>, usize)) -> Self {
        let truth = lone_run(backend, id, &prompt, sampling, n);
        let id = open(backend, id, &prompt, sampling);
        Self { id, prompt, truth, output: Vec::new() }
    }

    /// The next row: the prompt or the newest token, then up to `n_drafts` drafts of which the `n_right + 1`-th is wrong.
    fn row(&self, n_drafts: usize, n_right: usize) -> Row {
        let n_output = self.output.len();
        let n_drafts = n_drafts.min(self.truth.len() - 1 - n_output);
        let mut drafts = self.truth[n_output..n_output + n_drafts].to_vec();
        if let Some(wrong) = drafts.get_mut(n_right) {
            *wrong = (*wrong + 1) % 67;
        }
        let (start, mut tokens) = match self.output.last() {
            Some(last) => (self.prompt.len() + n_output - 1, vec![*last]),
            None => (0, self.prompt.clone()),
        };
        tokens.extend(drafts);
        let draws = (n_output..=n_output + n_drafts).map(|n| Draw::free(uniform(self.id.0, n))).collect();
        row(self.id, start, RowInput::Tokens(tokens), RowOutput::Sample { draws })
    }
}

/// Runs the sequences of all samplings together with drafts, right and wrong in turn.
fn check(name: &str, n: usize) {
    let mut backend = backend(name);
    let mut drafted: Vec<_> =
        samplings().iter().enumerate().map(|(id, it)| Drafted::new(&mut backend, id as u64, it, n)).collect();
    let mut numbers = uniforms(&format!("drafts {name}"));
    let mut below = |n: usize| (numbers.next().unwrap() * n as f32) as usize;
    while drafted.iter().any(|sequence| sequence.output.len() < n) {
        let planned: Vec<_> = drafted
            .iter()
            .filter(|sequence| sequence.output.len() < n)
            .map(|sequence| (sequence, [below(4), below(7), below(8)]))
            .filter(|(_, [chance, ..])| *chance > 0)
            .map(|(sequence, [_, n_drafts, n_right])| (sequence.row(n_drafts, n_right), n_right))
            .collect();
        if planned.is_empty() {
            continue;
        }
        backend.submit(&Step { rows: planned.iter().map(|(row, _)| row.clone()).collect() }).unwrap();
        for (result, (row, n_right)) in backend.collect().unwrap().rows.into_iter().zip(planned) {
            let sequence = &mut drafted[row.sequence.0 as usize];
            let n_accepted = n_right.min(row.output.draws().len() - 1);
            assert_eq!(result.tokens.len(), n_accepted + 1, "{name}: {row:?}");
            sequence.output.extend(result.tokens.iter().map(|score| score.token));
            let n_output = sequence.output.len();
            assert_eq!(sequence.output, sequence.truth[..n_output], "{name}: sequence {}", row.sequence.0);
        }
    }
}

#[test]
fn output_is_the_same_with_drafts_right_and_wrong() {
    for name in ["llama_gqa", "qwen2", "qwen3"] {
        check(name, 40);
    }
}

#[test]
fn rotating_caches_take_rejected_drafts_back() {
    // Long enough for the window's buffer to be moved, also within a row with drafts.
    check("mistral_window", 300);
    check("gemma3_text_rotating", 60);
}

#[test]
fn recurrent_state_takes_rejected_drafts_back() {
    let families =
        ["bailing_hybrid", "falcon_h1", "jamba", "kimi_linear", "lfm2", "nemotron_h", "qwen3_next", "qwen3_5"];
    for name in families.into_iter().chain(["deepseek_v4", "qwen3_5_moe_affine4_g32"]) {
        check(name, 40);
    }
}

#[test]
fn a_run_that_is_cut_between_passes_is_verified_whole() {
    ["deepseek_v4", "mistral_window", "qwen3_next"].into_iter().for_each(cut_between_passes);
}

fn cut_between_passes(name: &str) {
    let mut backend = backend(name);
    let sampling = SamplingOptions { frequency_penalty: 0.5, ..SamplingOptions::default() };
    let mut drafted = Drafted::of(&mut backend, 1, &sampling, (prompt("cut", 510), 12));
    while drafted.output.len() < 12 {
        backend.submit(&Step { rows: vec![drafted.row(5, 4)] }).unwrap();
        let tokens = backend.collect().unwrap().rows.remove(0).tokens;
        drafted.output.extend(tokens.iter().map(|score| score.token));
    }
    assert_eq!(drafted.output, drafted.truth);
}

#[test]
fn scores_of_a_verified_run_are_those_of_single_steps() {
    let mut backend = backend("qwen3");
    let sampling = SamplingOptions { n_logprobs: Some(3), ..SamplingOptions::default() };
    let drafted = Drafted::new(&mut backend, 1, &sampling, 6);
    backend.submit(&Step { rows: vec![drafted.row(5, 9)] }).unwrap();
    let verified = backend.collect().unwrap().rows.remove(0).tokens;
    let plain = open(&mut backend, 2, &drafted.prompt, &sampling);
    let (mut start, mut input) = (0, drafted.prompt.clone());
    assert_eq!(verified.len(), 6);
    for score in verified {
        let output = RowOutput::sample(0.0);
        backend.submit(&Step { rows: vec![row(plain, start, RowInput::Tokens(input.clone()), output)] }).unwrap();
        let single = backend.collect().unwrap().rows.remove(0).tokens.remove(0);
        assert_eq!((single.token, single.top.len()), (score.token, score.top.len()));
        assert!((single.logprob - score.logprob).abs() < 1e-4, "{single:?} {score:?}");
        start += input.len();
        input = vec![single.token];
    }
}

fn only(tokens: &[TokenId]) -> Terms {
    let mut words = vec![0; 3];
    tokens.iter().for_each(|token| words[*token as usize / 32] |= 1 << (token % 32));
    Terms { mask: Some(Arc::new(TokenBits { words })), bias: Vec::new() }
}

#[test]
fn each_position_of_a_run_obeys_its_own_mask() {
    for sampling in samplings() {
        let mut backend = backend("llama_gqa");
        let id = open(&mut backend, 1, &[1, 2, 3], &sampling);
        let masks = [only(&[11]), only(&[40]), only(&[66]), only(&[5, 6])];
        let draws: Vec<_> = masks.into_iter().map(|terms| Draw::on(0.7, terms)).collect();
        let input = RowInput::Tokens(vec![1, 2, 3, 11, 40, 9]);
        backend.submit(&Step { rows: vec![row(id, 0, input, RowOutput::Sample { draws })] }).unwrap();
        let tokens: Vec<_> = backend.collect().unwrap().rows[0].tokens.iter().map(|score| score.token).collect();
        assert_eq!(tokens, [11, 40, 66], "the third draft was not allowed");
        let draws = vec![Draw::on(0.7, only(&[5, 6]))];
        let step = Step { rows: vec![row(id, 5, RowInput::Tokens(vec![66]), RowOutput::Sample { draws })] };
        backend.submit(&step).unwrap();
        let token = backend.collect().unwrap().rows[0].tokens[0].token;
        assert!([5, 6].contains(&token), "{token}");
    }
}

#[test]
fn rows_with_drafts_that_do_not_fit_are_refused() {
    let mut backend = backend("llama");
    let id = open(&mut backend, 1, &[1], &SamplingOptions::default());
    let draws = |n: usize| vec![Draw::free(0.0); n];
    let cases = [
        (RowInput::Tokens(vec![1, 2]), draws(3), "has 3 draws for 2 positions"),
        (RowInput::Tokens(vec![1]), draws(0), "has 0 draws for 1 positions"),
        (RowInput::Tokens(vec![1; 40]), draws(34), "has 33 drafts, more than the 32 of the model"),
        (
            RowInput::Tokens(vec![1]),
            vec![Draw::on(0.0, Terms { mask: Some(Arc::new(TokenBits { words: vec![0; 2] })), bias: Vec::new() })],
            "has a mask of 2 words for 67 tokens",
        ),
    ];
    for (input, draws, expected) in cases {
        match backend.submit(&Step { rows: vec![row(id, 0, input, RowOutput::Sample { draws })] }) {
            Err(StepError::Mismatch { detail }) => assert!(detail.contains(expected), "{detail}"),
            other => panic!("{expected}: {other:?}"),
        }
    }
    let output = RowOutput::Sample { draws: draws(2) };
    backend.submit(&Step { rows: vec![row(id, 0, RowInput::Tokens(vec![1, 2]), output)] }).unwrap();
    let next = row(id, 2, RowInput::Pending, RowOutput::sample(0.0));
    assert!(backend.submit(&Step { rows: vec![next] }).is_err(), "no token can hang on a draft's fate");
}

/// Tokens drawn against what the scores say, over all tokens that are expected at least five times.
fn chi_square(drawn: &[TokenId], probabilities: &BTreeMap<TokenId, f32>) -> (f64, f64) {
    let n = drawn.len() as f64;
    let (mut sum, mut n_cells, mut rest) = (0.0, 0.0, (0.0, n));
    for (token, probability) in probabilities {
        let expected = f64::from(*probability) * n;
        if expected < 5.0 {
            rest.0 += expected;
            continue;
        }
        let n_drawn = drawn.iter().filter(|other| *other == token).count() as f64;
        rest.1 -= n_drawn;
        sum += (n_drawn - expected).powi(2) / expected;
        n_cells += 1.0;
    }
    if rest.0 >= 5.0 {
        sum += (rest.1 - rest.0).powi(2) / rest.0;
        n_cells += 1.0;
    }
    // Wilson and Hilferty 1931: the 99.9th percentile for n_cells - 1 degrees of freedom.
    let degrees = n_cells - 1.0_f64;
    let spread = 2.0 / (9.0 * degrees);
    (sum, degrees * (1.0 - spread + 3.09 * spread.sqrt()).powi(3))
}

/// Low enough for some tokens to be likely.
const TEMPERATURE: f32 = 0.2;

/// What the model says of each token after `prompt`.
fn probabilities(backend: &mut MlxBackend, prompt: &[TokenId]) -> BTreeMap<TokenId, f32> {
    let all = SamplingOptions { n_logprobs: Some(67), ..SamplingOptions::default() };
    let id = open(backend, 9000, prompt, &all);
    let input = RowInput::Tokens(prompt.to_vec());
    backend.submit(&Step { rows: vec![row(id, 0, input, RowOutput::sample(0.0))] }).unwrap();
    let top = backend.collect().unwrap().rows.remove(0).tokens.remove(0).top;
    backend.close(id);
    let weights = top.into_iter().map(|(token, logprob)| (token, (logprob / TEMPERATURE).exp()));
    let weights: BTreeMap<_, _> = weights.collect();
    let total: f32 = weights.values().sum();
    weights.into_iter().map(|(token, weight)| (token, weight / total)).collect()
}

#[test]
fn sampled_tokens_are_distributed_as_the_model_says_with_drafts() {
    let mut backend = backend("llama_gqa");
    let prompt = prompt("distribution", 4);
    let first = probabilities(&mut backend, &prompt);
    // A likely draft, so that the second place is reached often.
    let draft = *first.iter().max_by(|a, b| a.1.total_cmp(b.1)).unwrap().0;
    let second = probabilities(&mut backend, &[&prompt[..], &[draft]].concat());
    let warm = SamplingOptions { temperature: TEMPERATURE, ..SamplingOptions::default() };
    let mut numbers = uniforms("distribution draws");
    let (mut drawn_first, mut drawn_second) = (Vec::new(), Vec::new());
    for _ in 0..40 {
        let rows = (0..60).map(|id| {
            let id = open(&mut backend, id, &prompt, &warm);
            let input = RowInput::Tokens([&prompt[..], &[draft]].concat());
            let draws = [numbers.next().unwrap(), numbers.next().unwrap()].map(Draw::free).to_vec();
            row(id, 0, input, RowOutput::Sample { draws })
        });
        let step = Step { rows: rows.collect() };
        backend.submit(&step).unwrap();
        for result in backend.collect().unwrap().rows {
            drawn_first.push(result.tokens[0].token);
            drawn_second.extend(result.tokens.get(1).map(|score| score.token));
            backend.close(result.sequence);
        }
    }
    for (drawn, expected) in [(&drawn_first, &first), (&drawn_second, &second)] {
        let (sum, bound) = chi_square(drawn, expected);
        println!("chi-square {sum:.1} of {} tokens, below {bound:.1} in 999 of 1000 cases", drawn.len());
        assert!(sum < bound, "{sum} over {bound}: {} tokens", drawn.len());
    }
    // The test can tell: the second place is no copy of the first.
    let (sum, bound) = chi_square(&drawn_first, &second);
    assert!(sum > bound, "{sum} under {bound}");
}
