//! Follows one answer and tells which tokens may come next.
//!
//! Thinking and free text have no mask, or one that only keeps the answer from ending; so they cost next to nothing. Thinking
//! beyond its budget is closed: all that may come then is what closes it.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use llguidance::Matcher;
use llguidance::toktrie::TokEnv;

use super::closing::{Allowance, Closing};
use super::thinking::{Tags, Thought};

/// Most bytes of text kept to find a trigger in.
const TAIL_MAX: usize = 256;
/// Most tokens of an answer that room is kept for while the model thinks.
const N_AFTER_MAX: usize = 4096;
/// What opens another message of harmony.
const HARMONY_TURN: &[u8] = b"<|start|>assistant";

/// What an answer is held to, ready to be followed any number of times.
pub(super) struct Plan {
    pub env: TokEnv,
    /// Bits of every mask.
    pub n_vocab: usize,
    pub thinking: Option<Tags>,
    /// Whether the prompt has opened thinking.
    pub starts_thinking: bool,
    pub course: Course,
    pub closing: Closing,
    /// Tokens that an answer takes at least once thinking is closed, when it is known.
    pub n_after_thinking: OnceLock<Option<usize>>,
}

/// What an answer is held to.
pub(super) enum Course {
    /// All of it.
    Whole {
        /// From its start, where thinking may be opened.
        first: Box<Matcher>,
        /// From the end of thinking.
        after: Box<Matcher>,
    },
    /// Calls, once they are opened.
    Calls { triggers: Vec<Opener>, ends_after_call: bool },
}

/// A text that opens a call, and the grammar from the token on in which it begins.
pub(super) struct Opener {
    pub on: Vec<u8>,
    pub is_fresh: bool,
    pub matcher: Box<Matcher>,
}

/// Why the grammar cannot be followed any longer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the grammar cannot be followed: {detail}")]
pub struct GuideError {
    /// What the grammar engine said.
    pub detail: String,
}

/// Which tokens may come next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// All.
    All,
    /// Those whose bit is set: bit `t % 32` of word `t / 32` is token `t`.
    These(Vec<u32>),
}

/// Follows one answer.
#[derive(Clone)]
pub struct Guide {
    plan: Arc<Plan>,
    phase: Phase,
    /// Tokens of the thoughts that are closed.
    n_thought: usize,
    /// What is left of the tokens that it may have; `None` = any number.
    allowance: Option<Allowance>,
}

#[derive(Clone)]
enum Phase {
    /// At the start, where a tag may open thinking.
    Opening(Box<Matcher>, Vec<u8>),
    Thinking(Thought),
    Held(Box<Matcher>),
    Free(Free),
    Ended,
}

/// Free text, in which a call may be opened.
#[derive(Clone, Default)]
struct Free {
    /// The latest tokens with their bytes.
    recent: VecDeque<(u32, Vec<u8>)>,
    n_recent_bytes: usize,
    /// Bytes dropped from `recent`, at the start of which fresh triggers count no more.
    is_stale: bool,
}

impl Guide {
    pub(super) fn new(plan: Arc<Plan>) -> Self {
        let phase = match &plan.course {
            _ if plan.starts_thinking => plan.thinking(0, None),
            Course::Whole { first, .. } => Phase::Opening(Box::new(first.deep_clone()), Vec::new()),
            Course::Calls { .. } => Phase::Free(Free::default()),
        };
        Self { plan, phase, n_thought: 0, allowance: None }
    }

    /// Lets the answer have at most `n_max` tokens: it is led to its end before they run out, if there is a way.
    #[must_use]
    pub fn within(mut self, n_max: usize) -> Self {
        self.allowance = Some(Allowance::new(n_max));
        self
    }

    /// Whether the tokens that are left have kept the answer from going on as it might have.
    pub fn is_curtailed(&self) -> bool {
        self.allowance.as_ref().is_some_and(Allowance::is_binding)
    }

