//! SentencePiece vocabularies as BPE with byte fallback, the way Hugging Face converts them. Where the file has no merges
//! (`llama` in GGUF) there is one for every way to split a piece into two pieces, best score first.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::super::error::ImportError;
use super::super::metadata::Metadata;
use super::{TokenType, Vocabulary, refused, stored_merges};

/// The character that stands for a space in pieces.
const SPACE: &str = "\u{2581}";

/// tokenizer.json without added tokens and post-processor.
pub fn tokenizer(metadata: &Metadata, vocabulary: &mut Vocabulary<'_>) -> Result<Value, ImportError> {
    let key = "tokenizer.ggml.scores";
    let scores = metadata.need(key, metadata.numbers(key)?)?;
    if scores.len() != vocabulary.tokens.len() {
        return Err(refused(format!("{} scores for {} tokens", scores.len(), vocabulary.tokens.len())));
    }
    restore_spaces(vocabulary);
    let prefixed = metadata.flag("tokenizer.ggml.add_space_prefix")?.unwrap_or(true);
    let merges = merges(vocabulary, &scores)?;
    Ok(document(vocabulary, &merges, Prefix::of(prefixed)))
}

/// As [`tokenizer`], for files that hold the merges (`gemma4` in GGUF).
pub fn merged_tokenizer(metadata: &Metadata, vocabulary: &mut Vocabulary<'_>) -> Result<Value, ImportError> {
    restore_spaces(vocabulary);
    let prefixed = metadata.flag("tokenizer.ggml.add_space_prefix")?.unwrap_or(false);
    let merges = stored_merges(metadata, vocabulary)?;
    Ok(document(vocabulary, &merges, Prefix::of(prefixed)))
}

/// Whether a space is put before the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Prefix {
    Space,
    None,
}

impl Prefix {
    fn of(is_prefixed: bool) -> Self {
        if is_prefixed { Self::Space } else { Self::None }
    }
}

fn document(vocabulary: &Vocabulary<'_>, merges: &[[&str; 2]], prefix: Prefix) -> Value {
    let replace = json!({"type": "Replace", "pattern": {"String": " "}, "content": SPACE});
    let prepend = json!({"type": "Prepend", "prepend": SPACE});
    let strip = json!({"type": "Strip", "content": " ", "start": 1, "stop": 0});
    let mut decoders = vec![
        json!({"type": "Replace", "pattern": {"String": SPACE}, "content": " "}),
        json!({"type": "ByteFallback"}),
        json!({"type": "Fuse"}),
    ];
    decoders.extend((prefix == Prefix::Space).then_some(strip));
    let normalizer = match prefix {
        Prefix::Space => json!({"type": "Sequence", "normalizers": [prepend, replace]}),
        Prefix::None => replace,
    };
    json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": null,
        "normalizer": normalizer,
        "pre_tokenizer": null,
        "post_processor": null,
        "decoder": {"type": "Sequence", "decoders": decoders},
        "model": {
            "type": "BPE", "dropout": null, "unk_token": unknown(vocabulary), "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": true, "byte_fallback": true, "ignore_merges": false,
            "vocab": vocabulary.map(), "merges": merges,
        },
    })
}

/// GGUF writes runs of spaces that the user defined as spaces; the pieces themselves are runs of [`SPACE`].
fn restore_spaces(vocabulary: &mut Vocabulary<'_>) {
    let defined =
        vocabulary.tokens.iter_mut().zip(&vocabulary.types).filter(|(_, kind)| **kind == TokenType::UserDefined);
    for (token, _) in defined {
        if !token.is_empty() && token.chars().all(|c| c == ' ') {
            *token = Cow::Owned(SPACE.repeat(token.len()));
        }
    }
    vocabulary.index();
}

fn unknown<'a>(vocabulary: &'a Vocabulary<'_>) -> Option<&'a str> {
    let id = vocabulary.types.iter().position(|kind| *kind == TokenType::Unknown)?;
    Some(&vocabulary.tokens[id])
}

/// Most merges accepted, which bounds memory; the largest published vocabularies make an eighth of it.
const N_MERGES_MAX: usize = 1 << 22;
/// Longest piece that is split, in bytes. Splitting takes the square of the length, and real pieces are far shorter.
const N_PIECE_BYTES_MAX: usize = 512;

/// One way to make a piece of two.
struct Merge<'a> {
    score: f64,
    /// Ids of the piece and its halves.
    ids: (usize, usize, usize),
    /// Characters of the halves.
    lens: (usize, usize),
    halves: [&'a str; 2],
}

/// All merges: better-scored pieces first, then longer halves first, then as they come in the vocabulary.
fn merges<'a>(vocabulary: &'a Vocabulary<'_>, scores: &[f64]) -> Result<Vec<[&'a str; 2]>, ImportError> {
    let mut merges = Vec::new();
    for (id, piece) in vocabulary.tokens.iter().enumerate() {
        let is_text = matches!(vocabulary.types[id], TokenType::Normal | TokenType::UserDefined);
        if merges.len() > N_MERGES_MAX {
            return Err(refused(format!("its pieces make more than {N_MERGES_MAX} merges")));
        }
        if !is_text || piece.len() > N_PIECE_BYTES_MAX {
            continue;
        }
        // What the user defined is made before anything else, whatever score a converter wrote.
        let score = if vocabulary.types[id] == TokenType::Normal { scores[id] } else { f64::INFINITY };
        let n_chars = piece.chars().count();
        for (n, (at, _)) in piece.char_indices().enumerate().skip(1) {
            let (left, right) = piece.split_at(at);
            if let (Some(&l), Some(&r)) = (vocabulary.ids.get(left), vocabulary.ids.get(right)) {
                let lens = (n, n_chars - n);
                merges.push(Merge { score, ids: (id, l, r), lens, halves: [left, right] });
            }
        }
    }
    merges
        .sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| b.lens.cmp(&a.lens)).then_with(|| a.ids.cmp(&b.ids)));
    Ok(merges.into_iter().map(|merge| merge.halves).collect())
}
