//! What each token contributes to the text, as bytes.
//!
//! A `tokenizer.json` decoder works on a whole list of tokens. Those of language models are local: each token's bytes
//! depend on the token alone, but for spaces at the very start. That makes incremental decoding a concatenation.

use serde_json::Value;

use crate::tokenizer::TokenizerError;

/// Bytes of every token, the start rule and the way broken UTF-8 is shown.
#[derive(Debug)]
pub(crate) struct TokenBytes {
    /// All tokens' bytes, end to end.
    bytes: Vec<u8>,
    /// `starts[id]..starts[id + 1]` are the token's bytes; `n_vocab + 1` entries.
    starts: Vec<u32>,
    /// Whether the id is a special token, which decoding skips.
    special: Vec<bool>,
    /// What happens at the start of the text.
    pub start: StartRule,
    /// How broken UTF-8 is shown.
    pub broken: BrokenUtf8,
}

/// What a decoder drops at the start of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StartRule {
    /// Nothing.
    Keep,
    /// Up to so many spaces (sentencepiece's dummy prefix).
    Spaces(usize),
    /// Every space of the first token (`Metaspace`).
    FirstTokenSpaces,
}

/// How many U+FFFD stand for bytes that are not UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BrokenUtf8 {
    /// One per maximal broken sequence (byte-level BPE).
    PerSequence,
    /// One per byte (byte-fallback tokens).
    PerByte,
}

impl TokenBytes {
    /// Runs `decoder` (the field of `tokenizer.json`) over every token; `tokens[id]` is its text and whether it is special.
    pub fn new(decoder: &Value, tokens: &[Option<(String, bool)>]) -> Result<Self, TokenizerError> {
        let mut chain = Chain::default();
        chain.add(decoder)?;
        let mut table = Self {
            bytes: Vec::new(),
            starts: vec![0],
            special: Vec::with_capacity(tokens.len()),
            start: chain.start,
            broken: chain.broken,
        };
        for token in tokens {
            if let Some((text, _)) = token {
                chain.decode(text, &mut table.bytes);
            }
            table.starts.push(table.bytes.len() as u32);
            table.special.push(token.as_ref().is_some_and(|(_, special)| *special));
        }
        Ok(table)
    }

    /// Number of ids, unused ones included.
    pub fn n_vocab(&self) -> usize {
        self.special.len()
    }

    /// Bytes of a token; empty for an unknown id.
    pub fn get(&self, id: u32) -> &[u8] {
        match self.starts.get(id as usize..id as usize + 2) {
            Some(&[start, end]) => &self.bytes[start as usize..end as usize],
            _ => &[],
        }
    }

    /// Whether decoding skips the token.
    pub fn is_special(&self, id: u32) -> bool {
        self.special.get(id as usize).copied().unwrap_or(false)
    }
}

/// A decoder's steps, flattened.
struct Chain {
    steps: Vec<Step>,
    start: StartRule,
    broken: BrokenUtf8,
    /// Whether the tokens are one string by now, so that a strip acts on the text's start only.
    fused: bool,
}

impl Default for Chain {
    fn default() -> Self {
        Self { steps: Vec::new(), start: StartRule::Keep, broken: BrokenUtf8::PerSequence, fused: false }
    }
}

/// One per-token step.
enum Step {
    Replace { pattern: String, content: String },
    StripStart { content: char, n: usize },
    WordPiece { prefix: String },
    ByteFallback,
    ByteLevel,
}

impl Chain {
    fn add(&mut self, decoder: &Value) -> Result<(), TokenizerError> {
        let kind = decoder.get("type").and_then(Value::as_str).unwrap_or("none");
        match kind {
            "Sequence" => {
                let steps = decoder.get("decoders").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
                steps.iter().try_for_each(|step| self.add(step))?;
            }
            "Replace" => self.steps.push(replace(decoder).ok_or_else(|| unsupported("Replace with a pattern"))?),
            "ByteFallback" => {
                self.broken = BrokenUtf8::PerByte;
                self.steps.push(Step::ByteFallback);
            }
            "ByteLevel" => self.steps.push(Step::ByteLevel),
            "Fuse" => self.fused = true,
            "Strip" => self.add_strip(decoder)?,
            "Metaspace" => self.add_metaspace(decoder),
            "WordPiece" => {
                let prefix = decoder.get("prefix").and_then(Value::as_str).unwrap_or("##").to_owned();
                self.steps.push(Step::WordPiece { prefix });
                self.start = StartRule::Spaces(1);
            }
            _ => return Err(unsupported(kind)),
        }
        Ok(())
    }

