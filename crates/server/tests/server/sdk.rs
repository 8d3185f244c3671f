//! The vendors' own clients against scripted models: exact calls of tools, and the errors that each client raises.

use std::path::{Path, PathBuf};
use std::process::Command;

use tokbar_engine::EngineOptions;
use tokbar_server::{Keys, Models, ServerOptions};

use crate::setup::{Setup, TestServer};

/// The markers tell the format; the words are what a model writes that looks at the sea.
const TEMPLATE: &str = "{# <tool_call> <think> </think> #}{% for message in messages %}{{ message.role }}\n\
{{ message.content }}<|end|>{% endfor %}<|start|>";
const CALL: &str =
    "<think>hm</think>\n\nAye.\n<tool_call>\n{\"name\": \"look\", \"arguments\": {\"at\": \"sea\"}}\n</tool_call>";

/// Where `cargo xtask test` puts the clients.
fn testkit() -> PathBuf {
    std::env::var_os("TOKBAR_TESTKIT")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.testkit"), PathBuf::from)
}

fn scripted(reply: &'static str) -> TestServer {
    TestServer::start(Setup { reply: Some(reply), template: Some(TEMPLATE), ..Setup::default() })
}

/// Runs a script with the addresses of servers that call a tool, answer, demand a key and short bodies, have no room, and
/// are still loading.
fn check(program: &Path, script: &str, env: &[(&str, &Path)]) {
    let strict =
        ServerOptions { keys: Some(Keys::single("right")), n_body_bytes_max: 20_000, ..Setup::default().server };
    let full = EngineOptions { n_rows_max: 1, n_waiting_max: 0, ..EngineOptions::default() };
    let busy = TestServer::start(Setup { engine: full, ..Setup::default() });
    busy.probe.hold();
    let body = serde_json::json!({ "prompt": "x", "stream": true });
    let _running = busy.stream("/v1/completions", &body);
    let servers = [
        &scripted(CALL),
        &scripted("It is blue."),
        &TestServer::start(Setup { server: strict, template: Some(TEMPLATE), ..Setup::default() }),
        &busy,
        &TestServer::serving(Models::loading("org/tiny".to_owned(), std::sync::Arc::new(|| 0.43))),
    ];
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sdk").join(script);
    let output = Command::new(program)
        .arg(&script)
        .args(servers.map(|server| format!("http://localhost:{}", server.address.port())))
        .envs(env.iter().copied())
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}; run `cargo xtask test` once", program.display()));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.trim_end().ends_with("all checks passed"), "{said}");
}

fn check_python(script: &str) {
    check(&testkit().join("sdk-python/bin/python"), script, &[]);
}

#[test]
fn anthropics_python_client_calls_tools_and_tells_errors_apart() {
    check_python("anthropic_python.py");
}

#[test]
fn anthropics_node_client_calls_tools_and_tells_errors_apart() {
    let modules = testkit().join("sdk-node/node_modules");
    check(Path::new("node"), "anthropic_node.cjs", &[("NODE_PATH", &modules)]);
}

#[test]
fn openais_python_client_gets_responses_and_tells_errors_apart() {
    check_python("responses_python.py");
}

#[test]
fn ollamas_python_client_calls_tools_and_tells_errors_apart() {
    check_python("ollama_python.py");
}
