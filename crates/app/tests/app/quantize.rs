//! Packing a model and serving it, and serving one whose experts do not all fit.

use std::process::Output;

use serde_json::{Value, json};

use crate::families::{Case, QWEN, checkpoint};
use crate::http::{metric, post};
use crate::testbed::{Server, tokbar};

const EXPERTS: Case = Case { golden: "qwen3_moe", ..QWEN };

/// What the server says with all scores, so that a difference shows.
fn answer(server: &Server) -> Value {
    let call =
        json!({"model": "default", "prompt": "The weather in Oslo", "max_tokens": 12, "temperature": 0, "logprobs": 1});
    let (status, answer) = post(server, "/completions", &call);
    assert_eq!(status, 200, "{answer}");
    answer["choices"][0]["text"].clone()
}

fn packed(from: &str, to: &str, options: &[&str]) -> Output {
    tokbar(&[&["quantize", from, to][..], options].concat())
}

#[test]
fn a_packed_model_is_served_and_its_parts_are_told() {
    let source = checkpoint(&EXPERTS);
    let parent = tempfile::tempdir().expect("a folder");
    let target = parent.path().join("packed");
    let (from, to) = (source.path().to_string_lossy(), target.to_string_lossy());
    let options = ["--bits", "8", "--group-size", "16", "--part", "attention=keep", "--json"];
    let refused = packed(&from, &to, &options);
    assert!(!refused.status.success(), "MLX has no groups of 16");
    let options = ["--mode", "nvfp4", "--part", "attention=keep", "--part", "experts=keep", "--json"];
    let said = packed(&from, &to, &options);
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let said: Value = serde_json::from_slice(&said.stdout).expect("JSON");
    let parts = said["parts"].as_array().expect("parts");
    let bytes = |name: &str| parts.iter().find(|part| part["part"] == name).map(|part| part["bytes"].clone());
    assert_eq!(
        parts.iter().filter_map(|part| part["bytes"].as_u64()).sum::<u64>(),
        said["bytes"].as_u64().expect("bytes")
    );
    assert!(bytes("experts").is_some() && bytes("embeddings").is_some(), "{said}");
    assert!(answer(&Server::start(&target)).is_string());

    let again = tokbar(&["quantize", &to, &parent.path().join("twice").to_string_lossy(), "--bits", "4"]);
    assert!(!parent.path().join("twice").exists() || again.status.success());
    let told = tokbar(&["quantize", &from, "--dry-run", "--bits", "4", "--part", "experts=2", "--memory", "64GiB"]);
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(told.contains("experts") && told.contains("it fits"), "{told}");
}

#[test]
fn experts_that_do_not_fit_are_read_when_they_are_picked() {
    let model = checkpoint(&EXPERTS);
    let whole = answer(&Server::start(model.path()));
    let too_little = tokbar(&["run", &model.path().to_string_lossy(), "Hello", "--expert-memory", "1000"]);
    let error = String::from_utf8_lossy(&too_little.stderr).into_owned();
    let least =
        error.split("at least ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap_or_else(|| panic!("{error}"));
    let server = Server::start_with(model.path(), &["--expert-memory", least]);
    assert_eq!(answer(&server), whole);
    let [hits, misses, resident, all] =
        ["expert_hits_total", "expert_misses_total", "experts_resident", "experts"].map(|name| metric(&server, name));
    assert!(hits > 0.0 && misses > 0.0 && resident < all, "{hits} {misses} {resident} {all}");
}
