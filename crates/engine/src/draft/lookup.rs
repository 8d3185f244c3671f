//! Prompt lookup: what followed the last time that the newest tokens stood in prompt or output (Saxena 2023).
//!
//! Chains of positions with equal n-grams, as a Lempel-Ziv compressor keeps them: constant work for each new token, and
//! memory bounded by a window.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Draft, Drafter};
use crate::TokenId;

/// Shortest match that makes a draft; also the length of the indexed n-grams.
const N_GRAM: usize = 2;

/// Longest match that is told apart from longer ones.
const N_MATCH_MAX: usize = 32;

/// Earlier places that are compared for each draft.
const N_CANDIDATES: usize = 24;

/// Positions that are remembered.
const N_WINDOW: usize = 1 << 17;

/// What speaks for a reference text's beginning where the output begins.
const EVIDENCE_START: usize = 8;

/// What is absent from a chain.
const NONE: u32 = u32::MAX;

/// The index of one sequence. It looks first at its own tokens, then at a reference text, such as the file that an edit
/// is likely to repeat.
#[derive(Debug, Default)]
pub(crate) struct Lookup {
    /// Stands before the sequence's tokens.
    reference: Arc<[TokenId]>,
    /// Tokens before the output.
    n_prompt: usize,
    /// Where each n-gram ended last, by position in reference and sequence.
    heads: HashMap<[TokenId; N_GRAM], u32>,
    /// For each indexed position, where its n-gram ended before; a ring of [`N_WINDOW`].
    chains: Vec<u32>,
    /// Positions indexed.
    n_indexed: usize,
    /// Where the last draft was read from, and how many tokens were known then.
    followed: Option<(usize, usize)>,
}

/// Reference and sequence as one.
#[derive(Clone, Copy)]
struct Text<'a> {
    reference: &'a [TokenId],
    tokens: &'a [TokenId],
}

impl Lookup {
    /// An index that also knows `reference`, which output after `n_prompt` tokens may repeat from its beginning.
    pub(crate) fn new(reference: &[TokenId], n_prompt: usize) -> Self {
        Self { reference: reference.into(), n_prompt, ..Self::default() }
    }

    /// Adds the positions of `text` that are new.
    fn index(&mut self, text: Text<'_>) {
        for end in self.n_indexed..text.len() {
            let before = match text.gram(end) {
                Some(gram) => self.heads.insert(gram, end as u32).unwrap_or(NONE),
                None => NONE,
            };
            match self.chains.get_mut(end % N_WINDOW) {
                Some(place) => *place = before,
                None => self.chains.push(before),
            }
            if (end + 1).is_multiple_of(N_WINDOW) {
                self.heads.retain(|_, last| *last as usize + N_WINDOW > end);
            }
        }
        self.n_indexed = text.len();
    }

    /// Ends of earlier matches, newest first. The newest n-gram itself is not among them.
    fn candidates(&self, text: Text<'_>) -> impl Iterator<Item = usize> {
        let last = text.len() - 1;
        let earlier = move |end: usize| {
            let before = *self.chains.get(end % N_WINDOW)?;
            // Once the ring has come round, its entries tell of newer positions.
            let is_older = before != NONE && (before as usize) < end && before as usize + N_WINDOW > last;
            is_older.then_some(before as usize)
        };
        std::iter::successors(earlier(last), move |end| earlier(*end)).take(N_CANDIDATES)
    }

    /// The end of the longest match, the newest among equals, and its length.
    fn longest(&self, text: Text<'_>) -> Option<(usize, usize)> {
        let continued = self.followed.map(|(end, n_known)| end + (text.tokens.len() - n_known));
        let continued = continued.filter(|end| *end + 1 < text.len());
        let mut best: Option<(usize, usize)> = None;
        for end in self.candidates(text).chain(continued) {
            let n_match = text.n_equal(end);
            if n_match >= N_GRAM && best.is_none_or(|(_, n_best)| n_match > n_best) {
                best = Some((end, n_match));
            }
            if n_match == N_MATCH_MAX {
                break;
            }
        }
        best
    }
}

impl Drafter for Lookup {
    fn draft(&mut self, tokens: &[TokenId], n_max: usize) -> Draft {
        let reference = Arc::clone(&self.reference);
        let text = Text { reference: &reference, tokens };
        self.index(text);
        if tokens.is_empty() {
            return Draft::default();
        }
        if tokens.len() == self.n_prompt && !reference.is_empty() {
            let tokens = reference.iter().copied().take(n_max).collect();
            return Draft { tokens, evidence: EVIDENCE_START };
        }
        let found = self.longest(text);
        self.followed = found.map(|(end, _)| (end, tokens.len()));
        found.map(|(end, evidence)| Draft { tokens: text.after(end, n_max), evidence }).unwrap_or_default()
    }
}

impl Text<'_> {
    fn len(&self) -> usize {
        self.reference.len() + self.tokens.len()
    }

    fn at(&self, position: usize) -> TokenId {
        match position.checked_sub(self.reference.len()) {
            Some(position) => self.tokens[position],
            None => self.reference[position],
        }
    }

    /// The n-gram that ends at a position; none goes across the seam.
    fn gram(&self, end: usize) -> Option<[TokenId; N_GRAM]> {
        let seam = if end < self.reference.len() { 0 } else { self.reference.len() };
        (end + 1 >= seam + N_GRAM).then(|| std::array::from_fn(|i| self.at(end + 1 - N_GRAM + i)))
    }

    /// How many tokens up to `end` equal the last ones, within reference or sequence.
    fn n_equal(&self, end: usize) -> usize {
        let seam = if end < self.reference.len() { 0 } else { self.reference.len() };
        let n_most = (end + 1 - seam).min(self.tokens.len()).min(N_MATCH_MAX);
        let last = self.len() - 1;
        (0..n_most).take_while(|back| self.at(end - back) == self.at(last - back)).count()
    }

    /// What follows `end`, going round when it meets the end of the text: a repetition repeats.
    fn after(&self, end: usize, n_max: usize) -> Vec<TokenId> {
        let n_period = self.len() - 1 - end;
        let n_max = if end < self.reference.len() { n_max.min(self.reference.len() - 1 - end) } else { n_max };
        (0..n_max).map(|i| self.at(end + 1 + i % n_period)).collect()
    }
}

#[cfg(test)]
#[path = "lookup_tests.rs"]
mod tests;
