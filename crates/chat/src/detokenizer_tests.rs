use std::fs;

use serde_json::{Value, json};

use super::*;

/// A tokenizer whose vocabulary is `tokens`, in order, with the decoder of a family.
fn tokenizer(tokens: &[&str], decoder: Value) -> Arc<Tokenizer> {
    let vocab: serde_json::Map<_, _> =
        tokens.iter().enumerate().map(|(id, token)| ((*token).to_owned(), json!(id))).collect();
    let special = json!({"id": 0, "content": tokens[0], "single_word": false, "lstrip": false, "rstrip": false,
        "normalized": false, "special": true});
    let file = json!({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [special],
        "normalizer": null, "pre_tokenizer": null, "post_processor": null, "decoder": decoder,
        "model": {"type": "BPE", "vocab": vocab, "merges": []}});
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("tokenizer.json"), file.to_string()).unwrap();
    Arc::new(Tokenizer::load(dir.path()).unwrap())
}

fn byte_level() -> Arc<Tokenizer> {
    // é = C3 A9 as Ã ©; 😀 = F0 9F 98 80 as ð Ł ĺ Ģ; the space is Ġ, the newline Ċ.
    let tokens = ["<|end|>", "a", "Ã", "©", "ð", "Ł", "ĺ", "Ģ", "Ġb", "Ċ", "ðŁ", "two words", "\u{ad}"];
    tokenizer(&tokens, json!({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true}))
}

fn llama() -> Arc<Tokenizer> {
    let tokens = ["<s>", "▁a", "b", "▁", "<0xC3>", "<0xA9>", "<0xE4>", "<0xB8>", "<0xAD>", "é", "▁▁c"];
    let steps = json!([
        {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
        {"type": "ByteFallback"}, {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0},
    ]);
    tokenizer(&tokens, json!({"type": "Sequence", "decoders": steps}))
}

fn metaspace() -> Arc<Tokenizer> {
    let decoder = json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true});
    tokenizer(&["<s>", "▁▁a", "▁b", "c"], decoder)
}

fn stream(detokenizer: &mut Detokenizer, ids: &[u32]) -> Vec<String> {
    let mut pieces: Vec<_> = ids.iter().map(|id| detokenizer.push(*id)).collect();
    pieces.push(detokenizer.finish());
    pieces
}

#[test]
fn pieces_are_whole_characters_and_join_to_the_decoded_text() {
    let (byte_level, llama, metaspace) = (byte_level(), llama(), metaspace());
    let cases: [(&Arc<Tokenizer>, &[u32], &[&str]); 17] = [
        (&byte_level, &[], &[""]),
        (&byte_level, &[1, 8, 9], &["a", " b", "\n", ""]),
        (&byte_level, &[2, 3], &["", "é", ""]),
        (&byte_level, &[10, 6, 7, 1], &["", "", "😀", "a", ""]),
        (&byte_level, &[2, 0, 3], &["", "", "é", ""]),
        (&byte_level, &[0, 99, 1], &["", "", "a", ""]),
        (&byte_level, &[2, 1], &["", "\u{fffd}a", ""]),
        (&byte_level, &[3, 3], &["\u{fffd}", "\u{fffd}", ""]),
        (&byte_level, &[4, 5, 6], &["", "", "", "\u{fffd}"]),
        (&byte_level, &[11, 12], &["two words", "\u{ad}", ""]),
        (&llama, &[1, 2, 1], &["a", "b", " a", ""]),
        (&llama, &[3, 1], &["", " a", ""]),
        (&llama, &[4, 5, 9], &["", "é", "é", ""]),
        (&llama, &[6, 7, 8, 2], &["", "", "中", "b", ""]),
        (&llama, &[6, 7, 2], &["", "", "\u{fffd}\u{fffd}b", ""]),
        (&llama, &[0, 10, 10], &["", " c", "  c", ""]),
        (&metaspace, &[0, 1, 2, 3, 1], &["", "a", " b", "c", "  a", ""]),
    ];
    for (tokenizer, ids, pieces) in cases {
        assert_eq!(stream(&mut tokenizer.detokenizer(), ids), pieces, "{ids:?}");
        assert_eq!(tokenizer.decode(ids), pieces.concat(), "{ids:?}");
    }
}

#[test]
fn a_continuation_keeps_its_leading_space() {
    assert_eq!(stream(&mut llama().continuation(), &[1, 2]), [" a", "b", ""]);
    assert_eq!(stream(&mut metaspace().continuation(), &[2]), [" b", ""]);
}

#[test]
fn every_byte_has_one_stand_in() {
    let stand_ins: Vec<String> = (0x21..0x144).filter_map(char::from_u32).map(String::from).collect();
    let mut tokens: Vec<&str> =
        stand_ins.iter().map(String::as_str).filter(|text| !["\u{7f}", "\u{ad}"].contains(text)).collect();
    tokens.retain(|text| !('\u{80}'..='\u{a0}').contains(&text.chars().next().unwrap()));
    tokens.insert(0, "<|end|>");
    let tokenizer = tokenizer(
        &tokens,
        json!({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true}),
    );
    let mut bytes: Vec<_> = (1..tokens.len() as u32).flat_map(|id| tokenizer.token_bytes(id)).collect();
    bytes.sort_unstable();
    assert_eq!(bytes, (0..=255).collect::<Vec<u8>>());
}
