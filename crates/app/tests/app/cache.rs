//! The KV cache on disk under the real server: it outlives a kill, moves between folders, and fails no request.

use std::io::Write;
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::http::{chat, metric, post};
use crate::testbed::{Server, smollm2, tokbar};

/// Waits for the server to have done something; the bound only keeps a broken one from hanging the test.
const PATIENCE: Duration = Duration::from_secs(60);

fn serve(dir: &Path) -> Server {
    Server::start_with(&smollm2(), &["--cache-dir", dir.to_str().expect("a UTF-8 path")])
}

/// A prompt of some hundred tokens.
fn long_chat() -> Value {
    let facts: Vec<String> = (1..90).map(|n| format!("Box {n} holds {} apples.", n * 7 % 31)).collect();
    chat(&format!("{} How many apples does box 3 hold?", facts.join(" ")), 12)
}

/// Text, prompt tokens and cached tokens of an answer, and how long it took.
fn ask(server: &Server, body: &Value) -> (String, u64, u64, Duration) {
    let start = Instant::now();
    let (status, answer) = post(server, "/chat/completions", body);
    let took = start.elapsed();
    assert_eq!(status, 200, "{answer}");
    let text = answer["choices"][0]["message"]["content"].as_str().expect("text").to_owned();
    let usage = &answer["usage"];
    let count = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("no count in {answer}"));
    (text, count(&usage["prompt_tokens"]), count(&usage["prompt_tokens_details"]["cached_tokens"]), took)
}

fn wait_until(server: &Server, is_done: impl Fn(&Server) -> bool) {
    let start = Instant::now();
    while !is_done(server) {
        assert!(start.elapsed() < PATIENCE, "the server did not get there");
        std::thread::yield_now();
    }
}

fn is_written(server: &Server) -> bool {
    metric(server, "kv_disk_written_total") > 0.0
        && metric(server, "kv_disk_pending") == 0.0
        && metric(server, "kv_disk_waiting_bytes") == 0.0
}

fn cache(dir: &Path, args: &[&str]) -> (String, String) {
    let dir = dir.to_str().expect("a UTF-8 path");
    let output = tokbar(&[&["cache", "--cache-dir", dir], args].concat());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

fn shown(dir: &Path) -> Vec<Value> {
    serde_json::from_str(&cache(dir, &["info", "--json"]).0).expect("JSON")
}

#[test]
fn a_killed_server_goes_on_where_it_was() {
    let dir = TempDir::new().expect("a folder");
    let body = long_chat();
    let server = serve(dir.path());
    let (text, n_prompt, n_cached, cold) = ask(&server, &body);
    assert!(n_prompt > 700 && n_cached == 0, "{n_prompt} {n_cached}");
    let (again, _, n_cached, warm) = ask(&server, &body);
    assert_eq!((&again, n_cached), (&text, n_prompt - 1));
    wait_until(&server, is_written);
    drop(server); // By SIGKILL.

    let server = serve(dir.path());
    let (again, _, n_cached, restarted) = ask(&server, &body);
    println!("whole answers: cold {cold:?}, warm {warm:?}, after a kill {restarted:?}");
    assert_eq!(again, text);
    assert!(n_cached + 2 >= n_prompt, "{n_cached} of {n_prompt} tokens came back");
    assert_eq!(metric(&server, "kv_disk_skipped_total"), 0.0);
    assert_eq!(metric(&server, "kv_disk_errors_total"), 0.0);
}

#[test]
fn the_cache_is_shown_moved_and_cleared() {
    let (dir, other) = (TempDir::new().expect("a folder"), TempDir::new().expect("a folder"));
    let body = chat("Say yes.", 4);
    let server = serve(dir.path());
    let (text, n_prompt, ..) = ask(&server, &body);
    wait_until(&server, is_written);
    assert_eq!(shown(dir.path())[0]["is_in_use"], true);
    let (said, _) = cache(dir.path(), &["clear", "--yes"]);
    assert!(said.contains("stays, as a running Tokbar uses it"), "{said}");
    assert!(server.stop().success());

    let model = &shown(dir.path())[0];
    assert_eq!((&model["model"], &model["is_in_use"]), (&json!("SmolLM2-135M-Instruct"), &json!(false)));
    assert!(model["n_blocks"].as_u64() >= Some(1) && model["n_tokens"].as_u64() >= Some(n_prompt - 1), "{model}");
    let file = other.path().join("kv.export");
    let file = file.to_str().expect("a UTF-8 path");
    let (said, _) = cache(dir.path(), &["export", file]);
    assert!(said.contains("records exported"), "{said}");
    assert!(cache(dir.path(), &["export", file]).1.contains("is there already"));
    let (_, refused) = cache(dir.path(), &["clear"]);
    assert!(refused.contains("say --yes"), "{refused}");
    assert!(cache(dir.path(), &["clear", "--yes"]).0.contains("freed"));
    assert_eq!(shown(dir.path()), [] as [Value; 0]);

    let (said, _) = cache(other.path(), &["import", file]);
    assert!(said.contains("records imported"), "{said}");
    assert!(cache(other.path(), &["import", "/dev/null"]).1.contains("is no export of Tokbar's KV cache"));
    let server = serve(other.path());
    let (again, _, n_cached, _) = ask(&server, &body);
    assert_eq!((again, n_cached), (text, n_prompt - 1));
    assert!(server.stop().success());
}

#[test]
fn a_disk_that_takes_no_more_fails_no_request() {
    let dir = TempDir::new().expect("a folder");
    // Files end at 256 KiB, less than a block: writing beyond it fails, as on a full disk.
    let server = Server::start_limited(&smollm2(), 256, &["--cache-dir", dir.path().to_str().expect("a UTF-8 path")]);
    let body = long_chat();
    let (text, ..) = ask(&server, &body);
    let (again, n_prompt, n_cached, _) = ask(&server, &body);
    assert_eq!((again, n_cached), (text, n_prompt - 1));
    wait_until(&server, |server| metric(server, "kv_disk_errors_total") >= 1.0);
    assert_eq!(metric(&server, "kv_disk_writing"), 0.0);
    assert_eq!(metric(&server, "sequences_failed_total"), 0.0);
}

#[test]
fn a_thousand_clients_that_leave_cost_nothing() {
    let dir = TempDir::new().expect("a folder");
    let server = serve(dir.path());
    let body = long_chat();
    let (text, ..) = ask(&server, &body);
    for n in 0..1000 {
        leave(&server, n, &body.to_string());
    }
    let is_quiet = |server: &Server| {
        ["sequences_running", "sequences_waiting", "kv_tokens"].iter().all(|name| metric(server, name) == 0.0)
    };
    wait_until(&server, is_quiet);
    let (again, n_prompt, n_cached, _) = ask(&server, &body);
    assert_eq!((again, n_cached), (text, n_prompt - 1));
    wait_until(&server, is_quiet);
    assert_eq!(metric(&server, "sequences_failed_total"), 0.0);
    assert_eq!(metric(&server, "kv_disk_errors_total"), 0.0);
    assert!(server.stop().success());
}

/// Connects, sends nothing, half a request or all of it, and goes away.
fn leave(server: &Server, n: usize, body: &str) {
    let mut socket = TcpStream::connect(server.address()).expect("the server listens");
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        server.address(),
        body.len()
    );
    let n_sent = [0, 40, request.len() / 2, request.len()][n % 4];
    // The server may be the first to leave.
    if let Err(error) = socket.write_all(&request.as_bytes()[..n_sent]) {
        println!("{n}: {error}");
    }
}
