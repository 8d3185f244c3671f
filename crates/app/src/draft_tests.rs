use std::path::Path;

use serde_json::json;
use tokbar_chat::Tokenizer;

use super::difference;

/// A tokenizer of these words.
fn tokenizer(dir: &Path, words: &[&str]) -> Tokenizer {
    let vocab: serde_json::Map<_, _> =
        words.iter().enumerate().map(|(id, word)| ((*word).to_owned(), json!(id))).collect();
    let file = json!({
        "version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": null, "post_processor": null,
        "decoder": { "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true }, "model": { "type": "WordLevel", "vocab": vocab, "unk_token": words[0] },
    });
    std::fs::write(dir.join("tokenizer.json"), file.to_string()).unwrap();
    Tokenizer::load(dir).unwrap()
}

fn check(draft: &[&str], expected: Option<&str>) {
    let (own_dir, draft_dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let own = tokenizer(own_dir.path(), &["?", "a", "b", "c"]);
    assert_eq!(difference(&own, &tokenizer(draft_dir.path(), draft)).as_deref(), expected, "{draft:?}");
}

#[test]
fn vocabularies_must_be_the_same() {
    check(&["?", "a", "b", "c"], None);
    check(&["?", "a", "x", "c"], Some("its token 2 is \"x\", not \"b\""));
    check(&["?", "a", "b"], Some("its vocabulary has 3 tokens, not 4"));
    check(&["?", "a", "b", "c", "d"], Some("its vocabulary has 5 tokens, not 4"));
}
