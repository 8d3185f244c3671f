//! Models come when they are named and go when they must, under the real server with real, tiny models.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::http::{chat, manage, managed, metric, post, raw, stream};
use crate::testbed::Server;
use crate::tiny::tiny_model;

/// Only keeps a broken server from hanging the test.
const PATIENCE: Duration = Duration::from_secs(60);

/// A folder with the models `alpha` and `beta`, and settings that know of it.
struct Bed {
    dir: TempDir,
}

impl Bed {
    fn new() -> Self {
        let (dir, tiny) = (tempfile::tempdir().expect("a folder"), tiny_model());
        for name in ["alpha", "beta"] {
            let model = dir.path().join("models").join(name);
            fs::create_dir_all(&model).expect("a place");
            for entry in fs::read_dir(tiny.path()).expect("a model") {
                let path = entry.expect("a file").path();
                fs::copy(&path, model.join(path.file_name().expect("a name"))).expect("a place");
            }
        }
        fs::create_dir_all(dir.path().join("config")).expect("a place");
        let folders = json!([dir.path().join("models")]).to_string();
        fs::write(dir.path().join("config/folders.json"), folders).expect("a place");
        Self { dir }
    }

    fn config(&self) -> PathBuf {
        self.dir.path().join("config")
    }

    fn serve(&self, args: &[&str]) -> Server {
        Server::start_in(&self.config(), &self.dir.path().join("models/alpha"), args, Stdio::inherit())
    }

    fn tokbar(&self, args: &[&str]) -> (bool, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tokbar"));
        command
            .args(args)
            .env("TOKBAR_CONFIG_DIR", self.config())
            .env("HF_HUB_OFFLINE", "1")
            .env("HOME", self.dir.path());
        let output = command.stdin(Stdio::null()).output().expect("tokbar starts");
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        (output.status.success(), said.concat())
    }
}

fn ask(server: &Server, model: &str) -> (u16, Value) {
    let mut body = chat("Say the of.", 4);
    body["model"] = json!(model);
    post(server, "/chat/completions", &body)
}

fn census(server: &Server) -> Value {
    managed(server, "/live/now")
}

fn control(server: &Server, what: &str, body: &Value) -> (u16, Value) {
    manage(server, "POST", &format!("/models/{what}"), body)
}

fn health(server: &Server) -> Value {
    let call = format!("GET /health HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", server.address());
    let answer = raw(server, call.as_bytes());
    serde_json::from_str(answer.split_once("\r\n\r\n").map_or("", |(_, body)| body)).expect("JSON")
}

fn ids(server: &Server) -> Vec<String> {
    let models = census(server)["models"].as_array().expect("a list").clone();
    models.iter().map(|model| model["id"].as_str().expect("a name").to_owned()).collect()
}

fn n_acts(server: &Server, what: &str) -> usize {
    let acts = census(server)["acts"].as_array().expect("a list").clone();
    acts.iter().filter(|act| act["words"].as_str().is_some_and(|act| act.contains(what))).count()
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "not in time: {what}");
        thread::park_timeout(Duration::from_millis(20));
    }
}

#[test]
fn a_model_that_a_call_names_is_loaded_beside_the_other() {
    let bed = Bed::new();
    let server = bed.serve(&[]);
    let (status, answer) = ask(&server, "beta");
    assert_eq!((status, &answer["model"]), (200, &json!("beta")), "{answer}");
    assert_eq!(ask(&server, "alpha").0, 200);
    assert_eq!(ids(&server), ["alpha", "beta"]);
    let (status, answer) = ask(&server, "gamma");
    assert_eq!(status, 404, "{answer}");
    assert_eq!(ask(&server, "beta:latest").0, 404, "the tag is Ollama's alone");
    assert_eq!(ids(&server), ["alpha", "beta"]);
}

#[test]
fn switching_drops_no_stream_and_loads_once() {
    let bed = Bed::new();
    let server = bed.serve(&["--memory-budget", "55MB"]);
    let n_tokens = 400;
    let mut body = chat("Say the of.", n_tokens);
    (body["model"], body["stream"]) = (json!("alpha"), json!(true));
    let mut chunks = stream(&server, "/chat/completions", &body);
    chunks.next().expect("it runs");
    let (reason, n_pieces) = thread::scope(|scope| {
        let asked: Vec<_> = (0..4).map(|_| scope.spawn(|| ask(&server, "beta"))).collect();
        let (mut reason, mut n_pieces) = (Value::Null, 0);
        for chunk in chunks {
            n_pieces +=
                usize::from(chunk["choices"][0]["delta"]["content"].as_str().is_some_and(|text| !text.is_empty()));
            if !chunk["choices"][0]["finish_reason"].is_null() {
                reason = chunk["choices"][0]["finish_reason"].clone();
            }
        }
        for asked in asked {
            let (status, answer) = asked.join().expect("it answers");
            assert_eq!((status, &answer["model"]), (200, &json!("beta")), "{answer}");
        }
        (reason, n_pieces)
    });
    assert_eq!(reason, "length");
    assert!(n_pieces > 350, "{n_pieces} pieces of {n_tokens} tokens");
    assert_eq!(ids(&server), ["beta"]);
    assert_eq!((n_acts(&server, "beta is loaded"), n_acts(&server, "alpha is unloaded")), (1, 1));
    assert_eq!(ask(&server, "alpha").0, 200, "it comes back when it is named");
    assert_eq!(ids(&server), ["alpha"]);
}

