//! One sequence's drafts: what it offers, and how good its drafts were.

use super::acceptance::{Class, ModelAcceptance, SequenceAcceptance};
use crate::TokenId;
use crate::draft::lookup::Lookup;
use crate::draft::{Draft, Drafter, N_DRAFT_MAX, Source};

/// Drafts that a sequence could verify next.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Offer {
    pub source: Source,
    /// Per place: how likely all drafts up to it are right.
    pub survival: Vec<f64>,
}

/// A sequence's drafters and their record.
#[derive(Debug)]
pub(crate) struct Drafting {
    lookup: Lookup,
    /// The lookup's draft after `n_known` tokens.
    draft: Draft,
    n_known: usize,
    acceptance: SequenceAcceptance,
    /// A draft that is compared with what plain rounds bring, which costs nothing.
    watched: Watched,
    /// Whether tokens have come that nobody drew.
    has_jumped: bool,
    /// Drafts verified, and those that were right.
    pub n_drafted: usize,
    pub n_accepted: usize,
}

/// A draft of which the first `n_right` tokens have come.
#[derive(Debug, Default)]
struct Watched {
    draft: Draft,
    n_right: usize,
}

impl Drafting {
    /// For a sequence with a prompt of `n_prompt` tokens, whose output may repeat `prediction`.
    pub(crate) fn new(prediction: &[TokenId], n_prompt: usize) -> Self {
        Self {
            lookup: Lookup::new(prediction, n_prompt),
            draft: Draft::default(),
            n_known: 0,
            acceptance: SequenceAcceptance::default(),
            watched: Watched::default(),
            has_jumped: false,
            n_drafted: 0,
            n_accepted: 0,
        }
    }

    /// Looks for a draft after `tokens`, all that are known.
    pub(crate) fn look(&mut self, tokens: &[TokenId]) {
        if self.n_known == tokens.len() {
            return;
        }
        self.n_known = tokens.len();
        // One more than a row may carry: the first may stand for a token in flight.
        self.draft = self.lookup.draft(tokens, N_DRAFT_MAX + 1);
        if self.watched.draft.tokens.is_empty() {
            self.watched = Watched { draft: self.draft.clone(), n_right: 0 };
        }
    }

    /// The lookup's draft after the tokens last looked at.
    pub(crate) fn lookup_tokens(&self) -> &[TokenId] {
        &self.draft.tokens
    }

    /// What the lookup offers to verify after `n_pending` tokens that are still in flight, at most `n_max` drafts.
    pub(crate) fn offer_lookup(&self, model: &ModelAcceptance, n_pending: usize, n_max: usize) -> Option<Offer> {
        let n_drafts = self.draft.tokens.len().min(n_max + n_pending).min(N_DRAFT_MAX + n_pending);
        let survival = self.acceptance.survival(model, Class::of(&self.draft), n_drafts);
        let survival = survival.get(n_pending..).filter(|survival| !survival.is_empty())?.to_vec();
        Some(Offer { source: Source::Lookup, survival })
    }

    /// What the backend's drafter would offer, at most `n_max` drafts.
    pub(crate) fn offer_backend(&self, model: &ModelAcceptance, n_max: usize) -> Option<Offer> {
        let survival = self.acceptance.survival(model, Class::new(Source::Backend, 0), n_max.min(N_DRAFT_MAX));
        (!survival.is_empty()).then_some(Offer { source: Source::Backend, survival })
    }

    /// Tokens come after the next ones taken in that nobody draws: what is watched says nothing of them.
    pub(crate) fn jumped(&mut self) {
        self.has_jumped = true;
    }

    /// Takes in tokens that came without drafts.
    pub(crate) fn came(&mut self, model: &mut ModelAcceptance, tokens: &[TokenId]) {
        for token in tokens {
            self.acceptance.idle(model);
            let Watched { draft, n_right } = &mut self.watched;
            let n_drafts = draft.tokens.len();
            if n_drafts == 0 {
                continue;
            }
            let is_right = draft.tokens[*n_right] == *token;
            *n_right += usize::from(is_right);
            if !is_right || *n_right == n_drafts {
                self.acceptance.learn(model, Class::of(draft), *n_right, n_drafts);
                self.watched = Watched::default();
            }
        }
        if std::mem::take(&mut self.has_jumped) {
            self.watched = Watched::default();
        }
    }

    /// Takes in that `n_accepted` of `n_drafts` drafts were right.
    pub(crate) fn verified(&mut self, model: &mut ModelAcceptance, source: Source, n_accepted: usize, n_drafts: usize) {
        self.n_drafted += n_drafts;
        self.n_accepted += n_accepted;
        self.watched = Watched::default();
        self.has_jumped = false;
        let class = match source {
            Source::Lookup => Class::of(&self.draft),
            Source::Backend => Class::new(source, 0),
        };
        self.acceptance.learn(model, class, n_accepted, n_drafts);
    }
}
