//! Token ids to text, one at a time.

use std::{collections::BTreeSet, sync::Arc};

use crate::{
    Tokenizer,
    token_bytes::{BrokenUtf8, StartRule},
};

/// Turns a stream of token ids into text. The pushes and the finish together equal [`Tokenizer::decode`] of all ids, and
/// a character is shown only when all its bytes are there.
#[derive(Debug)]
pub struct Detokenizer {
    tokenizer: Arc<Tokenizer>,
    decoder: Utf8Decoder,
    start: StartRule,
    shown: Arc<BTreeSet<u32>>,
}

impl Detokenizer {
    /// For output that begins a text of its own: the tokenizer's dummy leading space is dropped.
    pub(crate) fn beginning(tokenizer: Arc<Tokenizer>) -> Self {
        let start = tokenizer.table().start;
        Self { decoder: Utf8Decoder::new(tokenizer.table().broken), start, tokenizer, shown: Arc::default() }
    }

    /// For output that continues a text: every space counts.
    pub(crate) fn continuing(tokenizer: Arc<Tokenizer>) -> Self {
        Self { start: StartRule::Keep, ..Self::beginning(tokenizer) }
    }

    /// Shows these special tokens too: those that mark tool calls and reasoning.
    pub fn showing(self, shown: Arc<BTreeSet<u32>>) -> Self {
        Self { shown, ..self }
    }

    /// Takes the next token and returns the text that is now safe to show. Special tokens and unknown ids give nothing.
    pub fn push(&mut self, id: u32) -> String {
        let table = self.tokenizer.table();
        if table.is_special(id) && !self.shown.contains(&id) {
            return String::new();
        }
        let bytes = apply_start(&mut self.start, table.get(id));
        self.decoder.push(bytes)
    }

    /// Ends the text; an unfinished character comes out as U+FFFD.
    pub fn finish(&mut self) -> String {
        self.decoder.finish()
    }
}

/// Decodes all ids at once.
pub(crate) fn decode(tokenizer: &Tokenizer, ids: &[u32]) -> String {
    let table = tokenizer.table();
    let mut start = table.start;
    let mut decoder = Utf8Decoder::new(table.broken);
    let mut text = String::new();
    for id in ids.iter().filter(|id| !table.is_special(**id)) {
        text.push_str(&decoder.push(apply_start(&mut start, table.get(*id))));
    }
    text.push_str(&decoder.finish());
    text
}

/// Drops what the start rule says and moves the rule on.
fn apply_start<'a>(rule: &mut StartRule, bytes: &'a [u8]) -> &'a [u8] {
    let n_spaces = bytes.iter().take_while(|byte| **byte == b' ').count();
    let n_dropped = match *rule {
        StartRule::Keep => 0,
        StartRule::Spaces(most) => n_spaces.min(most),
        StartRule::FirstTokenSpaces => n_spaces,
    };
    *rule = match *rule {
        StartRule::Spaces(most) if n_dropped == bytes.len() => StartRule::Spaces(most - n_dropped),
        _ => StartRule::Keep,
    };
    &bytes[n_dropped..]
}

/// Bytes to text; holds back at most three bytes of an unfinished character.
#[derive(Debug)]
struct Utf8Decoder {
    pending: Vec<u8>,
    broken: BrokenUtf8,
}

impl Utf8Decoder {
    fn new(broken: BrokenUtf8) -> Self {
        Self { pending: Vec::new(), broken }
    }

    fn push(&mut self, bytes: &[u8]) -> String {
        self.pending.extend_from_slice(bytes);
        let mut text = String::with_capacity(self.pending.len());
        let mut n_done = 0;
        for chunk in self.pending.utf8_chunks() {
            text.push_str(chunk.valid());
            n_done += chunk.valid().len();
            let invalid = chunk.invalid();
            if n_done + invalid.len() == self.pending.len() && is_unfinished(invalid) {
                break;
            }
            n_done += invalid.len();
            push_broken(&mut text, invalid.len(), self.broken);
        }
        self.pending.drain(..n_done);
        text
    }

    fn finish(&mut self) -> String {
        let mut text = String::new();
        push_broken(&mut text, self.pending.len(), self.broken);
        self.pending.clear();
        text
    }
}

/// Whether more bytes could make it a character.
fn is_unfinished(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
}

fn push_broken(text: &mut String, n_bytes: usize, broken: BrokenUtf8) {
    let n = match broken {
        BrokenUtf8::PerSequence => n_bytes.min(1),
        BrokenUtf8::PerByte => n_bytes,
    };
    text.extend(std::iter::repeat_n(char::REPLACEMENT_CHARACTER, n));
}

#[cfg(test)]
#[path = "detokenizer_tests.rs"]
mod tests;
