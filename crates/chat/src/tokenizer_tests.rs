use std::fs;

use serde_json::json;
use tempfile::TempDir;

use super::*;

/// A word-level tokenizer of five words, of which the first three are special. `post` adds tokens around the text.
fn tokenizer_file(post: Value) -> Value {
    let added = |id: u32, content: &str| {
        json!({"id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": false, "special": true})
    };
    json!({"version": "1.0", "added_tokens": [added(0, "<s>"), added(1, "</s>"), added(2, "<turn>")],
        "truncation": {"max_length": 2, "strategy": "LongestFirst", "stride": 0, "direction": "Right"},
        "padding": {"strategy": {"Fixed": 8}, "direction": "Right", "pad_to_multiple_of": null, "pad_id": 0,
            "pad_type_id": 0, "pad_token": "<s>"},
        "normalizer": null, "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": post,
        "decoder": {"type": "Fuse"},
        "model": {"type": "WordLevel", "vocab": {"<s>": 0, "</s>": 1, "<turn>": 2, "a": 3, "b": 4}, "unk_token": "a"}})
}

/// A post-processor that puts BOS before and EOS after.
fn template(pattern: &[&str]) -> Value {
    let piece = |name: &&str| match *name {
        "$A" => json!({"Sequence": {"id": "A", "type_id": 0}}),
        token => json!({"SpecialToken": {"id": token, "type_id": 0}}),
    };
    let token = |id: u32, text: &str| json!({"id": text, "ids": [id], "tokens": [text]});
    json!({"type": "TemplateProcessing", "single": pattern.iter().map(piece).collect::<Vec<_>>(), "pair": [],
        "special_tokens": {"<s>": token(0, "<s>"), "</s>": token(1, "</s>")}})
}

fn checkpoint(files: &[(&str, Value)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, content) in files {
        fs::write(dir.path().join(name), content.to_string()).unwrap();
    }
    dir
}

#[test]
fn special_tokens_are_added_as_the_configuration_says() {
    let names = json!({"bos_token": "<s>", "eos_token": {"content": "</s>"}});
    let with = |fields: Value| {
        let mut config = names.clone();
        config.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        config
    };
    let cases = [
        (Value::Null, names.clone(), vec![3, 4, 3]),
        (Value::Null, with(json!({"add_bos_token": true})), vec![0, 3, 4, 3]),
        (Value::Null, with(json!({"add_bos_token": true, "add_eos_token": true})), vec![0, 3, 4, 3, 1]),
        (template(&["<s>", "$A"]), names.clone(), vec![0, 3, 4, 3]),
        (template(&["<s>", "$A"]), with(json!({"add_bos_token": true})), vec![0, 3, 4, 3]),
        (template(&["<s>", "$A"]), with(json!({"add_bos_token": false})), vec![3, 4, 3]),
        (template(&["<s>", "$A", "</s>"]), with(json!({"add_eos_token": false})), vec![0, 3, 4, 3]),
        (template(&["<s>", "$A", "</s>"]), json!({}), vec![0, 3, 4, 3, 1]),
    ];
    for (post, config, expected) in cases {
        let case = format!("{post} {config}");
        let dir = checkpoint(&[("tokenizer.json", tokenizer_file(post)), ("tokenizer_config.json", config)]);
        let tokenizer = Tokenizer::load(dir.path()).unwrap();
        // Truncation and padding of the file would have made it two or eight tokens.
        assert_eq!(tokenizer.encode("a b a", Specials::Add).unwrap(), expected, "{case}");
        assert_eq!(tokenizer.encode("a b a", Specials::Omit).unwrap(), [3, 4, 3], "{case}");
    }
}

