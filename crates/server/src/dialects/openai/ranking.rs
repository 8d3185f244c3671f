//! `best_of`: which of several choices are reported.

use super::wire::TextChoice;
use crate::generation::ScoredToken;

/// Mean log-probability per token of each choice.
#[derive(Debug)]
pub struct Ranks {
    /// Sum and count.
    sums: Vec<(f64, usize)>,
}

impl Ranks {
    /// For so many choices.
    pub fn new(n_choices: usize) -> Self {
        Self { sums: vec![(0.0, 0); n_choices] }
    }

    /// Counts more tokens of a choice.
    pub fn add(&mut self, choice_idx: usize, scores: &[ScoredToken]) {
        let (sum, n) = &mut self.sums[choice_idx];
        *sum += scores.iter().map(|scored| f64::from(scored.score.logprob)).sum::<f64>();
        *n += scores.len();
    }

    /// The likeliest `n_reported` of each run of `n_choices`, numbered anew; all in their order where none is left out.
    pub fn best(&self, choices: Vec<TextChoice>, n_choices: usize, n_reported: usize) -> Vec<TextChoice> {
        if n_reported == n_choices {
            return choices;
        }
        let mut choices = choices;
        choices.sort_by(|a, b| {
            let by_prompt = (a.index / n_choices).cmp(&(b.index / n_choices));
            by_prompt.then(self.mean(b.index).total_cmp(&self.mean(a.index)))
        });
        let kept = choices.into_iter().enumerate().filter(|(place, _)| place % n_choices < n_reported);
        kept.enumerate().map(|(index, (_, choice))| TextChoice { index, ..choice }).collect()
    }

    /// A choice without tokens ranks last.
    fn mean(&self, choice_idx: usize) -> f64 {
        let (sum, n) = self.sums[choice_idx];
        if n == 0 { f64::NEG_INFINITY } else { sum / n as f64 }
    }
}