#[test]
fn a_pinned_model_stays_and_the_refusal_says_so() {
    let bed = Bed::new();
    let server = bed.serve(&["--memory-budget", "55MB", "--pin"]);
    let (status, answer) = ask(&server, "beta");
    assert_eq!(status, 507, "{answer}");
    let said = answer["error"]["message"].as_str().expect("a message");
    assert!(said.contains("beside alpha, which stay") && said.contains("--memory-budget"), "{said}");
    assert_eq!(control(&server, "pin", &json!({"model": "alpha", "pinned": false})).0, 200);
    assert_eq!(ask(&server, "beta").0, 200);
    assert_eq!(ids(&server), ["beta"]);
    assert_eq!(control(&server, "unload", &json!({"model": "alpha"})).0, 404);
}

#[test]
fn a_model_that_nobody_uses_goes_and_comes_back() {
    let bed = Bed::new();
    let server = bed.serve(&["--idle-timeout", "0.02"]);
    wait_until("the model goes", || ids(&server).is_empty());
    let (status, answer) = ask(&server, "default");
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["model"], "alpha");
}

/// What a server says before it is ready, when its last run ended as `end` wants.
fn said_at_start(bed: &Bed, end: fn(&mut std::process::Child)) -> String {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tokbar"))
        .arg("serve")
        .arg(bed.dir.path().join("models/alpha"))
        .args(["--port", "0", "--no-disk-cache"])
        .env("TOKBAR_CONFIG_DIR", bed.config())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("tokbar starts");
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
    let mut said = String::new();
    for line in lines {
        if line.starts_with("Ready: ") {
            break;
        }
        said.push_str(&line);
    }
    end(&mut child);
    child.wait().expect("it ends");
    said
}

#[test]
fn after_an_unclean_end_one_start_is_careful_and_says_so() {
    let bed = Bed::new();
    let kill = |child: &mut std::process::Child| child.kill().expect("it can be killed");
    let stop = |child: &mut std::process::Child| {
        let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).expect("a pid fits"));
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).expect("it is there");
    };
    assert!(!said_at_start(&bed, stop).contains("safe mode"));
    assert!(!said_at_start(&bed, kill).contains("safe mode"), "the last end was clean");
    let careful = said_at_start(&bed, stop);
    assert!(careful.contains("while alpha was loaded: safe mode"), "{careful}");
    assert!(!said_at_start(&bed, stop).contains("safe mode"), "it is careful once");
}

/// A server as it is after one that was killed.
fn serve_after_a_kill(bed: &Bed, args: &[&str]) -> Server {
    said_at_start(bed, |child| child.kill().expect("it can be killed"));
    bed.serve(args)
}

#[test]
fn who_waits_in_safe_mode_can_see_why() {
    let bed = Bed::new();
    let server = serve_after_a_kill(&bed, &["--safe-mode-for", "3600"]);
    let status = managed(&server, "/status");
    assert_eq!(status["is_safe_mode"], true, "{status}");
    let note = status["safe_mode_note"].as_str().expect("a note").to_owned();
    assert!(note.contains("one sequence at a time") && note.contains("60 minutes of good service"), "{note}");
    assert_eq!(n_acts(&server, "safe mode"), 1);
    assert!(health(&server)["safe_mode"].as_str().is_some_and(|why| why.contains("one sequence at a time")));
    let (_, said) = bed.tokbar(&["ps"]);
    assert!(said.contains(&note), "{said}");
    let shown: Value = serde_json::from_str(&bed.tokbar(&["ps", "--json"]).1).expect("JSON");
    assert_eq!(shown[0]["safe_mode"], json!(note));
    all_answer(&server);
}

/// Several calls at once, one after another or side by side.
fn all_answer(server: &Server) {
    thread::scope(|scope| {
        let calls: Vec<_> = (0..4).map(|_| scope.spawn(|| ask(server, "alpha").0)).collect();
        assert!(calls.into_iter().all(|call| call.join().expect("it answers") == 200));
    });
}

#[test]
fn safe_mode_ends_by_itself_when_all_goes_well() {
    let bed = Bed::new();
    let server = serve_after_a_kill(&bed, &["--safe-mode-for", "0.2"]);
    wait_until("it is over", || managed(&server, "/status")["is_safe_mode"] == false);
    assert_eq!(managed(&server, "/status")["safe_mode_note"], Value::Null);
    wait_until("that is told", || n_acts(&server, "safe mode is over") == 1);
    assert_eq!(health(&server).get("safe_mode"), None);
    assert!(!bed.tokbar(&["ps"]).1.contains("note:"));
    all_answer(&server);
}

