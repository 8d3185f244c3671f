//! `tokbar bench run` against the built server. Sizes are small, and no time is judged.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::testbed::{Server, tokbar, tokbar_in};
use crate::tiny::tiny_model;

#[rustfmt::skip] // Pairs.
const SMALL: [&str; 12] = [
    "--prompt-tokens", "96", "--output-tokens", "8", "--long-prompt-tokens", "300", "--streams", "1,3",
    "--turns", "3", "--seed", "1",
];

fn text(path: &Path) -> &str {
    path.to_str().expect("a UTF-8 path")
}

fn bench(args: &[&str]) -> Output {
    tokbar(&[&["bench"][..], args].concat())
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What servers with these settings left of themselves.
fn n_marks(config: &Path) -> usize {
    fs::read_dir(config.join("running")).expect("servers ran").count()
}

/// Values of a figure.
fn values(results: &Value, suite: &str, case: &str, metric: &str) -> Vec<f64> {
    let all = results["series"].as_array().expect("series");
    let found = all.iter().find(|s| s["suite"] == suite && s["case"] == case && s["metric"] == metric);
    let values = found.unwrap_or_else(|| panic!("no {suite}, {case}, {metric}: {results}"))["values"].as_array();
    values.expect("values").iter().map(|value| value.as_f64().expect("a number")).collect()
}

#[test]
fn every_suite_measures_a_server_that_it_starts_and_results_can_be_compared() {
    let (model, folder) = (tiny_model(), tempfile::tempdir().expect("a folder"));
    let (json, svg) = (folder.path().join("r.json"), folder.path().join("r.svg"));
    let files = ["--json", text(&json), "--svg", text(&svg)];
    let arguments = [&["bench", "run", "--model", text(model.path()), "--runs", "2"][..], &SMALL, &files].concat();
    let output = tokbar_in(folder.path(), &arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(n_marks(folder.path()), 0, "kills were meant: they make no later start careful");

    let results: Value = serde_json::from_str(&fs::read_to_string(&json).expect("results")).expect("JSON");
    for (suite, case, metric) in [
        ("cold", "long prompt", "TTFT"),
        ("cold", "long prompt", "prefill"),
        ("cold", "short prompt", "decode"),
        ("prefix", "exact", "TTFT of the cold one's"),
        ("prefix", "64 tokens more", "TTFT"),
        ("prefix", "branch at the middle", "TTFT"),
        ("prefix", "edit at the middle", "TTFT"),
        ("restart", "after kill -9", "TTFT of the warm one's"),
        ("restart", "after kill -9", "start to answer"),
        ("concurrency", "3 streams", "all streams"),
        ("concurrency", "3 streams", "ITL p95"),
        ("concurrency", "300 tokens arrive at 4 streams", "ITL p95"),
        ("agent", "turn 3", "TTFT"),
        ("agent", "conversation", "whole time"),
        ("spec", "code edit", "decode"),
        ("spec", "JSON", "decode"),
        ("spec", "prose", "decode"),
    ] {
        let values = values(&results, suite, case, metric);
        assert!(values.len() == 2 && values.iter().all(|&value| value > 0.0), "{suite}, {case}, {metric}: {values:?}");
    }
    // Words are sized by the server's own counts, and every answer goes on to the length that was asked for.
    for (suite, case, metric, expected, off) in [
        ("prefix", "cold", "prompt", 96.0, 2.0),
        ("prefix", "64 tokens, cold", "prompt", 64.0, 2.0),
        ("cold", "long prompt", "answer", 8.0, 0.0),
        ("agent", "conversation", "answer", 12.0, 0.0),
    ] {
        let values = values(&results, suite, case, metric);
        let is_close = |value: &f64| (value - expected).abs() <= off;
        assert!(values.iter().all(is_close), "{suite}, {case}, {metric}: {values:?} is not {expected}");
    }
    assert!(fs::read_to_string(&svg).expect("a picture").contains("prefix: TTFT (ms), lower is better"));

    let output = bench(&["compare", text(&json), text(&json)]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.contains("tokbar (r)") && said.contains("1.00x"), "{said}");
}

#[test]
fn a_server_that_cannot_start_is_left_out_with_the_reason() {
    let model = tiny_model();
    let server = Server::start(model.path());
    let first = format!("--target=up={}", server.base_url);
    let args = ["run", "cold", &first, "--target=down=echo no model for {port} >&2; exit 3"];
    let output = bench(&[&args[..], &SMALL].concat());
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", stderr(&output));
    for part in ["long prompt", "note: down: down cannot be measured", "no model for", "exit status: 3"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn what_cannot_be_reached_or_killed_is_an_error() {
    let model = tiny_model();
    let server = Server::start(model.path());
    for (args, part) in [
        (["--url", "http://127.0.0.1:9", "cold"], "cannot reach http://127.0.0.1:9/v1/models"),
        (["--url", &server.base_url, "restart"], "give --serve-command"),
    ] {
        let output = bench(&[&["run"][..], &args, &SMALL].concat());
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert!(stderr(&output).contains(part), "{}", stderr(&output));
    }
}

#[test]
fn ctrl_c_stops_the_server_and_tells_what_was_measured() {
    let (model, folder) = (tiny_model(), tempfile::tempdir().expect("a folder"));
    let pid_file = folder.path().join("pid");
    let program = env!("CARGO_BIN_EXE_tokbar");
    let line = format!("echo $$ > {}; exec {program} serve {} --port {{port}}", text(&pid_file), text(model.path()));
    let mut bench = Command::new(program)
        .args(["bench", "run", "cold", "--serve-command", &line])
        .args(SMALL)
        .args(["--runs", "1000"])
        .env("TOKBAR_CONFIG_DIR", folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("tokbar starts");
    let mut log = BufReader::new(bench.stderr.take().expect("stderr is piped")).lines().map_while(Result::ok);
    assert!(log.any(|line| line.contains("cold, run 2 of 1000")), "it measures");
    kill(Pid::from_raw(i32::try_from(bench.id()).expect("a pid fits")), Signal::SIGINT).expect("it runs");
    let rest: Vec<String> = log.collect();
    let output = bench.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(1));
    assert!(rest.iter().any(|line| line.contains("stopped before the end")), "{rest:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("long prompt"));
    let pid: i32 = fs::read_to_string(&pid_file).expect("the server's pid").trim().parse().expect("a number");
    assert_eq!(kill(Pid::from_raw(pid), None), Err(Errno::ESRCH), "the server is gone");
    assert_eq!(n_marks(folder.path()), 0, "it had time to end by itself");
}
