//! Byte-level BPE (`gpt2` in GGUF): merges are in the file, the pre-tokenizer is named in it.

use serde_json::{Value, json};

use super::super::error::ImportError;
use super::super::metadata::Metadata;
use super::{Vocabulary, pre_tokenizer, refused, stored_merges};

/// tokenizer.json without added tokens and post-processor.
pub fn tokenizer(metadata: &Metadata, vocabulary: &Vocabulary<'_>) -> Result<Value, ImportError> {
    let name = metadata.text("tokenizer.ggml.pre")?.unwrap_or("default");
    let pre = pre_tokenizer::find(name)
        .ok_or_else(|| refused(format!("its pre-tokenizer `{name}` is not known, and guessing would garble text")))?;
    let merges = stored_merges(metadata, vocabulary)?;
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
