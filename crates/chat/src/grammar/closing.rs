//! Leads an answer to its end before the tokens that it may have run out.
//!
//! The way to the end is found by trying what usually closes things, so it works for every grammar, and need not be the
//! shortest. Near the limit only such tokens may come from which there is a way within what is left.

use std::collections::VecDeque;
use std::sync::Arc;

use llguidance::Matcher;
use llguidance::toktrie::{TokEnv, TokTrie};
use serde_json::Value;

use super::compiler::Compiler;
use super::schema::widest;
use super::shape::CallShape;

/// Tokens that ways may be longer than found: what is forced may be cut into tokens otherwise.
const N_RESERVE: usize = 2;
/// The way is looked for when so many tokens are left.
const N_LEFT_MAX: usize = 2048;
/// Masks of more tokens are as those of running text: only tokens that may end it are tried.
const N_TRIED_MAX: usize = 1024;
/// Most tokens of a mask for which another way is looked for.
const N_SEARCHES_MAX: usize = 12;
/// The least reach.
pub(super) const REACH: usize = 24;

/// JSON without content, to see how many bytes of it a token has.
const SAMPLE: &str = r#"{"name": "", "age": 0, "items": [], "where": {"city": "", "is_far": false}}"#;

/// A token for every ASCII character, where the vocabulary has one.
pub(super) type Characters = [Option<u32>; 128];

pub(super) fn characters(trie: &TokTrie) -> Characters {
    let mut characters = [None; 128];
    for token in 0..trie.vocab_size() as u32 {
        if let [byte @ 0..=127] = trie.token(token)
            && !trie.eos_tokens().contains(&token)
        {
            characters[usize::from(*byte)].get_or_insert(token);
        }
    }
    characters
}

/// By how many tokens one more may make the way longer, for values of these schemas.
pub(super) fn reach<'a>(env: &TokEnv, schemas: impl IntoIterator<Item = &'a Value>) -> usize {
    let n_tokens = env.tokenize_bytes(SAMPLE.as_bytes()).len();
    REACH + schemas.into_iter().map(widest).max().unwrap_or(0) * n_tokens / SAMPLE.len()
}

/// How answers of one grammar are closed.
pub(super) struct Closing {
    pub characters: Arc<Characters>,
    /// What ends arguments and with them calls, in tokens; the best first.
    pub endings: Vec<Vec<u32>>,
    /// What ends a block of calls; text to running text.
    pub block_end: Vec<u32>,
    /// What ends running text, and may begin it, too.
    pub quotes: Vec<Vec<u32>>,
    /// Ends an answer that could go on.
    pub end: Option<u32>,
    /// By how much one more token may make the way longer, roughly.
    pub reach: usize,
}

/// Tokens that complete an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Way {
    tokens: VecDeque<u32>,
    /// Whether a token must say that this is the end.
    needs_end: bool,
}

impl Way {
    pub fn cost(&self) -> usize {
        self.tokens.len() + usize::from(self.needs_end)
    }
}

/// What is left of the tokens that an answer may have.
#[derive(Clone, Debug)]
pub(super) struct Allowance {
    n_left: usize,
    /// The way is looked for when no more are left.
    check_at: usize,
    way: Option<Way>,
    is_binding: bool,
}

impl Allowance {
    pub fn new(n_max: usize) -> Self {
        Self { n_left: n_max, check_at: N_LEFT_MAX, way: None, is_binding: false }
    }

    pub fn n_left(&self) -> usize {
        self.n_left
    }

    pub fn is_binding(&self) -> bool {
        self.is_binding
    }

    /// Notes that the answer was kept from going on as it might have.
    pub fn bind(&mut self) {
        self.is_binding = true;
    }

    /// Takes the next token of the answer.
    pub fn take(&mut self, token: u32) {
        self.n_left = self.n_left.saturating_sub(1);
        if let Some(way) = self.way.as_mut().filter(|way| way.tokens.front() == Some(&token)) {
            way.tokens.pop_front();
        }
    }

