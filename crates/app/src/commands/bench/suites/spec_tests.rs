use std::time::Instant;

use super::*;

#[test]
fn tasks_hold_enough_to_fill_the_answer() {
    for n_output in [2, 128, 1000] {
        let mut draw = Draw::new(1, &[n_output as u64]);
        // A word is a token at least, and so is a bracket.
        let file = code(&mut draw, n_output);
        let n_words = file.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).count();
        assert!(n_words + file.matches(['(', ')', ',', ':', '+']).count() > n_output, "{n_output}");
        let lines = records(&mut draw, n_output);
        assert!(lines.lines().filter(|line| line.matches(", ").count() == 3).count() * N_LINE_TOKENS > n_output);
    }
}

#[test]
fn acceptance_is_told_only_where_something_was_drafted() {
    let mut answer = Answer::new(Instant::now());
    for (n_accepted, n_rejected, expected) in
        [(None, None, None), (Some(0), Some(0), None), (Some(3), Some(1), Some(0.75)), (Some(3), None, None)]
    {
        (answer.usage.n_accepted, answer.usage.n_rejected) = (n_accepted, n_rejected);
        assert_eq!(accepted(&answer), expected);
    }
}

#[test]
fn each_draft_that_is_right_spares_a_step() {
    let mut answer = Answer::new(Instant::now());
    for (n_output, n_accepted, expected) in [
        (Some(128), Some(96), Some(4.0)),
        (Some(128), Some(0), Some(1.0)),
        (Some(128), None, None),
        (None, Some(3), None),
        (Some(2), Some(2), None),
        (Some(1), Some(2), None),
    ] {
        (answer.usage.n_output, answer.usage.n_accepted) = (n_output, n_accepted);
        assert_eq!(per_step(&answer), expected);
    }
}