    fn add_strip(&mut self, decoder: &Value) -> Result<(), TokenizerError> {
        let count = |name| decoder.get(name).and_then(Value::as_u64).unwrap_or(0) as usize;
        let content = decoder.get("content").and_then(Value::as_str).and_then(|text| text.chars().next());
        let (n, content) = (count("start"), content.unwrap_or(' '));
        if count("stop") > 0 || (self.fused && content != ' ') {
            return Err(unsupported("Strip at the end, or of something else than spaces"));
        }
        if self.fused {
            self.start = StartRule::Spaces(n);
        } else {
            self.steps.push(Step::StripStart { content, n });
        }
        Ok(())
    }

    fn add_metaspace(&mut self, decoder: &Value) {
        let mark = decoder.get("replacement").and_then(Value::as_str).unwrap_or("▁");
        self.steps.push(Step::Replace { pattern: mark.to_owned(), content: " ".to_owned() });
        let scheme = decoder.get("prepend_scheme").and_then(Value::as_str);
        let legacy = decoder.get("add_prefix_space").and_then(Value::as_bool);
        if scheme != Some("never") && legacy != Some(false) {
            self.start = StartRule::FirstTokenSpaces;
        }
    }

    /// Appends the bytes of one token.
    fn decode(&self, token: &str, out: &mut Vec<u8>) {
        let mut text = token.to_owned();
        for step in &self.steps {
            match step {
                Step::Replace { pattern, content } => text = text.replace(pattern, content),
                Step::StripStart { content, n } => text = strip_start(&text, *content, *n).to_owned(),
                Step::WordPiece { prefix } => {
                    text = text.strip_prefix(prefix).map_or_else(|| format!(" {text}"), str::to_owned);
                }
                Step::ByteFallback => {
                    if let Some(byte) = fallback_byte(&text) {
                        return out.push(byte);
                    }
                }
                Step::ByteLevel => return push_byte_level(&text, out),
            }
        }
        out.extend_from_slice(text.as_bytes());
    }
}

fn unsupported(decoder: &str) -> TokenizerError {
    TokenizerError::Decoder { decoder: decoder.to_owned() }
}

fn replace(decoder: &Value) -> Option<Step> {
    let pattern = decoder.get("pattern")?.get("String")?.as_str()?.to_owned();
    let content = decoder.get("content")?.as_str()?.to_owned();
    Some(Step::Replace { pattern, content })
}

fn strip_start(text: &str, content: char, n: usize) -> &str {
    let mut rest = text;
    for _ in 0..n {
        let Some(shorter) = rest.strip_prefix(content) else { break };
        rest = shorter;
    }
    rest
}

/// The byte of a token such as `<0xE4>`.
fn fallback_byte(token: &str) -> Option<u8> {
    let digits = token.strip_prefix("<0x")?.strip_suffix('>')?;
    if digits.len() != 2 {
        return None;
    }
    u8::from_str_radix(digits, 16).ok()
}

/// GPT-2's printable stand-ins back to bytes; a token with any other character (an added one) is its own text.
fn push_byte_level(text: &str, out: &mut Vec<u8>) {
    let start = out.len();
    for character in text.chars() {
        match byte_of(character) {
            Some(byte) => out.push(byte),
            None => {
                out.truncate(start);
                return out.extend_from_slice(text.as_bytes());
            }
        }
    }
}

/// Inverse of GPT-2's `bytes_to_unicode`: printable bytes stand for themselves, the others for U+0100 onwards in order.
fn byte_of(character: char) -> Option<u8> {
    match character as u32 {
        code @ (0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff) => Some(code as u8),
        code @ 0x100..=0x120 => Some((code - 0x100) as u8),
        code @ 0x121..=0x142 => Some((code - 0x121 + 0x7f) as u8),
        0x143 => Some(0xad),
        _ => None,
    }
}

/// GPT-2's printable stand-in for a byte.
pub(crate) fn printable(byte: u8) -> char {
    let code = match byte {
        0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff => u32::from(byte),
        0..=0x20 => 0x100 + u32::from(byte),
        0x7f..=0xa0 => 0x121 + u32::from(byte - 0x7f),
        0xad => 0x143,
    };
    char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
}
