//! The command line on the real model.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use serde_json::Value;

use crate::testbed::{Server, smollm2, tokbar};

fn stdout(args: &[&str]) -> String {
    let output = tokbar(args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn model() -> String {
    smollm2().to_str().expect("a UTF-8 path").to_owned()
}

#[test]
fn one_prompt_is_answered_in_the_terminal() {
    let said = stdout(&["run", &model(), "What is the capital of France?", "--temperature", "0", "--max-tokens", "24"]);
    assert_eq!(said.trim(), "The capital of France is Paris.");
}

#[test]
fn info_tells_what_the_model_is() {
    let info: Value = serde_json::from_str(&stdout(&["info", &model(), "--json"])).expect("JSON");
    assert_eq!(info["model_type"], "llama");
    assert_eq!(info["n_context"], 8192);
    assert_eq!(info["tool_calls"]["format"], Value::Null, "{info}");
    let named = stdout(&["info", &model(), "--tool-call-parser", "qwen3", "--reasoning-parser", "qwen3"]);
    assert!(named.contains("hermes: an option says so") && named.contains("qwen3: an option says so"), "{named}");
    let output = tokbar(&["info", &model(), "--tool-call-parser", "nope"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("no tool call format named nope") && said.contains("qwen3_coder"), "{said}");
}

#[test]
fn bench_reports_every_figure() {
    let report: Value = serde_json::from_str(&stdout(&[
        "bench",
        &model(),
        "--prompt-tokens",
        "16",
        "--output-tokens",
        "4",
        "--runs",
        "1",
        "--json",
    ]))
    .expect("JSON");
    for figure in ["load_s", "ttft_s", "prefill_tps", "decode_tps", "itl_p50_ms", "itl_p95_ms", "peak_rss_bytes"] {
        assert!(report[figure].as_f64().is_some_and(|value| value > 0.0), "{figure}: {report}");
    }
}

#[test]
fn bench_refuses_what_the_context_cannot_hold() {
    for sizes in [["--prompt-tokens", "99999999999999"], ["--output-tokens", "99999999999999"]] {
        let output = tokbar(&[&["bench", &model(), "--runs", "1"][..], &sizes].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("do not fit the model's context of 8192 tokens"), "{said}");
    }
}

#[test]
fn a_draft_model_changes_no_word_of_the_answer() {
    let model = model();
    let question = ["run", &model, "What is the capital of France?", "--temperature", "0", "--max-tokens", "24"];
    let drafted = [&question[..], &["--draft-model", &model, "--num-draft-tokens", "3"]].concat();
    assert_eq!(stdout(&drafted).trim(), "The capital of France is Paris.");
}

#[test]
fn draft_models_that_do_not_fit_are_refused() {
    let other = crate::testbed::testkit().join("gemma-3-270m");
    let other = other.to_str().expect("a UTF-8 path");
    let cases = [
        (vec!["--draft-model", other], "cannot draft for"),
        (vec!["--speculation", "draft"], "needs --draft-model"),
        (vec!["--draft-model", other, "--speculation", "off"], "is not used with this --speculation"),
        (vec!["--draft-model", "/nowhere"], "/nowhere"),
    ];
    for (options, expected) in cases {
        let output = tokbar(&[&["run", &model(), "hi"][..], &options].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn an_explicit_busy_port_names_its_holder() {
    let held = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = held.local_addr().expect("an address").port().to_string();
    let output = tokbar(&["serve", &model(), "--port", &port]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(&format!("pid {}", std::process::id())), "{said}");
}

#[test]
fn a_server_that_is_told_to_stop_ends_cleanly() {
    let server = Server::start(&smollm2());
    assert!(server.stop().success());
}

#[test]
fn listening_beyond_this_machine_needs_a_key() {
    let output = tokbar(&["serve", &model(), "--host", "0.0.0.0", "--port", "0"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("--api-key"), "{said}");
}

#[test]
fn a_server_for_other_machines_answers_to_its_address() {
    let server = Server::start_with(&smollm2(), &["--host", "0.0.0.0", "--api-key", "k"]);
    let mut stream = TcpStream::connect(server.address()).expect("it listens");
    let request = "GET /health HTTP/1.1\r\nHost: 192.0.2.1:8000\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}
