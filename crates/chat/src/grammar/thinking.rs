//! Thinking inside an answer that is followed: free within its budget, then closed.

use llguidance::toktrie::TokEnv;

use super::guide::find;

/// Most bytes of text kept to find a tag in.
const TAIL_MAX: usize = 256;
/// Most tokens by which thinking may go beyond its budget to complete a tag or a character.
const OVERDRAFT_MAX: usize = 16;

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

/// Thinking so far.
#[derive(Clone, Default)]
pub(super) struct Thought {
    /// Its last bytes.
    tail: Vec<u8>,
    n_tokens: usize,
    /// Tokens at which its closing was due.
    due_at: Option<usize>,
    /// Whether it was due since the whole output is near its end.
    is_hurried: bool,
    /// How many tokens of the closer have come, once it must come.
    n_closed: Option<usize>,
}

impl Thought {
    /// After so many tokens of other thoughts.
    pub fn after(n_tokens: usize) -> Self {
        Self { n_tokens, ..Self::default() }
    }

    pub fn n_tokens(&self) -> usize {
        self.n_tokens
    }

    pub fn push(&mut self, bytes: &[u8]) {
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

impl Tags {
    /// Has thinking closed that has used up its budget.
    pub fn bound(&self, thought: &mut Thought) {
        if self.budget.is_some_and(|budget| thought.n_tokens >= budget) {
            self.close(thought);
        }
    }

    /// Has thinking closed since the whole output is near its end.
    pub fn close_soon(&self, thought: &mut Thought) {
        thought.is_hurried |= thought.due_at.is_none();
        self.close(thought);
    }

    /// Closes at once, unless the last bytes begin what closes it or are half a character.
    fn close(&self, thought: &mut Thought) {
        let due_at = *thought.due_at.get_or_insert(thought.n_tokens);
        if thought.n_closed.is_none() {
            let is_ready = n_begun(&thought.tail, &self.close) == 0 && thought.is_whole();
            thought.n_closed = (is_ready || thought.n_tokens >= due_at + OVERDRAFT_MAX).then_some(0);
        }
    }

    /// What must come to close thinking; empty while it is free.
    pub fn closer(&self, thought: &Thought) -> &[u32] {
        thought.n_closed.and_then(|n| self.close_tokens.get(n..)).unwrap_or_default()
    }

    pub fn are_closed(&self, thought: &Thought) -> bool {
        find(&thought.tail, &self.close).is_some()
    }

    /// Whether it was closed since the whole output is near its end.
    pub fn is_hurried(&self, thought: &Thought) -> bool {
        thought.is_hurried && thought.n_closed.is_some()
    }

    /// All tokens but those that end the answer or mark something else than thinking, and those that close thinking and
    /// begin the answer at once: the grammar could not check that beginning.
    pub fn mask(&self, env: &TokEnv, thought: &Thought, n_words: usize) -> Vec<u32> {
        let trie = env.tok_trie();
        let mut words = vec![u32::MAX; n_words];
        let mut clear = |token: u32| {
            if let Some(word) = words.get_mut(token as usize / 32) {
                *word &= !(1 << (token % 32));
            }
        };
        trie.eos_tokens().iter().chain(&self.strays).for_each(|token| clear(*token));
        let n_begun = n_begun(&thought.tail, &self.close);
        if n_begun > 0 {
            let rest = &self.close[n_begun..];
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

/// How many bytes of a tag, short of all, end a text.
fn n_begun(text: &[u8], tag: &[u8]) -> usize {
    (1..tag.len()).rev().find(|n| text.ends_with(&tag[..*n])).unwrap_or(0)
}
