//! The tokenizer as the grammar engine wants it: a trie of the tokens' bytes.
//!
//! Bytes are those that the answer's text gets. Special tokens that mark calls and reasoning are plain text here, as the
//! parser reads them; all others are set apart, so that no text can stand for one.

use std::collections::BTreeSet;
use std::sync::Arc;

use llguidance::toktrie::{INVALID_TOKEN, TokEnv, TokRxInfo, TokTrie, TokenizerEnv};

use crate::{Specials, Tokenizer};

/// Encoded before a text that does not begin one, so that tokenizers that prepend a space do it there.
const SENTINEL: &str = "\u{2}";

/// What a grammar is compiled for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenScope {
    /// Logits per position: as many bits has every mask.
    pub n_vocab: usize,
    /// Tokens that end an answer; allowed only where the grammar may end.
    pub ends: Vec<u32>,
}

/// A tokenizer with its trie.
pub(crate) struct Vocabulary {
    tokenizer: Arc<Tokenizer>,
    trie: TokTrie,
}

impl Vocabulary {
    /// `shown` are the special tokens that the answer's text contains.
    pub fn new(tokenizer: Arc<Tokenizer>, shown: &BTreeSet<u32>, scope: &TokenScope) -> Self {
        let n_vocab = scope.n_vocab.max(tokenizer.n_vocab());
        let word = |id: u32| {
            let bytes = tokenizer.token_bytes(id);
            let is_set_apart = scope.ends.contains(&id) || (tokenizer.is_special(id) && !shown.contains(&id));
            match (bytes.is_empty(), is_set_apart) {
                (true, _) => Vec::new(),
                (false, true) => [&[TokTrie::SPECIAL_TOKEN_MARKER], bytes.as_slice()].concat(),
                // A byte that UTF-8 never has; the trie gives it another meaning.
                (false, false) if bytes.contains(&TokTrie::SPECIAL_TOKEN_MARKER) => Vec::new(),
                (false, false) => bytes,
            }
        };
        let words: Vec<Vec<u8>> = (0..n_vocab as u32).map(word).collect();
        let ends: Vec<u32> = scope.ends.iter().copied().filter(|id| (*id as usize) < n_vocab).collect();
        let info = TokRxInfo::new(n_vocab as u32, ends.first().copied().unwrap_or(INVALID_TOKEN));
        let trie = TokTrie::from(&info, &words);
        let trie = if ends.is_empty() { trie } else { trie.with_eos_tokens(&ends) };
        Self { tokenizer, trie }
    }

    /// As the grammar engine takes it.
    pub fn into_env(self) -> TokEnv {
        Arc::new(self)
    }

    /// The tokenizer's own way to write `text`, if its tokens have exactly these bytes.
    fn canonical(&self, text: &str) -> Option<Vec<u32>> {
        let plain = self.tokenizer.encode(text, Specials::Omit).ok()?;
        if self.spells(&plain, text) {
            return Some(plain);
        }
        let sentinel = self.tokenizer.encode(SENTINEL, Specials::Omit).ok()?;
        let marked = self.tokenizer.encode(&format!("{SENTINEL}{text}"), Specials::Omit).ok()?;
        let tokens = marked.strip_prefix(sentinel.as_slice())?;
        self.spells(tokens, text).then(|| tokens.to_vec())
    }

    fn spells(&self, tokens: &[u32], text: &str) -> bool {
        let mut rest = text.as_bytes();
        for token in tokens {
            let word = self.trie.token(*token);
            match rest.strip_prefix(word).filter(|_| !word.is_empty()) {
                Some(after) => rest = after,
                None => return false,
            }
        }
        rest.is_empty()
    }
}

impl TokenizerEnv for Vocabulary {
    fn tok_trie(&self) -> &TokTrie {
        &self.trie
    }

    fn tokenize_bytes(&self, bytes: &[u8]) -> Vec<u32> {
        let canonical = std::str::from_utf8(bytes).ok().and_then(|text| self.canonical(text));
        canonical.unwrap_or_else(|| self.trie.greedy_tokenize(bytes))
    }
}

#[cfg(test)]
#[path = "vocabulary_tests.rs"]
mod tests;
