//! Whether the next round verifies drafts, and how many of which sequence, so that decoding is never slower than without.
//!
//! Plain rounds are pipelined: the next one is submitted before the last one's tokens are known. A round with drafts needs
//! those tokens, so it waits, computes more positions, and must earn both. What rounds cost and how often drafts are right
//! is measured; what trying may lose is bounded. Pure values: durations come in as arguments.

mod acceptance;
mod allowance;
mod choice;
mod cost;
mod drafting;

use std::collections::VecDeque;
use std::time::Duration;

pub(crate) use acceptance::ModelAcceptance;
use allowance::Allowance;
use choice::{Market, choose};
use cost::Costs;
pub(crate) use drafting::{Drafting, Offer};

use crate::draft::Source;

/// Which drafts may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Speculation {
    /// All that pay.
    #[default]
    Auto,
    /// None.
    Off,
    /// Those found in prompt and output.
    Lookup,
    /// Those of the draft model.
    Model,
}

/// Counts of drafts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DraftCounts {
    /// Rows that carried drafts.
    pub n_verified: u64,
    /// Drafts that were verified.
    pub n_drafted: u64,
    /// Drafts that were right.
    pub n_accepted: u64,
}

impl DraftCounts {
    /// Drafts that were right, of all verified; 0 before the first.
    pub fn acceptance_rate(&self) -> f64 {
        ratio(self.n_accepted, self.n_drafted)
    }

    /// Tokens that a row with drafts gave on average: the drafts that were right and the one after them; 0 before the first.
    pub fn mean_accepted_length(&self) -> f64 {
        ratio(self.n_accepted + self.n_verified, self.n_verified)
    }
}

#[cfg(test)]
fn chosen_by_chance(seed: &mut u64, offers: &[Offer], mut n_max: usize) -> Option<Vec<usize>> {
    let mut pick = |offer: &Offer| {
        *seed = crate::draw::splitmix64(*seed);
        let n = (*seed as usize % (offer.survival.len() + 1)).min(n_max);
        n_max -= n;
        n
    };
    let n_drafts: Vec<_> = offers.iter().map(&mut pick).collect();
    n_drafts.iter().any(|n| *n > 0).then_some(n_drafts)
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// A planned round, as far as its cost goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Round {
    /// Rows that decode.
    pub n_rows: usize,
    /// Drafts in all.
    pub n_drafts: usize,
    /// Where drafts came from; the backend, if any did.
    pub source: Source,
    pub work: Work,
    /// Whether the device was busy with another round when this one was submitted.
    pub is_overlapped: bool,
}

/// What a round did besides decoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// Nothing.
    Decode,
    /// The backend's drafter had to catch up with its sequences.
    CatchUp,
    /// Rows were prefilled, so that its time says nothing about decoding.
    Prefill,
}

/// Measures rounds and chooses.
#[derive(Debug)]
pub(crate) struct Speculator {
    mode: Speculation,
    model: ModelAcceptance,
    costs: Costs,
    allowance: Allowance,
    in_flight: VecDeque<Round>,
    /// The round collected last, with the tokens that it gave, until its time is known.
    arrived: Option<(Round, usize)>,
    /// What came before the round that is collected next.
    before: Before,
    counts: DraftCounts,
    /// Chooses by chance from here on, to try what there is.
    #[cfg(test)]
    chance: Option<u64>,
}

/// What a round followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Before {
    /// Nothing that says how long a round takes.
    #[default]
    Other,
    /// A plain round.
    Plain,
    /// A round with drafts, or a wait for tokens to draft from.
    Speculation,
}

impl Speculator {
    pub(crate) fn new(mode: Speculation) -> Self {
        Self {
            mode,
            model: ModelAcceptance::default(),
            costs: Costs::default(),
            allowance: Allowance::default(),
            in_flight: VecDeque::new(),
            arrived: None,
            before: Before::default(),
            counts: DraftCounts::default(),
            #[cfg(test)]
            chance: None,
        }
    }

    /// Chooses by chance, for tests.
    #[cfg(test)]
    pub(crate) fn by_chance(&mut self, seed: u64) {
        self.chance = Some(seed);
    }

