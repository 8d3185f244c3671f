//! Whatever the OpenAPI document allows, and what it does not: the server never fails of it.

use std::process::{Command, Stdio};

use serde_json::json;

use crate::http::manage;
use crate::testbed::{Server, testkit};
use crate::tiny::tiny_model;

/// Paths left out: these end the server, or would answer for as long as it runs.
const LEFT_OUT: &[&str] = &["/control/v1/shutdown", "/control/v1/live", "/control/v1/logs"];

#[test]
fn no_call_of_the_document_makes_the_server_fail() {
    let (model, home) = (tiny_model(), tempfile::tempdir().expect("a folder"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_tokbar"));
    command.arg("serve").arg(model.path()).env("HOME", home.path()).env("HF_HUB_OFFLINE", "1");
    command.env("TOKBAR_CONFIG_DIR", home.path().join("config")).env_remove("HF_HOME").env_remove("HF_HUB_CACHE");
    command.stderr(Stdio::null());
    let server = Server::spawn(command, &["--pin", "--rate-limit", "0"]);
    let program = testkit().join("schemathesis/bin/schemathesis");
    let n_examples = if std::env::var_os("TOKBAR_TEST_ALL").is_some() { "60" } else { "3" };
    let origin = format!("http://{}", server.address());
    let mut fuzz = Command::new(&program);
    fuzz.arg("run").arg(format!("{origin}/control/v1/openapi.json")).current_dir(home.path());
    fuzz.args(["--url", &origin, "--checks", "not_a_server_error", "--phases", "examples,fuzzing"]);
    fuzz.args(["--max-examples", n_examples, "--seed", "7", "--suppress-health-check", "all", "--no-shrink"]);
    fuzz.args(["--request-timeout", "60", "--header", &format!("Authorization: Bearer {}", server.token)]);
    for path in LEFT_OUT {
        fuzz.args(["--exclude-path", path]);
    }
    let output =
        fuzz.output().unwrap_or_else(|error| panic!("{}: {error}; run `cargo xtask test` once", program.display()));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    let (status, answer) = manage(&server, "GET", "/status", &json!(null));
    assert_eq!(status, 200, "{answer}");
}
