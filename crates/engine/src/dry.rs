//! DRY ("don't repeat yourself", by p-e-w): a token that would make a repetition longer is the less likely the longer the
//! repetition is already.

use crate::{Dry, TokenId};

/// Largest penalty: more than any logits differ by, and far from what an `f32` cannot hold.
const PENALTY_MAX: f32 = 1e4;

/// What is taken from the logits of the tokens that may follow `tokens`, each named once, with a minus.
///
/// A token that followed an earlier run equal to the run at the end is penalised by `multiplier * base ^ (n -
/// allowed_length)`, where `n` is the longest such run's length, if that is at least `allowed_length`. No run goes over a
/// breaker. Linear in the number of tokens.
pub(crate) fn penalties(options: &Dry, tokens: &[TokenId]) -> Vec<(TokenId, f32)> {
    let window = match options.last_n {
        Some(n) => &tokens[tokens.len().saturating_sub(n)..],
        None => tokens,
    };
    let is_breaker = |token: &TokenId| options.breakers.binary_search(token).is_ok();
    // No run that counts is longer than what follows the last breaker.
    let n_run_max = window.iter().rev().take_while(|token| !is_breaker(token)).count();
    if n_run_max < options.allowed_length.max(1) {
        return Vec::new();
    }
    let mut longest: Vec<(TokenId, usize)> = Vec::new();
    for (end, n_run) in runs(window) {
        let n_run = n_run.min(n_run_max);
        let next = window[end];
        if n_run >= options.allowed_length.max(1) && !is_breaker(&next) {
            longest.push((next, n_run));
        }
    }
    // Of each token the longest run comes first, and stays.
    longest.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
    longest.dedup_by_key(|(token, _)| *token);
    let penalty = |n_run: usize| {
        let power = options.base.powi((n_run - options.allowed_length).min(i32::MAX as usize) as i32);
        (options.multiplier * power).min(PENALTY_MAX)
    };
    longest.into_iter().map(|(token, n_run)| (token, -penalty(n_run))).collect()
}

/// For each place before the end, how many tokens before it equal those before the end: the Z-function (Gusfield 1997) of
/// the reversed tokens.
fn runs(tokens: &[TokenId]) -> impl Iterator<Item = (usize, usize)> {
    let n = tokens.len();
    let at = |idx: usize| tokens[n - 1 - idx];
    let mut lengths = vec![0; n];
    let (mut start, mut stop) = (0, 0);
    for idx in 1..n {
        let known = if idx < stop { lengths[idx - start].min(stop - idx) } else { 0 };
        let more = (known..n - idx).take_while(|len| at(*len) == at(idx + len)).count();
        lengths[idx] = known + more;
        if idx + lengths[idx] > stop {
            (start, stop) = (idx, idx + lengths[idx]);
        }
    }
    (1..n).map(move |idx| (n - idx, lengths[idx]))
}

#[cfg(test)]
#[path = "dry_tests.rs"]
mod tests;