    /// Whether drafts of `source` may be used.
    pub(crate) fn uses(&self, source: Source) -> bool {
        match self.mode {
            Speculation::Auto => true,
            Speculation::Off => false,
            Speculation::Lookup => source == Source::Lookup,
            Speculation::Model => source == Source::Backend,
        }
    }

    pub(crate) fn model(&mut self) -> &mut ModelAcceptance {
        &mut self.model
    }

    pub(crate) fn counts(&self) -> DraftCounts {
        self.counts
    }

    /// How many drafts of each offer to verify in a round of `n_rows` decoding sequences, at most `n_max` in all; `None`
    /// when a plain round is the better choice.
    pub(crate) fn choose(&mut self, n_rows: usize, offers: &[Offer], n_max: usize) -> Option<Vec<usize>> {
        #[cfg(test)]
        if let Some(seed) = &mut self.chance {
            return chosen_by_chance(seed, offers, n_max);
        }
        let plain_s = self.costs.plain_s(n_rows)?;
        if offers.is_empty() || !self.allowance.is_open(plain_s) {
            return None;
        }
        let is_free = offers.iter().all(|offer| offer.source == Source::Lookup);
        let source = if is_free { Source::Lookup } else { Source::Backend };
        let survivals: Vec<_> = offers.iter().map(|offer| offer.survival.clone()).collect();
        let market = Market { costs: &self.costs, n_rows, source, offers: &survivals, n_max };
        choose(&market).map(|choice| choice.n_drafts)
    }

    /// The next round is held back until the tokens in flight are known.
    pub(crate) fn waits(&mut self) {
        self.before = Before::Speculation;
    }

    /// A round was planned.
    pub(crate) fn planned(&mut self, round: Round) {
        self.in_flight.push_back(round);
    }

    /// The newest planned round was never submitted.
    pub(crate) fn retracted(&mut self) {
        self.in_flight.pop_back();
    }

    /// The oldest round in flight failed.
    pub(crate) fn failed(&mut self) {
        self.in_flight.pop_front();
        self.before = Before::Other;
    }

    /// The oldest round in flight gave `n_tokens` tokens to the rows that decode.
    pub(crate) fn collected(&mut self, n_tokens: usize) {
        self.arrived = self.in_flight.pop_front().map(|round| (round, n_tokens));
    }

    /// The round collected last came `took` after the one before it.
    pub(crate) fn took(&mut self, took: Duration) {
        let Some((round, n_tokens)) = self.arrived.take() else { return };
        let before = std::mem::take(&mut self.before);
        let (took_s, Round { n_rows, n_drafts, source, .. }) = (took.as_secs_f64(), round);
        if round.work == Work::Prefill || n_rows == 0 {
            return;
        }
        self.before = if n_drafts > 0 { Before::Speculation } else { Before::Plain };
        let Some(plain_s) = self.costs.plain_s(n_rows) else {
            if n_drafts == 0 && (round.is_overlapped || before == Before::Plain) {
                self.costs.plain_round(n_rows, took_s);
            }
            return;
        };
        match (n_drafts, before) {
            (0, Before::Speculation) if !round.is_overlapped => self.allowance.settle(took_s, plain_s, plain_s),
            (0, _) => {
                if round.is_overlapped || before == Before::Plain {
                    self.costs.plain_round(n_rows, took_s);
                }
                self.allowance.settle(took_s, took_s, plain_s);
            }
            _ => {
                if round.work == Work::Decode {
                    self.costs.drafted_round(source, n_rows, n_drafts, took_s);
                }
                self.allowance.settle(took_s, plain_s * n_tokens as f64 / n_rows as f64, plain_s);
            }
        }
    }

    /// A row with `n_drafts` drafts was answered, `n_accepted` of them right.
    pub(crate) fn verified(&mut self, n_drafts: usize, n_accepted: usize) {
        self.counts.n_verified += 1;
        self.counts.n_drafted += n_drafts as u64;
        self.counts.n_accepted += n_accepted as u64;
    }
}

#[cfg(test)]
#[path = "speculation_tests.rs"]
mod tests;
