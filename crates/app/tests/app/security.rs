//! Keys and logs of the program itself.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::http::{chat, post};
use crate::testbed::{Server, smollm2, tokbar};

fn key(config: &Path, args: &[&str]) -> (bool, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tokbar"));
    let output = command.arg("key").args(args).env("TOKBAR_CONFIG_DIR", config).output().expect("tokbar starts");
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn keys_of_the_file_open_the_server_and_the_log_keeps_texts_and_keys_to_itself() {
    let config = tempfile::tempdir().expect("a folder");
    let output = Command::new(env!("CARGO_BIN_EXE_tokbar"))
        .args(["key", "add", "laptop"])
        .env("TOKBAR_CONFIG_DIR", config.path())
        .output()
        .expect("tokbar starts");
    let secret = String::from_utf8(output.stdout).expect("UTF-8").trim().to_owned();
    assert!(secret.starts_with("tk-") && output.status.success(), "{secret}");
    let (is_done, listing) = key(config.path(), &["list"]);
    assert!(is_done && listing.contains("laptop") && listing.contains("inference") && !listing.contains(&secret));

    let log = config.path().join("log");
    let stderr = Stdio::from(fs::File::create(&log).expect("a file"));
    let server = Server::start_in(config.path(), &smollm2(), &["-vv"], stderr);
    let (status, answer) = post(&server, "/chat/completions", &chat("zebra crossing", 2));
    assert_eq!((status, &answer["error"]["code"]), (401, &json!("invalid_api_key")));
    let client = |question: &str| {
        let call = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nx-request-id: my-call\r\n\
             x-api-key: {secret}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{question}",
            question.len()
        );
        crate::http::raw(&server, call.as_bytes())
    };
    let answer = client(&chat("Where is the zebra crossing?", 8).to_string());
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(client("{\"messages\": \"zebra crossing\"}").starts_with("HTTP/1.1 400"));
    assert!(server.stop().success());
    let log = fs::read_to_string(log).expect("a log");
    assert!(log.contains("my-call") && log.contains("/v1/chat/completions"), "{log}");
    assert!(!log.contains("zebra") && !log.contains(&secret), "{log}");

    assert!(key(config.path(), &["remove", "laptop"]).0);
    assert!(!key(config.path(), &["remove", "laptop"]).0);
}

fn check_refused(args: &[&str], words: &str) {
    let model = smollm2();
    let model = model.to_str().expect("a UTF-8 path");
    let output = tokbar(&[&["serve", model, "--port", "0"][..], args].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(words), "{said}");
}

#[test]
fn other_machines_need_a_key_and_names_are_checked() {
    check_refused(&["--host", "0.0.0.0"], "--allow-unauthenticated-lan");
    check_refused(&["--host", "0.0.0.0", "--api-key", ""], "the API key is empty");
    check_refused(&["--name", ""], "is no name for a model");
    check_refused(&["--name", "a b"], "is no name for a model");
    check_refused(&["--name", "default"], "reaches the model already");
    check_refused(&["--name", "x", "--name", "x"], "is given twice");
}