    /// Which tokens may come next.
    ///
    /// # Errors
    /// When the grammar has become too complex, or no token of the vocabulary continues the text.
    pub fn allowed(&mut self) -> Result<Allowed, GuideError> {
        let n_words = self.plan.n_vocab.div_ceil(32);
        match &mut self.phase {
            Phase::Opening(matcher, _) | Phase::Held(matcher) => {
                let mut words: Vec<u32> = matcher.compute_mask().map_err(guide_error)?.into();
                words.resize(n_words, 0);
                if let Some(allowance) = &mut self.allowance {
                    allowance.restrict(&self.plan.closing, matcher, &mut words);
                }
                Ok(Allowed::These(words))
            }
            Phase::Thinking(thought) => match (self.plan.closer(thought).first(), &self.plan.course) {
                (Some(token), _) => {
                    let mut words = vec![0; n_words];
                    words[*token as usize / 32] |= 1 << (token % 32);
                    Ok(Allowed::These(words))
                }
                (None, Course::Whole { .. }) => {
                    let tags = self.plan.thinking.as_ref();
                    Ok(tags.map_or(Allowed::All, |tags| Allowed::These(tags.mask(&self.plan.env, thought, n_words))))
                }
                (None, Course::Calls { .. }) => Ok(Allowed::All),
            },
            Phase::Free(_) | Phase::Ended => Ok(Allowed::All),
        }
    }

    /// Whether the answer is complete: nothing may come next.
    pub fn is_complete(&self) -> bool {
        match &self.phase {
            Phase::Opening(matcher, _) | Phase::Held(matcher) => matcher.is_stopped() && !matcher.is_error(),
            Phase::Ended => true,
            Phase::Thinking(_) | Phase::Free(_) => false,
        }
    }

    /// How many of `tokens` may come next, in order.
    pub fn n_fitting(&self, tokens: &[u32]) -> usize {
        let mut along = self.clone();
        tokens.iter().take_while(|token| !along.is_complete() && along.commit(**token).is_ok()).count()
    }

    /// Tokens that must come next, in order; they are not taken yet.
    pub fn forced(&mut self) -> Vec<u32> {
        match &mut self.phase {
            Phase::Opening(matcher, _) | Phase::Held(matcher) if !matcher.is_stopped() => matcher.compute_ff_tokens(),
            Phase::Thinking(thought) => self.plan.closer(thought).to_vec(),
            _ => Vec::new(),
        }
    }

    /// Takes the next token, which ends nothing.
    ///
    /// # Errors
    /// When the grammar does not take it.
    pub fn commit(&mut self, token: u32) -> Result<(), GuideError> {
        let bytes = self.plan.env.tok_trie().token(token).to_vec();
        if let Some(allowance) = &mut self.allowance {
            allowance.take(token);
        }
        let n_left = self.allowance.as_ref().map(Allowance::n_left);
        match &mut self.phase {
            Phase::Opening(matcher, text) => {
                matcher.consume_token(token).map_err(guide_error)?;
                text.extend_from_slice(&bytes);
                let open = self.plan.thinking.as_ref().map(|tags| tags.open.as_slice());
                match open.filter(|open| open.starts_with(text.trim_ascii())) {
                    Some(open) if open == text.trim_ascii() => self.phase = self.plan.thinking(self.n_thought, n_left),
                    Some(_) => {}
                    None => self.phase = Phase::Held(matcher.clone()),
                }
                self.settle();
            }
            Phase::Held(matcher) => {
                matcher.consume_token(token).map_err(guide_error)?;
                self.settle();
            }
            Phase::Thinking(thought) => {
                if self.plan.closer(thought).first().is_some_and(|due| *due != token) {
                    return Err(GuideError { detail: format!("token {token} comes where thinking must be closed") });
                }
                thought.push(&bytes);
                self.plan.bound(thought, n_left);
                if let Some(tags) = self.plan.thinking.as_ref().filter(|tags| tags.are_closed(thought)) {
                    if tags.is_hurried(thought) {
                        self.allowance.iter_mut().for_each(Allowance::bind);
                    }
                    self.n_thought = thought.n_tokens();
                    self.phase = self.plan.after_thinking();
                }
            }
            Phase::Free(_) => self.commit_free(token, bytes),
            Phase::Ended => {}
        }
        Ok(())
    }

    /// Goes on where a grammar has come to its end.
    fn settle(&mut self) {
        let Phase::Held(matcher) = &self.phase else { return };
        if !matcher.is_stopped() || matcher.is_error() {
            return;
        }
        self.phase = match self.plan.course {
            Course::Calls { ends_after_call: false, .. } => Phase::Free(Free::default()),
            _ => Phase::Ended,
        };
    }

