//! A real model calls tools of real MCP servers: a process, and one over HTTP.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::http::raw;
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