#[test]
fn short_memory_sends_state_to_disk_and_fails_no_call_before_it_must() {
    let bed = Bed::new();
    let (level, cache) = (bed.dir.path().join("level"), bed.dir.path().join("cache"));
    let set = |word: &str| fs::write(&level, word).expect("a place");
    set("normal");
    let path = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    let (from, dir) = (path(&level), path(&cache));
    let server = bed.serve(&["--cache-dir", &dir, "--pressure-from", &from, "--pressure-calm", "1", "--pin"]);
    let long = chat(&"Say the of and then say it again. ".repeat(40), 8);
    let cached = || {
        let (status, answer) = post(&server, "/chat/completions", &long);
        assert_eq!(status, 200, "{answer}");
        answer["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64().expect("a count")
    };
    cached();
    let n_before = cached();
    assert!(n_before > 200 && metric(&server, "kv_blocks") > 0.0);
    let n_bytes = metric(&server, "memory_bytes");

    set("warning");
    wait_until("kept state leaves the memory", || metric(&server, "kv_blocks") == 0.0);
    assert!(metric(&server, "kv_disk_blocks") > 0.0, "it is on disk");
    assert!(metric(&server, "memory_bytes") < n_bytes);
    thread::scope(|scope| {
        let calls: Vec<_> = (0..6).map(|_| scope.spawn(cached)).collect();
        let cached: Vec<u64> = calls.into_iter().map(|call| call.join().expect("no call fails at warning")).collect();
        assert_eq!(cached.len(), 6);
    });

    set("critical");
    wait_until("calls are refused", || ask(&server, "alpha").0 == 503);
    assert_eq!(census(&server)["memory"]["pressure"], "critical");
    assert_eq!(ids(&server), ["alpha"], "it is pinned");

    set("normal");
    wait_until("calls are taken", || ask(&server, "alpha").0 == 200);
    wait_until("pressure is over", || census(&server)["memory"]["pressure"] == "normal");
    assert!(cached() > 200, "it came back from disk");
    wait_until("state is kept again", || metric(&server, "kv_blocks") > 0.0);
    assert!(n_acts(&server, "memory pressure") >= 3, "{}", census(&server));
}

#[test]
fn an_idle_model_goes_when_memory_is_critical() {
    let bed = Bed::new();
    let level = bed.dir.path().join("level");
    fs::write(&level, "critical").expect("a place");
    let server = bed.serve(&["--pressure-from", level.to_str().expect("UTF-8"), "--pressure-calm", "0.1"]);
    wait_until("the model goes", || ids(&server).is_empty());
    let (status, answer) = ask(&server, "alpha");
    assert_eq!((status, &answer["error"]["code"]), (503, &json!("out_of_memory")), "{answer}");
    fs::write(&level, "normal").expect("a place");
    wait_until("it comes back", || ask(&server, "alpha").0 == 200);
}

#[test]
fn running_servers_are_shown_and_told_what_to_do() {
    let bed = Bed::new();
    assert!(bed.tokbar(&["ps"]).1.contains("no server of yours runs"));
    let server = bed.serve(&[]);
    let (_, said) = bed.tokbar(&["ps"]);
    assert!(said.contains("alpha") && said.contains("ready") && said.contains("pressure"), "{said}");
    let shown: Value = serde_json::from_str(&bed.tokbar(&["ps", "--json"]).1).expect("JSON");
    assert_eq!(shown[0]["live"]["models"][0]["id"], "alpha");
    assert!(bed.tokbar(&["stop", "alpha"]).1.contains("alpha is unloaded"));
    assert!(ids(&server).is_empty());
    let (is_ok, said) = bed.tokbar(&["stop", "alpha"]);
    assert!(!is_ok && said.contains("alpha"), "{said}");
    let stopped: Value = serde_json::from_str(&bed.tokbar(&["stop", "--json"]).1).expect("JSON");
    assert_eq!(stopped["stopped"].as_str(), Some(server.address().replace("localhost", "127.0.0.1").as_str()));
    wait_until("the server ends", || bed.tokbar(&["ps"]).1.contains("no server of yours runs"));
}

#[test]
fn the_doctor_names_what_is_wrong_and_what_fixes_it() {
    let bed = Bed::new();
    let (_, said) = bed.tokbar(&["doctor"]);
    assert!(said.contains("2 of 2 can be loaded") && said.contains("nothing is wrong"), "{said}");
    fs::remove_file(bed.dir.path().join("models/beta/model.safetensors")).expect("it is there");
    let bundle = bed.dir.path().join("bundle.json");
    let (_, said) = bed.tokbar(&["doctor", "--bundle", bundle.to_str().expect("UTF-8")]);
    assert!(said.contains("beta") && said.contains("to fix: replace the files") && said.contains("1 wrong"), "{said}");
    let told = fs::read_to_string(bundle).expect("it is written");
    let home = bed.dir.path().to_str().expect("UTF-8");
    assert!(told.contains("beta") && !told.contains(home), "{told}");
    let report: Value = serde_json::from_str(&told).expect("JSON");
    assert!(report["findings"].as_array().is_some_and(|findings| findings.len() >= 7), "{told}");
}
