//! Follows one answer and tells which tokens may come next.
//!
//! Thinking and free text have no mask, or one that only keeps the answer from ending; so they cost next to nothing. Thinking
//! beyond its budget is closed: all that may come then is what closes it.

use std::collections::VecDeque;
use std::sync::Arc;

use llguidance::Matcher;
use llguidance::toktrie::TokEnv;

/// Most bytes of text kept to find a tag or trigger in.
const TAIL_MAX: usize = 256;
/// What opens another message of harmony.
const HARMONY_TURN: &[u8] = b"<|start|>assistant";
/// Most tokens by which thinking may go beyond its budget to complete a tag or a character.
const OVERDRAFT_MAX: usize = 16;

/// What an answer is held to, ready to be followed any number of times.
pub(super) struct Plan {
    pub env: TokEnv,
    /// Bits of every mask.
    pub n_vocab: usize,
    pub thinking: Option<Tags>,
    /// Whether the prompt has opened thinking.
    pub starts_thinking: bool,
    pub course: Course,
}

/// The tags around thinking.
pub(super) struct Tags {
    pub open: Vec<u8>,
    pub close: Vec<u8>,
    /// The closer's own tokens.
    pub close_tokens: Vec<u32>,
    /// Most tokens between the tags; `None` = any number.
    pub budget: Option<usize>,
    /// Special tokens of the format that have no place in thinking.
    pub strays: Vec<u32>,
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

/// Thinking so far.
#[derive(Clone, Default)]
struct Thought {
    /// Its last bytes.
    tail: Vec<u8>,
    n_tokens: usize,
    /// How many tokens of the closer have come, once it must come.
    n_closed: Option<usize>,
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
            _ if plan.starts_thinking => plan.thinking(0),
            Course::Whole { first, .. } => Phase::Opening(Box::new(first.deep_clone()), Vec::new()),
            Course::Calls { .. } => Phase::Free(Free::default()),
        };
        Self { plan, phase, n_thought: 0 }
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
                Ok(Allowed::These(words))
            }
            Phase::Thinking(thought) => match (self.plan.closer(thought).first(), &self.plan.course) {
                (Some(token), _) => {
                    let mut words = vec![0; n_words];
                    words[*token as usize / 32] |= 1 << (token % 32);
                    Ok(Allowed::These(words))
                }
                (None, Course::Whole { .. }) => Ok(Allowed::These(self.plan.thinking_mask(&thought.tail, n_words))),
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
        match &mut self.phase {
            Phase::Opening(matcher, text) => {
                matcher.consume_token(token).map_err(guide_error)?;
                text.extend_from_slice(&bytes);
                let open = self.plan.thinking.as_ref().map(|tags| tags.open.as_slice());
                match open.filter(|open| open.starts_with(text.trim_ascii())) {
                    Some(open) if open == text.trim_ascii() => self.phase = self.plan.thinking(self.n_thought),
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
                self.plan.bound(thought);
                let close = self.plan.thinking.as_ref().map_or(&[][..], |tags| tags.close.as_slice());
                if find(&thought.tail, close).is_some() {
                    self.n_thought = thought.n_tokens;
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
            self.phase = self.plan.thinking(self.n_thought);
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

impl Thought {
    fn push(&mut self, bytes: &[u8]) {
        self.n_tokens += 1;
        self.n_closed.iter_mut().for_each(|n| *n += 1);
        self.tail.extend_from_slice(bytes);
        if self.tail.len() > TAIL_MAX {
            self.tail.drain(..self.tail.len() - TAIL_MAX / 2);
        }
    }

    /// Whether its last character is complete, so that a tag may follow.
    fn is_whole(&self) -> bool {
        self.tail.utf8_chunks().last().is_none_or(|chunk| chunk.invalid().is_empty())
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
    /// Thinking that was just opened, after so many tokens of other thoughts.
    fn thinking(&self, n_before: usize) -> Phase {
        let mut thought = Thought { n_tokens: n_before, ..Thought::default() };
        self.bound(&mut thought);
        Phase::Thinking(thought)
    }

    /// Has thinking closed that has used up its budget, unless its last bytes begin what closes it or are half a character.
    fn bound(&self, thought: &mut Thought) {
        let Some(Tags { close, budget: Some(budget), .. }) = &self.thinking else { return };
        if thought.n_closed.is_none() && thought.n_tokens >= *budget {
            let is_due = n_begun(&thought.tail, close) == 0 && thought.is_whole();
            thought.n_closed = (is_due || thought.n_tokens >= budget + OVERDRAFT_MAX).then_some(0);
        }
    }

    /// What must come to close thinking; empty while it is free.
    fn closer(&self, thought: &Thought) -> &[u32] {
        let tokens = self.thinking.as_ref().map_or(&[][..], |tags| tags.close_tokens.as_slice());
        thought.n_closed.and_then(|n| tokens.get(n..)).unwrap_or_default()
    }

    fn after_thinking(&self) -> Phase {
        match &self.course {
            Course::Whole { after, .. } => Phase::Held(Box::new(after.deep_clone())),
            Course::Calls { .. } => Phase::Free(Free::default()),
        }
    }

    /// All tokens but those that end the answer or mark something else than thinking, and those that close thinking and
    /// begin the answer at once: the grammar could not check that beginning.
    fn thinking_mask(&self, tail: &[u8], n_words: usize) -> Vec<u32> {
        let trie = self.env.tok_trie();
        let mut words = vec![u32::MAX; n_words];
        let mut clear = |token: u32| {
            if let Some(word) = words.get_mut(token as usize / 32) {
                *word &= !(1 << (token % 32));
            }
        };
        trie.eos_tokens().iter().for_each(|token| clear(*token));
        let Some(tags) = &self.thinking else { return words };
        tags.strays.iter().for_each(|token| clear(*token));
        let close = tags.close.as_slice();
        let n_begun = n_begun(tail, close);
        if n_begun > 0 {
            let rest = &close[n_begun..];
            for token in 0..trie.vocab_size() as u32 {
                let bytes = trie.token(token);
                if bytes.starts_with(rest) && !bytes[rest.len()..].trim_ascii().is_empty() {
                    clear(token);
                }
            }
        }
        words
    }
}

/// What an answer has begun with: without blanks, and without the turn that opens a message of harmony.
fn opening(text: &[u8]) -> &[u8] {
    let text = text.trim_ascii();
    text.strip_prefix(HARMONY_TURN).unwrap_or(text)
}

/// How many bytes of a tag, short of all, end a text.
fn n_begun(text: &[u8], tag: &[u8]) -> usize {
    (1..tag.len()).rev().find(|n| text.ends_with(&tag[..*n])).unwrap_or(0)
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    (!part.is_empty()).then(|| text.windows(part.len()).position(|window| window == part)).flatten()
}

fn guide_error(error: impl std::fmt::Display) -> GuideError {
    let text = error.to_string();
    let detail = text.split("<non-verbose/>").next().unwrap_or(&text).trim().to_owned();
    GuideError { detail }
}
