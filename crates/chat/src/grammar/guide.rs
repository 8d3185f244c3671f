//! Follows one answer and tells which tokens may come next.
//!
//! Thinking and free text have no mask, or one that only keeps the answer from ending; so they cost next to nothing.

use std::collections::VecDeque;
use std::sync::Arc;

use llguidance::Matcher;
use llguidance::toktrie::TokEnv;

/// Most bytes of text kept to find a tag or trigger in.
const TAIL_MAX: usize = 256;

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
    /// None: the answer is complete.
    Nothing,
}

/// Follows one answer.
#[derive(Clone)]
pub struct Guide {
    plan: Arc<Plan>,
    phase: Phase,
}

#[derive(Clone)]
enum Phase {
    /// At the start, where a tag may open thinking.
    Opening(Box<Matcher>, Vec<u8>),
    Thinking(Vec<u8>),
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
            _ if plan.starts_thinking => Phase::Thinking(Vec::new()),
            Course::Whole { first, .. } => Phase::Opening(Box::new(first.deep_clone()), Vec::new()),
            Course::Calls { .. } => Phase::Free(Free::default()),
        };
        Self { plan, phase }
    }

    /// Which tokens may come next.
    ///
    /// # Errors
    /// When the grammar has become too complex, or no token of the vocabulary continues the text.
    pub fn allowed(&mut self) -> Result<Allowed, GuideError> {
        let n_words = self.plan.n_vocab.div_ceil(32);
        match &mut self.phase {
            Phase::Opening(matcher, _) | Phase::Held(matcher) => {
                if matcher.is_stopped() && !matcher.is_error() {
                    return Ok(Allowed::Nothing);
                }
                let mut words: Vec<u32> = matcher.compute_mask().map_err(guide_error)?.into();
                words.resize(n_words, 0);
                Ok(Allowed::These(words))
            }
            Phase::Thinking(tail) => match self.plan.course {
                Course::Whole { .. } => Ok(Allowed::These(self.plan.thinking_mask(tail, n_words))),
                Course::Calls { .. } => Ok(Allowed::All),
            },
            Phase::Free(_) => Ok(Allowed::All),
            Phase::Ended => Ok(Allowed::Nothing),
        }
    }

    /// Whether every token may come next, which takes no work to know.
    pub fn is_free(&self) -> bool {
        let holds_end = matches!(self.plan.course, Course::Whole { .. });
        matches!(self.phase, Phase::Free(_)) || (matches!(self.phase, Phase::Thinking(_)) && !holds_end)
    }

    /// Tokens that must come next, in order; they are not taken yet.
    pub fn forced(&mut self) -> Vec<u32> {
        match &mut self.phase {
            Phase::Opening(matcher, _) | Phase::Held(matcher) if !matcher.is_stopped() => matcher.compute_ff_tokens(),
            _ => Vec::new(),
        }
    }

    /// Takes the next token, which is an allowed one and ends nothing.
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
                    Some(open) if open == text.trim_ascii() => self.phase = Phase::Thinking(Vec::new()),
                    Some(_) => {}
                    None => self.phase = Phase::Held(matcher.clone()),
                }
                self.settle();
            }
            Phase::Held(matcher) => {
                matcher.consume_token(token).map_err(guide_error)?;
                self.settle();
            }
            Phase::Thinking(tail) => {
                tail.extend_from_slice(&bytes);
                let close = self.plan.thinking.as_ref().map_or(&[][..], |tags| tags.close.as_slice());
                if find(tail, close).is_some() {
                    self.phase = self.plan.after_thinking();
                } else if tail.len() > TAIL_MAX {
                    tail.drain(..tail.len() - TAIL_MAX / 2);
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
            && text.trim_ascii() == tags.open
        {
            self.phase = Phase::Thinking(Vec::new());
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
        let n_begun = (1..close.len()).rev().find(|n| tail.ends_with(&close[..*n])).unwrap_or(0);
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

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    (!part.is_empty()).then(|| text.windows(part.len()).position(|window| window == part)).flatten()
}

fn guide_error(error: impl std::fmt::Display) -> GuideError {
    let text = error.to_string();
    let detail = text.split("<non-verbose/>").next().unwrap_or(&text).trim().to_owned();
    GuideError { detail }
}
