//! A real model calls tools of real MCP servers: a process, and one over HTTP.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::http::{managed, raw};
use crate::testbed::Server;
use crate::tiny::tiny_model;

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/server.py")
}

/// The server over HTTP, gone when dropped.
struct Elsewhere(Child);

impl Elsewhere {
    fn start(log: &Path) -> (Self, u16) {
        let mut command = Command::new("python3");
        let mut child =
            command.arg(script()).arg(log).arg("http").stdout(Stdio::piped()).spawn().expect("python starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("stdout is piped")).read_line(&mut line).expect("it says its port");
        (Self(child), line.trim().parse().expect("a port"))
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        self.0.kill().expect("it can be killed");
        self.0.wait().expect("it ends");
    }
}

/// Asks with the tools of a source, whose tool the model must call at first.
fn ask(server: &Server, source: &str) -> Value {
    let choice = json!({ "type": "function", "function": { "name": format!("{source}__look") } });
    let body = json!({
        "model": "default", "messages": [{ "role": "user", "content": "How is the sea?" }], "max_tokens": 40,
        "temperature": 0, "tool_choice": choice,
    });
    let body = body.to_string();
    let call = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nx-tokbar-tools: {source}\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let answer = raw(server, call.as_bytes());
    let text = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

#[test]
fn a_model_calls_tools_of_a_process_and_of_a_server() {
    let (model, dir) = (tiny_model(), tempfile::tempdir().expect("a folder"));
    let (here, there) = (dir.path().join("here"), dir.path().join("there"));
    let (_elsewhere, port) = Elsewhere::start(&there);
    let config = dir.path().join("mcp.json");
    let servers = json!({
        "here": { "command": "python3", "args": [script(), here] },
        "there": { "url": format!("http://127.0.0.1:{port}/mcp") },
        "gone": { "command": "no-such-program-at-all" },
    });
    fs::write(&config, json!({ "mcpServers": servers }).to_string()).expect("a file");
    let config = config.to_str().expect("UTF-8");
    let server = Server::start_with(
        model.path(),
        &["--mcp-config", config, "--mcp-allow", "here__*", "--mcp-allow", "there__look"],
    );
    for (source, log) in [("here", &here), ("there", &there)] {
        let answer = ask(&server, source);
        let message = &answer["choices"][0]["message"];
        assert!(message["content"].as_str().is_some_and(|text| !text.is_empty()), "{source}: {answer}");
        assert_eq!(message.get("tool_calls"), None, "{answer}");
        let calls = fs::read_to_string(log).unwrap_or_else(|error| panic!("{source} was not called: {error}"));
        let call: Value = serde_json::from_str(calls.lines().next().expect("a call")).expect("JSON");
        assert_eq!((&call["name"], &call["arguments"]), (&json!("look"), &json!({ "at": "sea" })), "{source}");
    }
    let refused = ask(&server, "gone");
    let said = refused["error"]["message"].as_str().unwrap_or_default();
    assert!(said.contains("gone") && said.contains("cannot be started"), "{refused}");
}

/// Runs a command against a server, and gives what it said.
fn tell(server: &Server, args: &[&str]) -> (bool, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tokbar"));
    command.args(args).args(["--server", server.address(), "--api-key", &server.token]);
    let output = command.output().expect("tokbar starts");
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn a_person_lets_calls_of_the_settings_tools_run_or_not() {
    let (model, dir) = (tiny_model(), tempfile::tempdir().expect("a folder"));
    let log = dir.path().join("calls");
    let (config, settings) = (dir.path().join("mcp.json"), dir.path().join("config"));
    let servers = json!({ "here": { "command": "python3", "args": [script(), log] } });
    fs::write(&config, json!({ "mcpServers": servers }).to_string()).expect("a file");
    fs::create_dir(&settings).expect("a folder");
    fs::write(settings.join("settings.json"), json!({ "mcp": { "config": config } }).to_string()).expect("a file");
    let server = Server::start_in(&settings, model.path(), &["--no-safe-mode"], Stdio::inherit());
    let (_, nothing) = tell(&server, &["tools", "deny", "7"]);
    assert!(nothing.contains("no call 7 waits"), "{nothing}");
    for (word, runs) in [(["tools", "deny"], false), (["tools", "allow"], true)] {
        std::thread::scope(|scope| {
            let asking = scope.spawn(|| ask(&server, "here"));
            let waiting = || managed(&server, "/tools")["waiting"][0].clone();
            let call = std::iter::repeat_with(waiting).take(100_000).find(|call| call.is_object()).expect("it waits");
            assert_eq!((&call["tool"], &call["arguments"]), (&json!("here__look"), &json!({ "at": "sea" })));
            let (_, list) = tell(&server, &["tools"]);
            assert!(list.contains("here: look") && list.contains(r#"here__look {"at":"sea"}"#), "{list}");
            let id = call["id"].to_string();
            let (is_done, said) = tell(&server, &[word[0], word[1], &id]);
            assert!(is_done && said.contains("here__look"), "{said}");
            let answer = asking.join().expect("no panic");
            assert!(answer["choices"][0]["message"]["content"].is_string(), "{answer}");
        });
        assert_eq!(log.exists(), runs, "{word:?}");
    }
}

#[test]
fn settings_that_name_a_broken_file_are_told_and_stop_nothing() {
    let (model, settings) = (tiny_model(), tempfile::tempdir().expect("a folder"));
    fs::write(settings.path().join("settings.json"), json!({ "mcp": { "config": "/no/such.json" } }).to_string())
        .expect("a file");
    let server = Server::start_in(settings.path(), model.path(), &["--no-safe-mode"], Stdio::inherit());
    let refused = ask(&server, "here");
    let said = refused["error"]["message"].as_str().unwrap_or_default();
    assert!(said.contains("/no/such.json cannot be used"), "{refused}");
    assert!(managed(&server, "/tools")["sources"][0]["trouble"].is_string());
}
