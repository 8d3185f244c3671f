//! Drafts by a head of the model itself (DeepSeek-AI 2024). It goes on from what the network made of a sequence's positions,
//! which is kept for the last of them; what lies further back the head does without.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use tokbar_engine::{DraftAsk, SamplingOptions, SequenceId, TokenId};

use super::{N_CATCH_UP_MAX, read, sampled};
use crate::cache::{CacheKind, Layout, SequenceCache};
use crate::families::Predictor;
use crate::mx::{self, Array, Cut};
use crate::pass::{Pass, PassRow};

/// What the network made of a sequence's last positions.
#[derive(Default)]
pub struct Recent {
    /// Position of the first.
    start: usize,
    /// `[L, hidden]`, of which so many positions count.
    parts: Vec<(Array, usize)>,
    /// Positions that are kept at least.
    n_kept: usize,
}

/// Positions before the next that a head is given at most: more than its windows hold cannot change what it drafts.
pub fn n_catch_up(head: &dyn Predictor) -> usize {
    let reach = head.caches().iter().map(|kind| match kind {
        CacheKind::Rotating { window } => *window,
        CacheKind::Full | CacheKind::State => N_CATCH_UP_MAX,
    });
    reach.max().unwrap_or(N_CATCH_UP_MAX).min(N_CATCH_UP_MAX)
}

impl Recent {
    /// Of no position yet; the first will be `start`. At least the last `n_kept` are kept.
    pub fn new(start: usize, n_kept: usize) -> Self {
        Self { start, parts: Vec::new(), n_kept }
    }

    /// One past the last position.
    fn end(&self) -> usize {
        self.start + self.parts.iter().map(|(_, n)| n).sum::<usize>()
    }

    /// Adds the next positions, `[L, hidden]`, and lets those go that lie too far back.
    pub fn push(&mut self, hidden: Array) {
        let n = hidden.dim(0) as usize;
        self.parts.push((hidden, n));
        while let Some((_, n)) = self.parts.first()
            && self.end() - self.start - n >= self.n_kept
        {
            self.start += n;
            self.parts.remove(0);
        }
    }

    /// Forgets the positions from `n_positions` on.
    pub fn cut_back(&mut self, n_positions: usize) {
        let mut n_kept = n_positions.saturating_sub(self.start);
        for (_, n) in &mut self.parts {
            *n = n_kept.min(*n);
            n_kept -= *n;
        }
        self.parts.retain(|(_, n)| *n > 0);
    }

    /// What was added last, for evaluation.
    pub fn last(&self) -> Option<&Array> {
        self.parts.last().map(|(hidden, _)| hidden)
    }

    /// Of the positions from `first` on.
    fn from(&self, first: usize) -> mx::Result<Array> {
        let (mut start, mut parts) = (self.start, Vec::new());
        for (hidden, n) in &self.parts {
            let skipped = first.saturating_sub(start).min(*n);
            if skipped < *n {
                parts.push(mx::slice(hidden, &[Cut { axis: 0, start: skipped as i32, stop: *n as i32 }])?);
            }
            start += n;
        }
        mx::concatenate(&parts.iter().collect::<Vec<_>>(), 0)
    }
}

/// A sequence that wants drafts.
pub struct HeadAsk<'a> {
    /// What it asks.
    pub ask: &'a DraftAsk<'a>,
    /// How it samples.
    pub sampling: Arc<SamplingOptions>,
    /// All but its last token.
    pub recent: &'a Recent,
}

/// What the head knows of each sequence.
#[derive(Default)]
pub struct HeadDrafter {
    followers: HashMap<SequenceId, Follower>,
}

/// What the head has computed of one sequence.
struct Follower {
    cache: SequenceCache,
    /// Position of the first entry.
    start: usize,
    /// One past the last position that comes from the network and not from the head itself.
    end: usize,
}

/// One ask on its way.
struct Run<'a> {
    ask: &'a HeadAsk<'a>,
    follower: Follower,
    /// The first position to be computed.
    first: usize,
}

impl HeadDrafter {
    /// Forgets a sequence.
    pub fn close(&mut self, id: SequenceId) {
        self.followers.remove(&id);
    }

