//! Mistral's `tekken.json` as a `tokenizer.json`: special tokens first, then byte pairs by their rank.
//!
//! Source: the format's own reader in Mistral's `mistral-common`, and the way Hugging Face turns ranks into merges.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::token_bytes::printable;

/// Most entries of the vocabulary, and the longest of them in bytes.
const N_ENTRIES_MAX: usize = 1 << 20;
const ENTRY_BYTES_MAX: usize = 1024;

/// Special tokens of files that do not list them, by id; the others up to their number have no use.
const SPECIALS: [&str; 20] = [
    "<unk>",
    "<s>",
    "</s>",
    "[INST]",
    "[/INST]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "[TOOL_CALLS]",
    "[IMG]",
    "<pad>",
    "[IMG_BREAK]",
    "[IMG_END]",
    "[PREFIX]",
    "[MIDDLE]",
    "[SUFFIX]",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "[TOOL_CONTENT]",
];

#[derive(Deserialize)]
struct Tekken {
    config: Config,
    vocab: Vec<Entry>,
    #[serde(default)]
    special_tokens: Vec<Special>,
}

#[derive(Deserialize)]
struct Config {
    pattern: String,
    default_vocab_size: usize,
    default_num_special_tokens: usize,
}

#[derive(Deserialize)]
struct Entry {
    token_bytes: String,
}

#[derive(Deserialize)]
struct Special {
    rank: usize,
    token_str: String,
}

/// The `tokenizer.json` of a `tekken.json`.
///
/// # Errors
/// When it is none, or larger than any; the text says what is wrong.
pub(crate) fn document(bytes: &[u8]) -> Result<Value, String> {
    let tekken: Tekken = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let Config { pattern, default_vocab_size: n_vocab, default_num_special_tokens: n_special } = &tekken.config;
    if *n_vocab > N_ENTRIES_MAX || n_special >= n_vocab {
        return Err(format!("it has {n_vocab} tokens of which {n_special} are special, but may have {N_ENTRIES_MAX}"));
    }
    let words = tekken.vocab.iter().take(n_vocab - n_special).map(|entry| base64(&entry.token_bytes));
    let words: Vec<Vec<u8>> = words.collect::<Option<_>>().ok_or("a token's bytes are not base64")?;
    if words.iter().any(|word| word.len() > ENTRY_BYTES_MAX) {
        return Err(format!("a token is longer than {ENTRY_BYTES_MAX} bytes"));
    }
    let specials = tekken.specials();
    let mut vocab = Map::new();
    vocab.extend(specials.iter().map(|(id, text)| (text.clone(), json!(id))));
    for (rank, word) in words.iter().enumerate() {
        // A text of a special token is never made of others.
        vocab.entry(shown(word)).or_insert_with(|| json!(rank + n_special));
    }
    let added = specials.iter().map(|(id, text)| {
        json!({"id": id, "content": text, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
            "special": true})
    });
    let split = json!({"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false});
    let bytes = json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false});
    Ok(json!({
        "version": "1.0", "truncation": null, "padding": null, "normalizer": null,
        "added_tokens": added.collect::<Vec<_>>(),
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, bytes]},
        "post_processor": begin(&specials),
        "decoder": bytes,
        "model": {
            "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": true,
            "vocab": vocab, "merges": merges(&words),
        },
    }))
}

impl Tekken {
    /// Ids and texts of the special tokens.
    fn specials(&self) -> Vec<(usize, String)> {
        let n = self.config.default_num_special_tokens;
        if self.special_tokens.is_empty() {
            return SPECIALS.iter().take(n).enumerate().map(|(id, text)| (id, (*text).to_owned())).collect();
        }
        let listed = self.special_tokens.iter().filter(|special| special.rank < n && !special.token_str.is_empty());
        listed.map(|special| (special.rank, special.token_str.clone())).collect()
    }
}

/// Puts `<s>` before every text of its own.
fn begin(specials: &[(usize, String)]) -> Value {
    let Some((id, text)) = specials.iter().find(|(_, text)| text == "<s>") else { return Value::Null };
    let part = |name: &str, idx: usize| json!({"Sequence": {"id": name, "type_id": idx}});
    let bos = json!({"SpecialToken": {"id": text, "type_id": 0}});
    json!({
        "type": "TemplateProcessing", "single": [bos, part("A", 0)], "pair": [bos, part("A", 0), part("B", 1)],
        "special_tokens": {text: {"id": text, "ids": [id], "tokens": [text]}},
    })
}

fn shown(word: &[u8]) -> String {
    word.iter().map(|byte| printable(*byte)).collect()
}

/// The two parts that each word is made of in the end, when what has the lowest rank is put together first.
fn merges(words: &[Vec<u8>]) -> Vec<[String; 2]> {
    let mut ranks: HashMap<&[u8], usize> = HashMap::with_capacity(words.len());
    words.iter().enumerate().for_each(|(rank, word)| {
        ranks.entry(word).or_insert(rank);
    });
    let halves = |(rank, word): (usize, &Vec<u8>)| {
        let at = last_cut(word, rank, &ranks)?;
        Some([shown(&word[..at]), shown(&word[at..])])
    };
    words.iter().enumerate().filter_map(halves).collect()
}

/// Where the last two parts of a word meet; `None` if it is one byte, or is never made.
fn last_cut(word: &[u8], rank: usize, ranks: &HashMap<&[u8], usize>) -> Option<usize> {
    let mut cuts: Vec<usize> = (0..=word.len()).collect();
    while cuts.len() > 3 {
        let pairs = cuts.windows(3).enumerate();
        let made = pairs.filter_map(|(at, cut)| Some((*ranks.get(&word[cut[0]..cut[2]])?, at + 1)));
        let (_, at) = made.filter(|(made, _)| *made < rank).min()?;
        cuts.remove(at);
    }
    (cuts.len() == 3).then(|| cuts[1])
}

/// Bytes of a text in base64; `None` when it is none.
fn base64(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() * 3 / 4);
    let (mut bits, mut n_bits) = (0_u32, 0);
    for byte in text.trim_end_matches('=').bytes() {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(digit);
        n_bits += 6;
        if n_bits >= 8 {
            n_bits -= 8;
            out.push((bits >> n_bits) as u8);
        }
    }
    Some(out)
}

#[cfg(test)]
#[path = "tekken_tests.rs"]
mod tests;