#[test]
fn ends_of_sequence_are_merged_in_order() {
    let eos = |value: Value| json!({"eos_token_id": value});
    type Case<'a> = (&'a [(&'a str, Value)], &'a [u32]);
    let cases: [Case<'_>; 6] = [
        (&[], &[]),
        (&[("tokenizer_config.json", json!({"eos_token": "</s>"}))], &[1]),
        (&[("config.json", eos(json!(4))), ("tokenizer_config.json", json!({"eos_token": "</s>"}))], &[4, 1]),
        (&[("generation_config.json", eos(json!([2, 1]))), ("config.json", eos(json!(1)))], &[2, 1]),
        (&[("config.json", json!({"text_config": {"eos_token_id": [3]}}))], &[3]),
        (&[("config.json", eos(json!(null))), ("generation_config.json", eos(json!(-1)))], &[]),
    ];
    for (files, expected) in cases {
        let files = [files, &[("tokenizer.json", tokenizer_file(Value::Null))]].concat();
        let dir = checkpoint(&files);
        assert_eq!(Tokenizer::load(dir.path()).unwrap().eos(), expected, "{files:?}");
    }
}

#[test]
fn tokens_are_known_by_id_and_text() {
    let dir = checkpoint(&[("tokenizer.json", tokenizer_file(Value::Null))]);
    let tokenizer = Tokenizer::load(dir.path()).unwrap();
    assert_eq!(tokenizer.n_vocab(), 5);
    assert_eq!((tokenizer.id("<turn>"), tokenizer.id("nothing")), (Some(2), None));
    assert_eq!((tokenizer.token_text(2), tokenizer.token_text(9)), ("<turn>".to_owned(), String::new()));
    assert_eq!(
        (tokenizer.token_bytes(3), tokenizer.is_special(2), tokenizer.is_special(3)),
        (b"a".to_vec(), true, false)
    );
    assert_eq!(tokenizer.encode("a<turn>b", Specials::Omit).unwrap(), [3, 2, 4]);
    assert_eq!(tokenizer.fim(), None);
}

#[test]
fn unusable_tokenizers_are_named() {
    let mut huge = tokenizer_file(Value::Null);
    huge["model"]["vocab"]["huge"] = json!(4_000_000_000_u32);
    let mut ctc = tokenizer_file(Value::Null);
    ctc["decoder"] = json!({"type": "CTC", "pad_token": "a", "word_delimiter_token": "b", "cleanup": false});
    let mut no_decoder = tokenizer_file(Value::Null);
    no_decoder["decoder"] = Value::Null;
    type Case<'a> = (&'a [(&'a str, Value)], &'a str);
    let cases: [Case<'_>; 7] = [
        (&[], "no tokenizer.json in"),
        (&[("tokenizer.json", json!("nonsense"))], "cannot be used"),
        (&[("tokenizer.json", json!({"model": {"type": "BPE"}}))], "cannot be used"),
        (&[("tokenizer.json", huge)], "4000000000"),
        (&[("tokenizer.json", ctc)], "not supported: CTC"),
        (&[("tokenizer.json", no_decoder)], "not supported: none"),
        (&[("tokenizer.json", tokenizer_file(Value::Null)), ("config.json", json!("x"))], ""),
    ];
    for (files, reason) in cases {
        let dir = checkpoint(files);
        match Tokenizer::load(dir.path()) {
            Err(error) => assert!(error.to_string().contains(reason) && !reason.is_empty(), "{reason}: {error}"),
            Ok(_) => assert_eq!(reason, "", "{files:?} loads"),
        }
    }
}

#[test]
fn unreadable_files_are_named() {
    for (name, bytes, reason) in [
        ("tokenizer.json", &b"\xff\xfe"[..], "tokenizer.json"),
        ("config.json", b"{", "config.json is not valid JSON"),
        ("tokenizer_config.json", b"\xff", "tokenizer_config.json is not valid JSON"),
    ] {
        let dir = checkpoint(&[("tokenizer.json", tokenizer_file(Value::Null))]);
        fs::write(dir.path().join(name), bytes).unwrap();
        let error = Tokenizer::load(dir.path()).unwrap_err().to_string();
        assert!(error.contains(reason), "{name}: {error}");
    }
    let dir = checkpoint(&[]);
    fs::create_dir(dir.path().join("tokenizer.json")).unwrap();
    let error = Tokenizer::load(dir.path()).unwrap_err().to_string();
    assert!(error.contains("cannot read"), "{error}");
    let sparse = fs::File::create(dir.path().join("tokenizer_config.json")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    let error = Tokenizer::load(dir.path()).unwrap_err().to_string();
    assert!(error.contains("larger than"), "{error}");
}