    /// Leaves of the tokens that may come next those from which there is a way to the end.
    pub fn restrict(&mut self, closing: &Closing, matcher: &mut Matcher, words: &mut [u32]) {
        if self.n_left > self.check_at || matcher.is_stopped() {
            return;
        }
        let known = self.way.take().filter(|way| closing.completes(matcher, None, way));
        let Some(way) = known.or_else(|| closing.way(matcher, self.n_left)) else {
            self.check_at = self.n_left / 2;
            return;
        };
        let n_needed = way.cost() + N_RESERVE;
        if self.n_left > n_needed + closing.reach {
            self.check_at = self.n_left - (self.n_left - n_needed - closing.reach).div_ceil(4);
        } else if self.n_left <= n_needed {
            self.follow(closing, &way, words);
        } else {
            self.check_at = usize::MAX;
            self.sift(closing, (matcher, &way), words);
        }
        self.way = Some(way);
    }

    /// Leaves the way's next token only, unless it is too late for the way.
    fn follow(&mut self, closing: &Closing, way: &Way, words: &mut [u32]) {
        let Some(next) = way.tokens.front().copied().or(closing.end) else { return };
        if self.n_left < way.cost() {
            return;
        }
        self.is_binding |= words.iter().map(|word| word.count_ones()).sum::<u32>() > 1;
        words.fill(0);
        words[next as usize / 32] |= 1 << (next % 32);
    }

    fn sift(&mut self, closing: &Closing, (matcher, way): (&mut Matcher, &Way), words: &mut [u32]) {
        let Ok(env) = matcher.tok_env() else { return };
        let trie = env.tok_trie();
        let n_allowed = words.iter().map(|word| word.count_ones() as usize).sum::<usize>();
        let is_text = closing.is_text(matcher) || n_allowed > N_TRIED_MAX;
        let next = way.tokens.front().copied();
        let mark = next.and_then(|token| trie.token(token).first().copied());
        let is_fine = |token: u32| {
            let bytes = trie.token(token);
            let may_end = mark.is_some_and(|mark| bytes.contains(&mark));
            is_text && !may_end && !bytes.ends_with(b"\\") && std::str::from_utf8(bytes).is_ok()
        };
        let mut n_searches = 0;
        for token in tokens_of(words) {
            let is_end = trie.eos_tokens().contains(&token);
            if is_end || next == Some(token) || is_fine(token) || closing.completes(matcher, Some(token), way) {
                continue;
            }
            n_searches += 1;
            if n_searches <= N_SEARCHES_MAX {
                if closing.has_way_after(matcher, token, self.n_left - 1 - N_RESERVE) {
                    continue;
                }
                self.is_binding = true;
            }
            words[token as usize / 32] &= !(1 << (token % 32));
        }
    }
}

fn tokens_of(words: &[u32]) -> Vec<u32> {
    let of_word = |(at, word): (usize, &u32)| {
        let word = *word;
        (0..32).filter(move |bit| word >> bit & 1 == 1).map(move |bit| at as u32 * 32 + bit)
    };
    words.iter().enumerate().filter(|(_, word)| **word != 0).flat_map(of_word).collect()
}

impl Closing {
    /// Of a grammar with calls of this shape, if it has calls.
    pub fn new(compiler: &Compiler, shape: Option<&CallShape>, reach: usize) -> Self {
        let env = compiler.env();
        let tokens = |text: &str| env.tokenize_bytes(text.as_bytes());
        // A vocabulary without an end has a token here that is none.
        let mut ends = env.tok_trie().eos_tokens().iter().copied();
        Self {
            characters: compiler.characters(),
            endings: shape.map_or(Vec::new(), |shape| shape.endings().iter().map(|text| tokens(text)).collect()),
            block_end: shape.map_or(Vec::new(), |shape| tokens(shape.end)),
            quotes: shape.map_or(Vec::new(), |shape| shape.quotes().map(tokens).collect()),
            end: ends.find(|token| (*token as usize) < env.tok_trie().vocab_size()),
            reach,
        }
    }