    fn commit_free(&mut self, token: u32, bytes: Vec<u8>) {
        let Phase::Free(free) = &mut self.phase else { return };
        let n_new = bytes.len();
        free.push(token, bytes);
        let text: Vec<u8> = free.recent.iter().flat_map(|(_, bytes)| bytes).copied().collect();
        if let Some(tags) = &self.plan.thinking
            && !free.is_stale
            && opening(&text) == tags.open
        {
            self.phase = self.plan.thinking(self.n_thought, None);
            return;
        }
        let Course::Calls { triggers, .. } = &self.plan.course else { return };
        let fresh_at = text.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(text.len());
        for trigger in triggers {
            let found = match trigger.is_fresh {
                true if free.is_stale => None,
                true => text[fresh_at..].starts_with(&trigger.on).then_some(fresh_at),
                false => find(&text, &trigger.on),
            };
            let Some(at) = found.filter(|at| at + trigger.on.len() + n_new > text.len()) else { continue };
            let mut matcher = Box::new(trigger.matcher.deep_clone());
            let tokens = free.tokens_from(at);
            if matcher.try_consume_tokens(&tokens).is_ok_and(|n| n == tokens.len()) {
                self.phase = Phase::Held(matcher);
                return self.settle();
            }
            tracing::debug!("a call begins in a way that the grammar does not take; it stays free");
        }
    }
}

impl Free {
    fn push(&mut self, token: u32, bytes: Vec<u8>) {
        self.n_recent_bytes += bytes.len();
        self.recent.push_back((token, bytes));
        while self.n_recent_bytes > TAIL_MAX {
            let Some((_, bytes)) = self.recent.pop_front() else { break };
            self.n_recent_bytes -= bytes.len();
            self.is_stale = true;
        }
    }

    /// The tokens from the one on that holds the byte at `at`.
    fn tokens_from(&self, at: usize) -> Vec<u32> {
        let mut end = 0;
        let is_before = |(_, bytes): &&(u32, Vec<u8>)| {
            end += bytes.len();
            end <= at
        };
        self.recent.iter().skip_while(is_before).map(|(token, _)| *token).collect()
    }
}

impl Plan {
    /// Thinking that was just opened, after so many tokens of other thoughts, with so many left of the whole output.
    fn thinking(&self, n_before: usize, n_left: Option<usize>) -> Phase {
        let mut thought = Thought::after(n_before);
        self.bound(&mut thought, n_left);
        Phase::Thinking(thought)
    }

    /// Has thinking closed that has used up its budget, or leaves no more than what closing it and the answer take.
    fn bound(&self, thought: &mut Thought, n_left: Option<usize>) {
        let Some(tags) = &self.thinking else { return };
        tags.bound(thought);
        if let (Some(n_left), Course::Whole { after, .. }) = (n_left, &self.course) {
            let n_needed =
                self.n_after_thinking.get_or_init(|| self.closing.way(after, N_AFTER_MAX).map(|way| way.cost()));
            if n_needed.is_some_and(|n| n_left <= n + tags.close_tokens.len() + self.closing.reach) {
                tags.close_soon(thought);
            }
        }
    }

    /// What must come to close thinking; empty while it is free.
    fn closer(&self, thought: &Thought) -> &[u32] {
        self.thinking.as_ref().map_or(&[], |tags| tags.closer(thought))
    }

    fn after_thinking(&self) -> Phase {
        match &self.course {
            Course::Whole { after, .. } => Phase::Held(Box::new(after.deep_clone())),
            Course::Calls { .. } => Phase::Free(Free::default()),
        }
    }
}

/// What an answer has begun with: without blanks, and without the turn that opens a message of harmony.
fn opening(text: &[u8]) -> &[u8] {
    let text = text.trim_ascii();
    text.strip_prefix(HARMONY_TURN).unwrap_or(text)
}

pub(super) fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    (!part.is_empty()).then(|| text.windows(part.len()).position(|window| window == part)).flatten()
}

fn guide_error(error: impl std::fmt::Display) -> GuideError {
    let text = error.to_string();
    let detail = text.split("<non-verbose/>").next().unwrap_or(&text).trim().to_owned();
    GuideError { detail }
}
