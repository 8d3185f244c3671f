use std::env;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokbar_chat::{Specials, Tokenizer};
use tokbar_hub::checkpoint::Checkpoint;
use tokbar_hub::gguf::{ImportOptions, ImportReport, import};

/// A GGUF file of the test kit, which `cargo xtask model` brings.
fn published(name: &str) -> PathBuf {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.testkit");
    let path = env::var_os("TOKBAR_TESTKIT").map_or_else(default, PathBuf::from).join(name);
    assert!(path.is_file(), "{} is missing: run `cargo xtask model` once, then the tests", path.display());
    path
}

fn imported(name: &str) -> (TempDir, ImportReport, Checkpoint) {
    let dir = tempfile::tempdir().unwrap();
    let dst = dir.path().join("model");
    let report = import(&published(name), &dst, &ImportOptions::default(), &mut |_| ControlFlow::Continue(())).unwrap();
    let checkpoint = Checkpoint::open(&dst).unwrap();
    (dir, report, checkpoint)
}

/// Holds the tokenizer made from the file to the token ids of the reference.
fn check_tokens(checkpoint: &Checkpoint, expected: &str) {
    let fixture = |name: &str| -> Value {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../chat/tests/fixtures").join(name);
        serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
    };
    let (corpus, expected) = (fixture("corpus.json"), fixture(expected));
    let tokenizer = Tokenizer::load(&checkpoint.dir).unwrap();
    let texts = corpus["texts"].as_object().unwrap();
    assert!(!texts.is_empty());
    for (name, text) in texts {
        let text = text.as_str().unwrap();
        let ids = |specials| json!(tokenizer.encode(text, specials).unwrap());
        assert_eq!(ids(Specials::Omit), expected["texts"][name]["ids"], "{name}: {text:?}");
        assert_eq!(ids(Specials::Add), expected["texts"][name]["with_specials"], "{name}: {text:?}");
    }
}

#[test]
fn smollm2_keeps_its_groups_and_its_tokens() {
    let (_dir, report, checkpoint) = imported("SmolLM2-135M-Instruct.Q4_1.gguf");
    assert_eq!((report.n_repacked, report.n_floats, report.n_params), (211, 61, 134_515_008));
    assert_eq!((checkpoint.model_type.as_str(), checkpoint.n_params), ("llama", report.n_params));
    assert_eq!(checkpoint.config["quantization"]["model.embed_tokens"]["bits"], 8);
    assert_eq!(checkpoint.config["rope_theta"], 100_000.0);
    assert!(checkpoint.has_chat_template);
    check_tokens(&checkpoint, "smollm2.json");
}

#[test]
fn gemma3_unpacks_its_blocks_and_keeps_its_tokens() {
    let (_dir, report, checkpoint) = imported("gemma-3-270m-q4_k_m.gguf");
    assert_eq!((report.n_repacked, report.n_floats, report.n_params), (10, 226, 268_098_176));
    assert_eq!((checkpoint.model_type.as_str(), checkpoint.n_params), ("gemma3_text", report.n_params));
    assert_eq!(checkpoint.kv.unwrap().window, 512);
    check_tokens(&checkpoint, "gemma3.json");
}
