//! How likely drafts are to be right: per drafter, strength of evidence and place in the draft, for the model as a whole
//! and for each sequence. Pure counts that fade.

use crate::draft::{Draft, N_DRAFT_MAX, Source};

/// Classes of evidence that are told apart.
const N_CLASSES: usize = 7;

/// What one more trial leaves of those before it: of the model's counts, and of a sequence's.
const KEEP_MODEL: f64 = 0.99;
const KEEP_SEQUENCE: f64 = 0.93;

/// What a token made without drafts leaves of the sequence's trials, so that what was given up is tried again.
const KEEP_IDLE: f64 = 0.998;

/// Trials that the expectation before any trial is worth, and those that the model's counts are worth for a sequence.
const N_PRIOR: f64 = 4.0;
const N_MODEL_MAX: f64 = 8.0;

/// A kind of draft whose drafts are about equally good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Class(usize);

/// Trials at one place, and how many of them were right; both fade.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    n_right: f64,
    n_trials: f64,
}

/// What all sequences of a model have shown.
#[derive(Debug, Default)]
pub(crate) struct ModelAcceptance {
    /// By class and place in the draft. A trial needs all places before it to be right.
    tallies: [[Tally; N_DRAFT_MAX]; N_CLASSES],
}

/// What one sequence has shown.
#[derive(Debug, Default)]
pub(crate) struct SequenceAcceptance {
    tallies: [Tally; N_CLASSES],
}

impl Class {
    /// Of drafts by `source` with `evidence`.
    pub(crate) fn new(source: Source, evidence: usize) -> Self {
        match (source, evidence) {
            (Source::Backend, _) => Self(0),
            (Source::Lookup, 0..=2) => Self(1),
            (Source::Lookup, 3) => Self(2),
            (Source::Lookup, 4..=5) => Self(3),
            (Source::Lookup, 6..=8) => Self(4),
            (Source::Lookup, 9..=16) => Self(5),
            (Source::Lookup, _) => Self(6),
        }
    }

    /// Of a lookup's draft.
    pub(crate) fn of(draft: &Draft) -> Self {
        Self::new(Source::Lookup, draft.evidence)
    }

    /// The expectation before any trial.
    fn prior(self) -> f64 {
        [0.6, 0.25, 0.4, 0.5, 0.6, 0.75, 0.85][self.0]
    }
}

impl Tally {
    fn add(&mut self, is_right: bool, keep: f64) {
        self.fade(keep);
        self.n_trials += 1.0;
        self.n_right += f64::from(u8::from(is_right));
    }

    fn fade(&mut self, keep: f64) {
        self.n_trials *= keep;
        self.n_right *= keep;
    }

    /// The share that is right, where `prior` counts as much as `n_prior` trials.
    fn rate(&self, prior: f64, n_prior: f64) -> f64 {
        (self.n_right + prior * n_prior) / (self.n_trials + n_prior)
    }
}

impl ModelAcceptance {
    fn rate(&self, class: Class, place: usize) -> f64 {
        self.tallies[class.0][place.min(N_DRAFT_MAX - 1)].rate(class.prior(), N_PRIOR)
    }
}

impl SequenceAcceptance {
    /// Takes in that the first `n_right` tokens of a draft of `n_drafts` were right, and the next, if any, was not.
    pub(crate) fn learn(&mut self, model: &mut ModelAcceptance, class: Class, n_right: usize, n_drafts: usize) {
        for place in 0..(n_right + 1).min(n_drafts).min(N_DRAFT_MAX) {
            let is_right = place < n_right;
            model.tallies[class.0][place].add(is_right, KEEP_MODEL);
            self.tallies[class.0].add(is_right, KEEP_SEQUENCE);
        }
    }

    /// A token was made without a draft.
    pub(crate) fn idle(&mut self, model: &mut ModelAcceptance) {
        // Only drafts of the backend cost something to try; lookups are watched all the time.
        let backend = Class::new(Source::Backend, 0);
        self.tallies[backend.0].fade(KEEP_IDLE);
        model.tallies[backend.0].iter_mut().for_each(|tally| tally.fade(KEEP_IDLE));
    }

    /// For each place of a draft of `n_drafts`: how likely it and all before it are right.
    pub(crate) fn survival(&self, model: &ModelAcceptance, class: Class, n_drafts: usize) -> Vec<f64> {
        let mut alive = 1.0;
        let rates = (0..n_drafts).map(|place| {
            let rate = self.tallies[class.0].rate(model.rate(class, place), N_MODEL_MAX);
            alive *= rate;
            alive
        });
        rates.collect()
    }
}

#[cfg(test)]
#[path = "acceptance_tests.rs"]
mod tests;
