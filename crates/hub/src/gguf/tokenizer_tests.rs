use std::path::{Path, PathBuf};

use tokbar_chat::{Specials, Tokenizer};

use super::*;
use crate::gguf::kind::Kind;
use crate::gguf::reader::Gguf;
use crate::gguf::synthetic::{Builder, tiny};

fn built(file: &Builder) -> Result<Documents, ImportError> {
    let dir = tempfile::tempdir().unwrap();
    let gguf = Gguf::open(&file.write(dir.path())).unwrap();
    documents(&gguf.metadata, 16, &json!(128))
}

/// Loads the documents of `file` the way the server does.
fn loaded(file: &Builder) -> Tokenizer {
    tokenizer(built(file).unwrap())
}

fn tokenizer(documents: Documents) -> Tokenizer {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, document: Value| std::fs::write(dir.path().join(name), document.to_string()).unwrap();
    write("tokenizer.json", documents.tokenizer);
    write("tokenizer_config.json", documents.tokenizer_config);
    write("generation_config.json", documents.generation_config);
    write("config.json", json!({}));
    Tokenizer::load(dir.path()).unwrap()
}

fn check_ids(file: &Builder, text: &str, expected: &[u32]) {
    let ids = loaded(file).encode(text, Specials::Add).unwrap();
    assert_eq!(ids, expected, "{text:?}");
}

fn check_refused(file: &Builder, expected: &str) {
    let message = built(file).expect_err(expected).to_string();
    assert!(message.contains(expected), "`{message}` does not say `{expected}`");
}

const PIECES: [&str; 10] = ["<unk>", "<s>", "</s>", "<0x21>", "\u{2581}", "a", "b", "ab", "\u{2581}a", "<tool>"];

fn pieces() -> Builder {
    Builder::new()
        .text("tokenizer.ggml.model", "llama")
        .texts("tokenizer.ggml.tokens", &PIECES)
        .numbers("tokenizer.ggml.scores", &[0.0, 0.0, 0.0, 0.0, -3.0, -4.0, -5.0, -1.0, -2.0, 0.0])
        .counts("tokenizer.ggml.token_type", &[2, 3, 3, 6, 1, 1, 1, 1, 1, 4])
        .count("tokenizer.ggml.bos_token_id", 1)
        .count("tokenizer.ggml.eos_token_id", 2)
}

#[test]
fn byte_level_vocabularies_tokenize() {
    let file = tiny("llama", Kind::F16);
    check_ids(&file, "ab a", &[3, 5]);
    check_ids(&file, "ab<tool>a<|end|>", &[3, 6, 1, 0]);
    let file = file.count("tokenizer.ggml.bos_token_id", 7).flag("tokenizer.ggml.add_bos_token", true);
    check_ids(&file, "b", &[7, 2]);
}

#[test]
fn pieces_tokenize_with_byte_fallback() {
    check_ids(&pieces(), "ab", &[1, 4, 7]);
    check_ids(&pieces(), "a!", &[1, 8, 3]);
    let bare = pieces().flag("tokenizer.ggml.add_bos_token", false).flag("tokenizer.ggml.add_space_prefix", false);
    check_ids(&bare, "ab a", &[7, 8]);
    check_ids(&bare.flag("tokenizer.ggml.add_eos_token", true), "a<tool>", &[5, 9, 2]);
}

#[test]
fn special_tokens_and_template_are_carried_over() {
    let documents = built(&tiny("llama", Kind::F16).count("tokenizer.ggml.padding_token_id", 7)).unwrap();
    let config = &documents.tokenizer_config;
    assert_eq!((&config["eos_token"], &config["pad_token"]), (&json!("<|end|>"), &json!("c")));
    assert_eq!((&config["chat_template"], &config["model_max_length"]), (&json!("{{ messages }}"), &json!(128)));
    assert_eq!(documents.generation_config, json!({"pad_token_id": 7, "eos_token_id": [0]}));
    let added = documents.tokenizer["added_tokens"].as_array().unwrap();
    let listed: Vec<_> = added.iter().map(|token| (&token["content"], &token["special"])).collect();
    assert_eq!(listed, [(&json!("<|end|>"), &json!(true)), (&json!("<tool>"), &json!(false))]);
}

