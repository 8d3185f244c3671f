//! SentencePiece vocabularies (`llama` in GGUF) as BPE with byte fallback, the way Hugging Face converts them: a merge
//! for every way to split a piece into two pieces, best score first.

use serde_json::{Value, json};

use super::super::error::ImportError;
use super::super::metadata::Metadata;
use super::{TokenType, Vocabulary, refused};

/// The character that stands for a space in pieces.
const SPACE: &str = "\u{2581}";

/// tokenizer.json without added tokens and post-processor.
pub fn tokenizer(metadata: &Metadata, vocabulary: &Vocabulary<'_>) -> Result<Value, ImportError> {
    let key = "tokenizer.ggml.scores";
    let scores = metadata.need(key, metadata.numbers(key)?)?;
    if scores.len() != vocabulary.tokens.len() {
        return Err(refused(format!("{} scores for {} tokens", scores.len(), vocabulary.tokens.len())));
    }
    let prefixed = metadata.flag("tokenizer.ggml.add_space_prefix")?.unwrap_or(true);
    let replace = json!({"type": "Replace", "pattern": {"String": " "}, "content": SPACE});
    let prepend = json!({"type": "Prepend", "prepend": SPACE});
    let strip = json!({"type": "Strip", "content": " ", "start": 1, "stop": 0});
    let mut decoders = vec![
        json!({"type": "Replace", "pattern": {"String": SPACE}, "content": " "}),
        json!({"type": "ByteFallback"}),
        json!({"type": "Fuse"}),
    ];
    decoders.extend(prefixed.then_some(strip));
    let normalizer = if prefixed { json!({"type": "Sequence", "normalizers": [prepend, replace]}) } else { replace };
    Ok(json!({
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
            "vocab": vocabulary.map(), "merges": merges(vocabulary, &scores),
        },
    }))
}

fn unknown<'a>(vocabulary: &Vocabulary<'a>) -> Option<&'a str> {
    let id = vocabulary.types.iter().position(|kind| *kind == TokenType::Unknown)?;
    Some(vocabulary.tokens[id])
}

/// Longest piece that is split, in bytes. Splitting takes the square of the length, and real pieces are far shorter.
const N_PIECE_BYTES_MAX: usize = 512;

/// All merges, those of better-scored pieces first; of one piece, as their halves come in the vocabulary.
fn merges<'a>(vocabulary: &Vocabulary<'a>, scores: &[f64]) -> Vec<[&'a str; 2]> {
    let mut merges = Vec::new();
    for (id, &piece) in vocabulary.tokens.iter().enumerate() {
        if vocabulary.types[id] != TokenType::Normal || piece.len() > N_PIECE_BYTES_MAX {
            continue;
        }
        for (at, _) in piece.char_indices().skip(1) {
            let (left, right) = piece.split_at(at);
            if let (Some(&l), Some(&r)) = (vocabulary.ids.get(left), vocabulary.ids.get(right)) {
                merges.push((scores[id], id, l, r, [left, right]));
            }
        }
    }
    merges.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| (a.1, a.2, a.3).cmp(&(b.1, b.2, b.3))));
    merges.into_iter().map(|(.., pair)| pair).collect()
}
