//! Bad input gets the right status or exit code and says what to do next.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::http::{chat, post, post_raw};
use crate::testbed::{Server, smollm2, testkit, tokbar};

fn check_refused(server: &Server, body: &[u8], expected_status: u16, expected_words: &[&str]) {
    let (status, text) = post_raw(server, "/chat/completions", body);
    assert_eq!(status, expected_status, "{text}");
    let answer: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let message = answer["error"]["message"].as_str().expect("an error has a message");
    for word in expected_words {
        assert!(message.contains(word), "{word:?} is not in {message:?}");
    }
}

#[test]
fn bad_requests_are_refused_with_the_cause_and_the_server_goes_on() {
    let server = Server::start(&smollm2());
    let million = "word ".repeat(1_000_000);
    check_refused(&server, br#"{"model": "default", "messages": ["#, 400, &["JSON"]);
    check_refused(&server, br#"{"model": "default", "messages": "hello"}"#, 400, &["messages"]);
    check_refused(&server, br#"{"model": "default", "messages": [], "temperature": "hot"}"#, 400, &["temperature"]);
    check_refused(
        &server,
        b"{\"model\": \"default\", \"messages\": [{\"role\": \"user\", \"content\": \"\xff\xfe\"}]}",
        400,
        &["UTF-8"],
    );
    check_refused(&server, chat(&million, 8).to_string().as_bytes(), 400, &["8192"]);
    check_refused(&server, chat(&"word ".repeat(9000), 8).to_string().as_bytes(), 400, &["8192"]);
    check_refused(&server, format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000)).as_bytes(), 400, &["JSON"]);

    let (status, answer) = post(&server, "/chat/completions", &chat("What is the capital of France?", 24));
    assert_eq!(
        (status, answer["choices"][0]["message"]["content"].as_str()),
        (200, Some("The capital of France is Paris."))
    );
}

#[test]
fn an_endless_template_ends_in_an_error() {
    let model = model_with("tokenizer_config.json", |config| {
        config["chat_template"] =
            json!("{% for i in range(100000) %}{% for j in range(100000) %}{{ i }}{% endfor %}{% endfor %}");
    });
    fs::remove_file(model.path().join("chat_template.jinja")).ok();
    let server = Server::start(model.path());
    check_refused(&server, chat("hello", 8).to_string().as_bytes(), 400, &["template"]);
}

fn check_exit(args: &[&str], expected_words: &[&str]) {
    let output = tokbar(args);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    for word in expected_words {
        assert!(said.contains(word), "{word:?} is not in {said:?}");
    }
}

fn check_serve_fails(model: &Path, expected_words: &[&str]) {
    check_exit(&["serve", model.to_str().expect("a UTF-8 path"), "--port", "0"], expected_words);
}

#[test]
fn a_safetensors_header_of_2_to_the_60_is_refused() {
    let model = model_with("config.json", |_| {});
    let weights = model.path().join("model.safetensors");
    fs::remove_file(&weights).expect("the link can go");
    let mut bytes = (1u64 << 60).to_le_bytes().to_vec();
    bytes.extend_from_slice(b"{}");
    fs::write(weights, bytes).expect("the file is written");
    check_serve_fails(model.path(), &["model.safetensors", "header"]);
}

#[test]
fn an_unknown_model_type_names_the_known_ones() {
    let model = model_with("config.json", |config| config["model_type"] = json!("warp_drive"));
    check_serve_fails(model.path(), &["warp_drive", "llama", "qwen3"]);
}

#[test]
fn weights_that_are_no_numbers_are_refused_at_load() {
    let model = model_with("config.json", |config| config["rms_norm_eps"] = json!(0.5));
    let weights = model.path().join("model.safetensors");
    let mut bytes = fs::read(&weights).expect("the weights are there");
    let n_header = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"));
    let header: Value = serde_json::from_slice(&bytes[8..8 + n_header as usize]).expect("JSON");
    let offsets = &header["model.norm.weight"]["data_offsets"];
    let at = 8 + n_header as usize + offsets[0].as_u64().expect("an offset") as usize;
    // Infinity or no number in f16, bf16 and f32 alike.
    bytes[at..at + 4].copy_from_slice(&[0xff; 4]);
    fs::remove_file(&weights).expect("the link can go");
    fs::write(&weights, bytes).expect("the file is written");
    check_serve_fails(model.path(), &["not finite", "download"]);
}

#[test]
fn a_missing_shard_is_named() {
    let model = model_with("config.json", |_| {});
    fs::remove_file(model.path().join("model.safetensors")).expect("the link can go");
    let index = json!({"weight_map": {"model.embed_tokens.weight": "model-00001-of-00002.safetensors"}});
    fs::write(model.path().join("model.safetensors.index.json"), index.to_string()).expect("the file is written");
    check_serve_fails(model.path(), &["model-00001-of-00002.safetensors"]);
}

#[test]
fn a_truncated_gguf_leaves_nothing_behind() {
    let whole = fs::read(testkit().join("SmolLM2-135M-Instruct.Q4_1.gguf")).expect("the test model is there");
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("cut.gguf");
    for cut in [10, 100, 100_000, whole.len() / 2] {
        fs::write(&file, &whole[..cut]).expect("the file is written");
        let folder = dir.path().join("out");
        check_exit(&["import", file.to_str().expect("UTF-8"), folder.to_str().expect("UTF-8")], &["cut.gguf"]);
        let left: Vec<_> = fs::read_dir(dir.path())
            .expect("the folder is there")
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        assert_eq!(left, ["cut.gguf"]);
    }
}

#[test]
fn a_model_that_is_not_there_says_where_it_was_looked_for() {
    check_exit(&["info", "no/such-model"], &["no/such-model"]);
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("mistyped");
    let path = path.to_str().expect("UTF-8");
    check_exit(&["info", path], &[path, "no file or folder"]);
}

/// SmolLM2's folder with one JSON file changed; the rest are links.
fn model_with(name: &str, change: impl FnOnce(&mut Value)) -> TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    for entry in fs::read_dir(smollm2()).expect("the model is there") {
        let source = fs::canonicalize(entry.expect("an entry").path()).expect("the file is there");
        let target = dir.path().join(source.file_name().expect("a name"));
        std::os::unix::fs::symlink(source, target).expect("a link can be made");
    }
    let path = dir.path().join(name);
    let mut json: Value = serde_json::from_slice(&fs::read(&path).expect("the file is there")).expect("JSON");
    change(&mut json);
    fs::remove_file(&path).expect("the link can go");
    fs::write(&path, json.to_string()).expect("the file is written");
    dir
}
