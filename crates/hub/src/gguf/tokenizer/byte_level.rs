//! Byte-level BPE (`gpt2` in GGUF): merges are in the file, the pre-tokenizer is named in it.

use serde_json::{Value, json};

use super::super::error::ImportError;
use super::super::metadata::Metadata;
use super::{Vocabulary, pre_tokenizer, refused};

/// tokenizer.json without added tokens and post-processor.
pub fn tokenizer(metadata: &Metadata, vocabulary: &Vocabulary<'_>) -> Result<Value, ImportError> {
    let name = metadata.text("tokenizer.ggml.pre")?.unwrap_or("default");
    let pre = pre_tokenizer::find(name)
        .ok_or_else(|| refused(format!("its pre-tokenizer `{name}` is not known, and guessing would garble text")))?;
    let key = "tokenizer.ggml.merges";
    let merges = metadata.need(key, metadata.texts(key)?)?;
    // A merge of texts outside the vocabulary can never apply, and loaders refuse it.
    let known = |pair: &[&str; 2]| {
        let whole = || vocabulary.ids.contains_key(pair.concat().as_str());
        pair.iter().all(|part| vocabulary.ids.contains_key(*part)) && whole()
    };
    let merges: Vec<_> = merges.into_iter().filter_map(split).filter(known).collect();
    Ok(json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": null,
        "normalizer": pre.normalizer(),
        "pre_tokenizer": pre.pre_tokenizer(),
        "post_processor": null,
        "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
        "model": {
            "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false,
            "ignore_merges": pre.ignores_merges, "vocab": vocabulary.map(), "merges": merges,
        },
    }))
}

/// The two sides of `left right`. A text may begin with the space that it stands for.
fn split(merge: &str) -> Option<[&str; 2]> {
    let second = merge.char_indices().nth(1)?.0;
    let at = second + merge[second..].find(' ')?;
    Some([&merge[..at], &merge[at + 1..]])
}