    /// Whether a way, with a token before it, leads from here to the end.
    fn completes(&self, matcher: &mut Matcher, first: Option<u32>, way: &Way) -> bool {
        let tokens: Vec<u32> = first.into_iter().chain(way.tokens.iter().copied()).chain(self.end).collect();
        matcher.validate_tokens(&tokens).is_ok_and(|n| n == tokens.len())
    }

    fn has_way_after(&self, matcher: &Matcher, token: u32, n_max: usize) -> bool {
        let mut along = matcher.clone();
        along.consume_token(token).is_ok() && self.way(&along, n_max).is_some()
    }

    /// A way from here to the end of at most `n_max` tokens.
    pub fn way(&self, matcher: &Matcher, n_max: usize) -> Option<Way> {
        let mut along = matcher.clone();
        let mut tokens = VecDeque::new();
        let mut n_uses = [0; 128];
        loop {
            let needs_end = !along.is_stopped();
            if along.is_error() || tokens.len() + usize::from(needs_end) > n_max {
                return None;
            }
            if !needs_end || along.is_accepting().ok()? {
                return Some(Way { tokens, needs_end });
            }
            let next = self.next(&mut along, &mut n_uses)?;
            along.consume_tokens(&next).ok()?;
            tokens.extend(next);
        }
    }

    /// The token of a character, if it may come next.
    fn takes(&self, matcher: &mut Matcher, byte: u8) -> Option<u32> {
        let token = self.characters[usize::from(byte)]?;
        matcher.validate_tokens(&[token]).is_ok_and(|n| n == 1).then_some(token)
    }

    /// Whether running text may go on.
    fn is_text(&self, matcher: &mut Matcher) -> bool {
        self.takes(matcher, b'q').is_some() && self.takes(matcher, b'Z').is_some()
    }

    /// What is likely to come nearer to the end: what must come, what ends running text, a closer, or what was used least.
    fn next(&self, along: &mut Matcher, n_uses: &mut [usize; 128]) -> Option<Vec<u32>> {
        let forced = along.compute_ff_tokens();
        if !forced.is_empty() {
            return Some(forced);
        }
        let is_text = self.is_text(along);
        let others = if is_text { self.quotes.as_slice() } else { std::slice::from_ref(&self.block_end) };
        let fits = |ending: &&Vec<u32>| along.validate_tokens(ending).is_ok_and(|n| n > 0 && n == ending.len());
        if let Some(ending) = self.endings.iter().chain(others).find(fits) {
            return Some(ending.clone());
        }
        let takes = |along: &mut Matcher, byte: u8| self.takes(along, byte).map(|token| vec![token]);
        let closers: &[u8] = if is_text { b"\"'" } else { b"}])\"'" };
        if let Some(token) = closers.iter().find_map(|byte| takes(along, *byte)) {
            return Some(token);
        }
        let mut others: Vec<u8> = (1..128).collect();
        others.sort_by_key(|byte| rank(*byte) + n_uses[usize::from(*byte)]);
        if let Some((byte, token)) = others.iter().find_map(|byte| Some((*byte, takes(along, *byte)?))) {
            let alike = others.iter().filter(|other| rank(**other) == rank(byte));
            alike.for_each(|other| n_uses[usize::from(*other)] += 2);
            // Another of its kind is next: after `-0.` no number of zeros is a number.
            n_uses[usize::from(byte)] += 1;
            return Some(token);
        }
        let mask = along.compute_mask().ok()?;
        mask.first_bit_set().map(|token| vec![token as u32])
    }
}

/// Characters by how little they open.
fn rank(byte: u8) -> usize {
    match byte {
        b'0'..=b'9' => 0,
        b'a'..=b'z' | b'A'..=b'Z' => 1,
        b'{' | b'[' | b'(' => 3,
        b',' => 4,
        b' ' | b'\t' | b'\n' | b'\r' => 5,
        b'\\' | 0..=31 | 127.. => 9,
        _ => 2,
    }
}

#[cfg(test)]
#[path = "closing_tests.rs"]
mod tests;