    /// Drafts for all asks at once; see [`Backend::draft`](tokbar_engine::Backend::draft). `n_vocab` is the model's.
    pub fn draft(
        &mut self,
        head: &dyn Predictor,
        asks: &[HeadAsk<'_>],
        n_vocab: usize,
    ) -> mx::Result<Vec<Vec<TokenId>>> {
        let layout = Layout::new(head.caches(), None);
        let able: Vec<bool> = asks.iter().map(HeadAsk::can_follow).collect();
        let chosen = asks.iter().zip(&able).filter(|(_, able)| **able);
        let mut runs: Vec<_> = chosen.map(|(ask, _)| self.run(ask, &layout)).collect();
        let n_rounds = runs.iter().map(|run| run.ask.ask.uniforms.len()).max().unwrap_or(0);
        let (mut drafted, mut before) = (Vec::with_capacity(n_rounds), None);
        for round in 0..n_rounds {
            let output = match (&before, drafted.last()) {
                (Some(before), Some(tokens)) => advance(head, &mut runs, round, [before, tokens])?,
                _ => catch_up(head, &mut runs)?,
            };
            let draws = runs.iter().map(|run| (&*run.ask.sampling, run.uniform(round)));
            drafted.push(sampled(&head.logits(&output)?, draws, n_vocab)?);
            before = Some(output);
        }
        let mut drafts = read(&drafted, runs.len())?;
        for (run, draft) in runs.into_iter().zip(&mut drafts) {
            draft.truncate(run.ask.ask.uniforms.len());
            let follower = Follower { end: run.end(), ..run.follower };
            self.followers.insert(run.ask.ask.sequence, follower);
        }
        let mut drafts = drafts.into_iter();
        let answers = able.into_iter().map(|able| if able { drafts.next() } else { None });
        Ok(answers.map(Option::unwrap_or_default).collect())
    }

    /// Takes the sequence's follower, without what the head made of its own drafts, or a new one.
    fn run<'a>(&mut self, ask: &'a HeadAsk<'a>, layout: &Rc<Layout>) -> Run<'a> {
        let end = ask.recent.end();
        let known = self.followers.remove(&ask.ask.sequence).and_then(|mut follower| {
            // The last position is computed again where nothing came after it: its output is what drafts go on from.
            let first = follower.end.min(end - 1);
            let is_near = (ask.recent.start..=first).contains(&first) && first >= follower.start;
            (is_near && follower.cache.cut_back(first - follower.start)).then_some((follower, first))
        });
        let (follower, first) = known.unwrap_or_else(|| {
            let start = ask.recent.start.max(end.saturating_sub(ask.recent.n_kept));
            (Follower { cache: SequenceCache::new(layout), start, end: start }, start)
        });
        Run { ask, follower, first }
    }
}

impl HeadAsk<'_> {
    /// Whether the network has computed all tokens but the last.
    fn can_follow(&self) -> bool {
        let Self { ask, recent, .. } = self;
        recent.end() > recent.start && recent.end() + 1 == ask.tokens.len() && !ask.uniforms.is_empty()
    }
}

impl Run<'_> {
    /// One past the last position that the network has computed.
    fn end(&self) -> usize {
        self.ask.recent.end()
    }

    /// The number that draws the token of a round; runs that need no more go along.
    fn uniform(&self, round: usize) -> f32 {
        self.ask.ask.uniforms.get(round).copied().unwrap_or(0.0)
    }
}

/// Computes the positions that the runs lack; the output at the last of each, `[N, hidden]`.
fn catch_up(head: &dyn Predictor, runs: &mut [Run<'_>]) -> mx::Result<Array> {
    let (mut rows, mut hidden, mut ends) = (Vec::new(), Vec::new(), Vec::new());
    let mut tokens: Vec<TokenId> = Vec::new();
    for run in runs {
        let (start, end) = (tokens.len(), run.end());
        hidden.push(run.ask.recent.from(run.first)?);
        tokens.extend(&run.ask.ask.tokens[run.first + 1..=end]);
        let (offset, len) = (run.first - run.follower.start, end - run.first);
        let n_total = offset + len;
        rows.push(PassRow { start, len, offset, n_total, n_sure: n_total, cache: &mut run.follower.cache });
        ends.push((start + len) as i32 - 1);
    }
    let before = head.start(&mx::concatenate(&hidden.iter().collect::<Vec<_>>(), 0)?)?;
    let tokens = Array::from_slice(&tokens, &[tokens.len() as i32]);
    let output = head.advance(&before, &tokens, &mut Pass::new(rows))?;
    mx::take(&output, &Array::from_slice(&ends, &[ends.len() as i32]), 0)
}

/// One token further, from the outputs and the drafts of the last round, `[N, hidden]` and `[N]`.
fn advance(head: &dyn Predictor, runs: &mut [Run<'_>], round: usize, last: [&Array; 2]) -> mx::Result<Array> {
    let rows = runs.iter_mut().enumerate().map(|(start, run)| {
        let n_sure = run.end() - run.follower.start;
        let offset = n_sure + round - 1;
        PassRow { start, len: 1, offset, n_total: offset + 1, n_sure, cache: &mut run.follower.cache }
    });
    let rows = rows.collect();
    head.advance(last[0], last[1], &mut Pass::new(rows))
}

#[cfg(test)]
#[path = "head_tests.rs"]
mod tests;
