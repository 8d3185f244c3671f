use std::collections::BTreeMap;

use super::{N_LOGPROBS_MAX, SamplingOptions};

fn check(options: SamplingOptions, expected: Result<(), &str>) {
    let message = options.validate(10).map_err(|error| error.to_string());
    assert_eq!(message, expected.map_err(str::to_owned));
}

#[test]
fn options_in_range_are_taken() {
    let base = SamplingOptions::default;
    check(base(), Ok(()));
    check(SamplingOptions { temperature: 2.0, top_k: usize::MAX, top_p: 0.0, min_p: 1.0, ..base() }, Ok(()));
    check(SamplingOptions { logit_bias: BTreeMap::from([(9, -100.0)]), ..base() }, Ok(()));
    check(SamplingOptions { n_logprobs: Some(N_LOGPROBS_MAX), ..base() }, Ok(()));
}

#[test]
fn options_out_of_range_are_named_with_their_range() {
    let base = SamplingOptions::default;
    check(SamplingOptions { temperature: -1.0, ..base() }, Err("temperature is -1, but must be between 0 and 100"));
    check(SamplingOptions { top_p: 1.5, ..base() }, Err("top_p is 1.5, but must be between 0 and 1"));
    check(SamplingOptions { xtc_probability: 2.0, ..base() }, Err("xtc_probability is 2, but must be between 0 and 1"));
    check(SamplingOptions { min_p: f32::NAN, ..base() }, Err("min_p is NaN, but must be between 0 and 1"));
    check(
        SamplingOptions { repetition_penalty: 0.0, ..base() },
        Err("repetition_penalty is 0, but must be between 0.01 and 100"),
    );
    check(
        SamplingOptions { logit_bias: BTreeMap::from([(10, 1.0)]), ..base() },
        Err("logit_bias of token 10 is 1; tokens run from 0 to 10, exclusive, and biases must be finite"),
    );
    check(
        SamplingOptions { logit_bias: BTreeMap::from([(1, f32::INFINITY)]), ..base() },
        Err("logit_bias of token 1 is inf; tokens run from 0 to 10, exclusive, and biases must be finite"),
    );
    check(
        SamplingOptions { n_logprobs: Some(N_LOGPROBS_MAX + 1), ..base() },
        Err("129 log-probabilities per token were asked for, but at most 128 are reported"),
    );
}

#[test]
fn penalties_are_off_by_default_and_noticed_when_on() {
    let base = SamplingOptions::default;
    let on = [
        SamplingOptions { repetition_penalty: 1.1, ..base() },
        SamplingOptions { presence_penalty: 0.1, ..base() },
        SamplingOptions { frequency_penalty: -0.1, ..base() },
    ];
    assert!(!base().has_penalties());
    assert!(on.iter().all(SamplingOptions::has_penalties));
}