#[test]
fn every_end_of_turn_stops_generation() {
    let file = pieces()
        .count("tokenizer.ggml.eot_token_id", 9)
        .number("general.sampling.temp", 0.7)
        .count("general.sampling.top_k", 20);
    let config = built(&file).unwrap().generation_config;
    assert_eq!(config, json!({"bos_token_id": 1, "eos_token_id": [2, 9], "temperature": 0.7, "top_k": 20}));
}

#[test]
fn unusable_vocabularies_are_named() {
    let good = tiny("llama", Kind::F16);
    let model = |model: &str| good.clone().unset("tokenizer.ggml.model").text("tokenizer.ggml.model", model);
    check_refused(&model("bert"), "its kind `bert` is that of encoders");
    check_refused(&model("rwkv"), "its kind `rwkv` is not supported");
    check_refused(&good.clone().unset("tokenizer.ggml.model"), "the file holds none");
    check_refused(&good.clone().unset("tokenizer.ggml.pre"), "pre-tokenizer `default` is not known");
    check_refused(&good.clone().unset("tokenizer.ggml.merges"), "`tokenizer.ggml.merges` is missing");
    check_refused(&good.clone().unset("tokenizer.ggml.tokens"), "`tokenizer.ggml.tokens` is missing");
    let types = good.clone().unset("tokenizer.ggml.token_type").counts("tokenizer.ggml.token_type", &[1]);
    check_refused(&types, "1 types for 8 tokens");
    check_refused(&pieces().unset("tokenizer.ggml.scores").numbers("tokenizer.ggml.scores", &[0.0]), "1 scores for 10");
    let crowded = good.unset("tokenizer.ggml.tokens").unset("tokenizer.ggml.token_type");
    check_refused(&crowded.texts("tokenizer.ggml.tokens", &["a"; 17]), "17 tokens but the model only 16");
}

/// A public vocabulary without weights, which comes with texts and their ids.
fn public(name: &str) -> PathBuf {
    let kit = std::env::var_os("TOKBAR_TESTKIT").map(PathBuf::from);
    let kit = kit.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.testkit"));
    let path = kit.join(format!("vocabularies/ggml-vocab-{name}.gguf"));
    assert!(path.is_file(), "no {}: run `cargo xtask kit` once", path.display());
    path
}

fn public_documents(name: &str) -> Result<Documents, ImportError> {
    documents(&Gguf::open(&public(name)).unwrap().metadata, usize::MAX, &json!(128))
}

fn check_public(name: &str) {
    let tokenizer = tokenizer(public_documents(name).unwrap());
    let read = |end: &str| std::fs::read_to_string(format!("{}{end}", public(name).display())).unwrap();
    let (texts, ids) = (read(".inp"), read(".out"));
    let mut texts: Vec<&str> = texts.split("\n__ggml_vocab_test__\n").collect();
    let ids: Vec<Vec<u32>> =
        ids.lines().map(|line| line.split(' ').filter_map(|id| id.parse().ok()).collect()).collect();
    // Most files end with a separator.
    texts.truncate(texts.len() - usize::from(texts.last() == Some(&"")));
    assert!(texts.len() == ids.len() && ids.len() > 40, "{name}: {} texts, {} lines of ids", texts.len(), ids.len());
    for (text, expected) in texts.iter().zip(ids) {
        assert_eq!(tokenizer.encode(text, Specials::Omit).unwrap(), expected, "{name}: {text:?}");
    }
}

#[test]
fn public_byte_level_vocabularies_give_their_ids() {
    for name in ["command-r", "deepseek-coder", "deepseek-llm", "falcon", "gpt-2", "mpt", "refact", "starcoder"] {
        check_public(name);
    }
}

#[test]
fn public_vocabularies_of_today_give_their_ids() {
    for name in ["llama-bpe", "qwen2", "qwen35"] {
        check_public(name);
    }
}

#[test]
fn public_vocabularies_of_pieces_give_their_ids() {
    for name in ["llama-spm", "phi-3", "gemma-4"] {
        check_public(name);
    }
}

#[test]
fn an_encoders_vocabulary_is_refused_by_name() {
    let message = public_documents("bert-bge").unwrap_err().to_string();
    assert!(message.contains("its kind `bert` is that of encoders"), "{message}");
}
