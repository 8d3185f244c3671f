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

/// What `parse` prints for wire text on standard input.
fn parsed(arguments: &[&str], wire: &str) -> Vec<Value> {
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_tokbar"))
        .arg("parse")
        .args(arguments)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("tokbar starts");
    child.stdin.take().expect("a pipe").write_all(wire.as_bytes()).expect("tokbar reads");
    let output = child.wait_with_output().expect("tokbar ends");
    assert!(output.status.success());
    String::from_utf8(output.stdout)
        .expect("UTF-8")
        .lines()
        .map(|line| serde_json::from_str(line).expect(line))
        .collect()
}

#[test]
fn parse_tells_events_and_the_message() {
    let dir = tempfile::tempdir().expect("a folder");
    let tools = dir.path().join("tools.json");
    std::fs::write(&tools, r#"[{"type": "function", "function": {"name": "look"}}]"#).expect("a file");
    let tools = tools.to_str().expect("a UTF-8 path");
    let wire = "hm</think>Ok <tool_call>{\"name\": \"look\", \"arguments\": {\"at\": 1}}</tool_call>";
    let whole = parsed(&["--tools", tools, "--prompt-tail", "<think>\n"], wire);
    let message = whole.last().expect("a message");
    assert_eq!((&message["content"], &message["reasoning_content"]), (&"Ok ".into(), &"hm".into()), "{whole:?}");
    assert_eq!(message["tool_calls"][0]["arguments"], "{\"at\": 1}");
    assert_eq!(message["finish_reason"], "tool_calls");
    let chunked = parsed(&["--format", "hermes", "--tools", tools, "--prompt-tail", "<think>", "--chunk", "1"], wire);
    assert!(chunked.len() > whole.len());
    assert_eq!(chunked.last(), whole.last());
    let off = parsed(&["--no-thinking", "--prompt-tail", "<think>"], "plain");
    assert_eq!(off.last().map(|message| &message["content"]), Some(&"plain".into()));
}

#[test]
fn render_tells_the_prompt_and_its_tokens() {
    let dir = tempfile::tempdir().expect("a folder");
    let (messages, template) = (dir.path().join("m.json"), dir.path().join("t.jinja"));
    std::fs::write(&messages, r#"[{"role": "developer", "content": "a"}, {"role": "user", "content": "b"}]"#)
        .expect("a file");
    std::fs::write(&template, "{% for m in messages %}{{ m.role }}:{{ m.content }};{% endfor %}").expect("a file");
    let path = |path: &std::path::Path| path.to_str().expect("a UTF-8 path").to_owned();
    let said = stdout(&["render", "--template", &path(&template), &path(&messages)]);
    assert_eq!(said, "system:a;user:b;\n");
    let said: Value =
        serde_json::from_str(&stdout(&["render", "--model", &model(), "--json", &path(&messages)])).expect("JSON");
    assert!(said["prompt"].as_str().is_some_and(|text| text.contains("<|im_start|>user\nb<|im_end|>")), "{said}");
    assert_eq!(said["tokens"][0], 1, "{said}");
}

#[test]
fn bench_reports_every_figure() {
    let report: Value = serde_json::from_str(&stdout(&[
        "bench",
        "engine",
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
        let output = tokbar(&[&["bench", "engine", &model(), "--runs", "1"][..], &sizes].concat());
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

/// A file that `generate` writes.
fn generated(dir: &std::path::Path, name: &str) -> String {
    std::fs::read_to_string(dir.join(name)).expect(name)
}

#[test]
fn completions_and_manual_pages_tell_what_the_command_line_takes() {
    let dir = tempfile::tempdir().expect("a folder");
    stdout(&["generate", dir.path().to_str().expect("a UTF-8 path")]);
    for name in ["tokbar.bash", "tokbar.fish", "_tokbar"] {
        let text = generated(dir.path(), name);
        for word in ["serve", "pull", "kv-budget", "cache"] {
            assert!(text.contains(word), "{name} has no {word}");
        }
    }
    let bash = std::process::Command::new("bash").arg("-n").arg(dir.path().join("tokbar.bash")).status().expect("bash");
    assert!(bash.success());
    let page = generated(dir.path(), "tokbar.1");
    assert!(
        page.contains(".TH TOKBAR 1") && page.contains("tokbar\\-serve(1)") && !page.contains("generate"),
        "{page}"
    );
    assert!(generated(dir.path(), "tokbar-serve.1").contains("allow\\-unauthenticated\\-lan"));
    assert!(generated(dir.path(), "tokbar-cache-clear.1").contains("Do not ask"));
    let refused = tokbar(&["generate", "/nowhere/at/all"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("cannot write /nowhere/at/all/tokbar.bash"));
}

#[test]
fn open_knocks_at_the_app_or_says_that_it_does_not_run() {
    let config = tempfile::tempdir().expect("a folder");
    let open = |args: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_tokbar"));
        command.arg("open").args(args).env("TOKBAR_CONFIG_DIR", config.path()).output().expect("tokbar starts")
    };
    let said = String::from_utf8_lossy(&open(&[]).stderr).into_owned();
    assert!(said.contains("the Tokbar app does not run; start it"), "{said}");

    let app = std::os::unix::net::UnixListener::bind(config.path().join("desktop.sock")).expect("a place");
    let listening = std::thread::spawn(move || {
        let wishes = ["", "/models"].map(|_| {
            let (mut socket, _) = app.accept().expect("a knock");
            let mut wish = String::new();
            socket.read_to_string(&mut wish).expect("a wish");
            socket.write_all(b"done").expect("an answer");
            wish
        });
        drop(app);
        wishes
    });
    assert!(open(&[]).status.success() && open(&["models"]).status.success());
    assert_eq!(listening.join().expect("wishes"), ["", "/models"]);
    let said = String::from_utf8_lossy(&open(&["nowhere"]).stderr).into_owned();
    assert!(said.contains("settings"), "the pages are named: {said}");
}
