//! How many drafts to verify, of which sequence. Pure.

use super::cost::Costs;
use crate::draft::Source;

/// Gain below which a round stays plain: estimates waver.
const GAIN_MIN: f64 = 1.05;

/// What there is to choose from.
#[derive(Debug)]
pub(crate) struct Market<'a> {
    pub costs: &'a Costs,
    /// Sequences of the round, with and without offers.
    pub n_rows: usize,
    /// Whether any offer needs the backend's drafter.
    pub source: Source,
    /// For each sequence that offers drafts, per place: how likely all drafts up to it are right.
    pub offers: &'a [Vec<f64>],
    /// Most drafts in all.
    pub n_max: usize,
}

/// What a round with drafts promises.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Choice {
    /// Drafts of each sequence, in the order of the offers.
    pub n_drafts: Vec<usize>,
    /// Tokens per second over those of plain rounds.
    pub gain: f64,
}

/// The most profitable numbers of drafts; `None` when plain rounds are faster.
pub(crate) fn choose(market: &Market<'_>) -> Option<Choice> {
    let Market { costs, n_rows, source, offers, n_max } = *market;
    let mut n_drafts = vec![0; offers.len()];
    let mut best = Choice { n_drafts: n_drafts.clone(), gain: 1.0 };
    let mut n_tokens = n_rows as f64;
    for n_taken in 1..=n_max {
        // Survival falls with the place, so the likeliest next places overall are the best set of any size.
        let next = offers.iter().zip(&n_drafts).map(|(offer, n)| offer.get(*n).copied().unwrap_or(0.0));
        let Some((idx, alive)) = next.enumerate().max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, alive)| *alive > 0.0)
        else {
            break;
        };
        n_drafts[idx] += 1;
        n_tokens += alive;
        let gain = n_tokens / n_rows as f64 / costs.ratio(source, n_rows, n_taken);
        if gain > best.gain {
            best = Choice { n_drafts: n_drafts.clone(), gain };
        }
    }
    (best.gain >= GAIN_MIN).then_some(best)
}

#[cfg(test)]
#[path = "choice_tests.rs"]
mod tests;
