//! The official SDKs chat against the real model.

use std::path::Path;
use std::process::Command;

use crate::testbed::{Server, smollm2, testkit};

fn check(program: &Path, script: &str, env: &[(&str, &Path)]) {
    let server = Server::start(&smollm2());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sdk").join(script);
    let output = Command::new(program)
        .arg(&script)
        .arg(&server.base_url)
        .envs(env.iter().copied())
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}; run `cargo xtask test` once", program.display()));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.trim_end().ends_with("all checks passed"), "{said}");
}

#[test]
fn the_python_sdk_chats_streams_and_completes() {
    check(&testkit().join("sdk-python/bin/python"), "openai_python.py", &[]);
}

#[test]
fn the_node_sdk_chats_streams_and_completes() {
    let modules = testkit().join("sdk-node/node_modules");
    check(Path::new("node"), "openai_node.cjs", &[("NODE_PATH", &modules)]);
}

#[test]
fn anthropics_python_sdk_chats_streams_and_counts() {
    check(&testkit().join("sdk-python/bin/python"), "anthropic_python.py", &[]);
}

#[test]
fn openais_python_sdk_gets_responses() {
    check(&testkit().join("sdk-python/bin/python"), "responses_python.py", &[]);
}

#[test]
fn ollamas_python_sdk_chats_streams_and_generates() {
    check(&testkit().join("sdk-python/bin/python"), "ollama_python.py", &[]);
}
