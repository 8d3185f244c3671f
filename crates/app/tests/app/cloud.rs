//! Long prompts go to another server, where a person wants that: here a second Tokbar stands for the cloud.

use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::http::{manage, raw};
use crate::testbed::Server;
use crate::tiny::tiny_model;

/// Two servers of one tiny model; the first sends prompts of 60 tokens or more to the second.
struct Sky {
    here: Server,
    cloud: Server,
    _dirs: [TempDir; 3],
}

fn serve(model: &TempDir, config: &TempDir, args: &[&str]) -> Server {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tokbar"));
    command.arg("serve").arg(model.path()).env("TOKBAR_CONFIG_DIR", config.path()).stderr(Stdio::inherit());
    command.env("HF_HUB_OFFLINE", "1").env("TOKBAR_CLOUD_KEY", "sky-key");
    Server::spawn(command, args)
}

impl Sky {
    fn new(dialect: &str) -> Self {
        let (model, one, two) =
            (tiny_model(), tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let cloud = serve(&model, &two, &["--name", "big", "--api-key", "sky-key"]);
        let url = cloud.base_url.clone();
        let to = ["--cloud-url", &url, "--cloud-model", "big", "--cloud-threshold", "60", "--cloud-dialect", dialect];
        Self { here: serve(&model, &one, &to), cloud, _dirs: [model, one, two] }
    }

    /// The whole answer of a call, with its head.
    fn ask(&self, path: &str, headers: &str, body: &Value) -> String {
        let body = body.to_string();
        let head = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{headers}");
        let call = format!("{head}Content-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len());
        raw(&self.here, call.as_bytes())
    }
}

/// A conversation whose only message has this word so many times.
fn chat(word: &str, n: usize) -> Value {
    let text = vec![word; n].join(" ");
    json!({"messages": [{"role": "user", "content": text}], "max_tokens": 4, "temperature": 0})
}

fn body(answer: &str) -> Value {
    let text = answer.split_once("\r\n\r\n").expect("a body").1;
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

const CHAT: &str = "/v1/chat/completions";
const STAY: &str = "x-tokbar-route: local\r\n";

#[test]
fn long_prompts_go_there_marked_and_others_stay() {
    let sky = Sky::new("openai");
    let short = sky.ask(CHAT, "", &chat("a", 5));
    assert!(short.starts_with("HTTP/1.1 200") && !short.contains("x-tokbar-routed"), "{short}");
    let long = sky.ask(CHAT, "", &chat("b", 100));
    assert!(long.starts_with("HTTP/1.1 200") && long.contains("x-tokbar-routed: cloud big"), "{long}");
    let answer = body(&long);
    assert_eq!((&answer["tokbar"]["routed"], &answer["tokbar"]["model"]), (&json!("cloud"), &json!("big")), "{answer}");
    assert!(answer["choices"][0]["message"]["content"].is_string(), "{answer}");

    let kept = sky.ask(CHAT, STAY, &chat("c", 100));
    assert!(kept.starts_with("HTTP/1.1 200") && !kept.contains("x-tokbar-routed"), "{kept}");
    let mut by_field = chat("d", 100);
    by_field["tokbar_route"] = json!("local");
    assert!(!sky.ask(CHAT, "", &by_field).contains("x-tokbar-routed"));
    let again = sky.ask(CHAT, "", &chat("c", 100));
    assert!(
        again.starts_with("HTTP/1.1 200") && !again.contains("x-tokbar-routed"),
        "what is kept here is not long: {again}"
    );

    let mut streamed = chat("e", 100);
    streamed["stream"] = json!(true);
    let stream = sky.ask(CHAT, "", &streamed);
    assert!(stream.contains("x-tokbar-routed: cloud big") && stream.contains(": routed to the cloud, big"), "{stream}");
    assert!(stream.contains("chat.completion.chunk") && stream.contains("data: [DONE]"), "{stream}");
    let other = json!({"model": "default", "messages": chat("f", 100)["messages"], "max_tokens": 4});
    assert!(!sky.ask("/v1/messages", "", &other).contains("x-tokbar-routed"), "another dialect stays");
}

#[test]
fn what_fails_there_is_answered_here_with_a_word() {
    let Sky { here, cloud, _dirs } = Sky::new("openai");
    assert!(cloud.stop().success());
    let (model, config) = (tiny_model(), tempfile::tempdir().expect("a folder"));
    let sky = Sky { here, cloud: serve(&model, &config, &[]), _dirs };
    let answer = sky.ask(CHAT, "", &chat("g", 100));
    assert!(answer.starts_with("HTTP/1.1 200") && !answer.contains("x-tokbar-routed"), "{answer}");
    assert!(answer.contains("x-tokbar-notice: the cloud did not answer this call"), "{answer}");
    assert!(sky.cloud.base_url.starts_with("http"));
}

#[test]
fn anthropics_dialect_passes_too_and_keys_are_not_told() {
    let sky = Sky::new("anthropic");
    let call = json!({"model": "default", "messages": chat("h", 100)["messages"], "max_tokens": 4});
    let answer = sky.ask("/v1/messages", "", &call);
    assert!(answer.contains("x-tokbar-routed: cloud big"), "{answer}");
    assert_eq!(body(&answer)["tokbar"]["routed"], "cloud");
    assert!(!answer.contains("sky-key"), "{answer}");
    let mut streamed = call;
    streamed["stream"] = json!(true);
    let stream = sky.ask("/v1/messages", "", &streamed);
    assert!(stream.contains("event: message_start") && stream.contains("event: message_stop"), "{stream}");
}

/// Where there is no variable, the key comes from where the settings say.
#[test]
fn the_key_is_read_from_where_the_settings_say() {
    let (model, one, two) =
        (tiny_model(), tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let cloud = serve(&model, &two, &["--name", "big", "--api-key", "sky-key"]);
    let here = |key_from: &str| {
        let cloud = json!({
            "is_on": true, "base_url": cloud.base_url, "model": "big", "threshold_tokens": 60, "key_from": key_from,
        });
        std::fs::write(one.path().join("settings.json"), json!({ "cloud": cloud }).to_string()).expect("a file");
    };
    let mut command = Command::new(env!("CARGO_BIN_EXE_tokbar"));
    command.arg("serve").arg(model.path()).env("TOKBAR_CONFIG_DIR", one.path()).stderr(Stdio::inherit());
    command.env("HF_HUB_OFFLINE", "1").env_remove("TOKBAR_CLOUD_KEY");
    here("env");
    let server = Server::spawn(command, &[]);
    let routed = |word: &str| {
        let body = chat(word, 100).to_string();
        let head = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
        let call = format!("{head}Content-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len());
        raw(&server, call.as_bytes()).contains("x-tokbar-routed: cloud big")
    };
    assert!(!routed("a"), "there is no key");
    here("keychain");
    assert!(!routed("b"), "there is no key yet");
    let secrets = one.path().join("secrets.json");
    let told = |path: &str, body: Value| {
        let (status, answer) = manage(&server, "POST", path, &body);
        (status, answer.to_string())
    };
    let refused = told("/cloud/key", json!({ "key": "sky key" }));
    assert!(refused.0 == 400 && refused.1.contains("no spaces"), "{refused:?}");
    let (status, told_of_it) = told("/cloud/key", json!({ "key": "sky-key" }));
    assert!(status == 200 && told_of_it.contains("secrets.json") && !told_of_it.contains("sky-key"), "{told_of_it}");
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&secrets).expect("a file").permissions());
    assert_eq!(mode & 0o077, 0, "{mode:o}");
    assert!(routed("c"));
    assert_eq!(told("/cloud/key/remove", json!({})).0, 200);
    assert!(!routed("f"), "it was forgotten");
    std::fs::write(&secrets, "broken").expect("a file");
    let (status, told_of_it) = told("/cloud/key", json!({ "key": "sky-key" }));
    assert!(status == 424 && told_of_it.contains("is damaged; correct it, or delete it"), "{told_of_it}");
    assert_eq!(std::fs::read(&secrets).expect("a file"), b"broken", "nothing of it is lost");
    here("file");
    let file = one.path().join("cloud.key");
    std::fs::write(&file, "sky-key\n").expect("a file");
    let allow =
        |mode| std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(mode)).expect("a mode");
    allow(0o644);
    assert!(!routed("d"), "others may read it");
    allow(0o600);
    assert!(routed("e"));
}

#[test]
fn models_that_are_not_loaded_are_listed_with_their_context() {
    let (model, home) = (tiny_model(), tempfile::tempdir().expect("a folder"));
    std::fs::create_dir_all(home.path().join("config")).expect("a place");
    let folders = json!([model.path()]).to_string();
    std::fs::write(home.path().join("config/folders.json"), folders).expect("a place");
    let mut command = Command::new(env!("CARGO_BIN_EXE_tokbar"));
    command.arg("serve").env("HOME", home.path()).env("TOKBAR_CONFIG_DIR", home.path().join("config"));
    command.env("HF_HUB_OFFLINE", "1").env_remove("HF_HOME").env_remove("HF_HUB_CACHE").stderr(Stdio::inherit());
    let server = Server::spawn(command, &[]);
    let get = || body(&raw(&server, b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"));
    let listed = get()["data"][0].clone();
    assert_eq!((&listed["state"], &listed["context_window"]), (&json!("available"), &json!(2048)), "{listed}");
    assert_eq!((&listed["format"], &listed["family"]), (&json!("safetensors"), &json!("llama")), "{listed}");
    assert!(listed["memory_bytes"].as_u64().is_some_and(|n| n > 0), "{listed}");
    assert!(listed["capabilities"].as_array().is_some_and(|all| all.contains(&json!("chat"))), "{listed}");
    let name = listed["id"].as_str().expect("a name");
    let ask = |head: &str, body: &str| {
        let head = format!("{head}\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n");
        self::body(&raw(&server, format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes()))
    };
    assert_eq!(ask(&format!("GET /v1/models/{name} HTTP/1.1"), "")["state"], "available");
    let anthropic = ask("GET /v1/models HTTP/1.1\r\nanthropic-version: 2023-06-01", "");
    assert_eq!((&anthropic["data"][0]["id"], &anthropic["data"][0]["max_input_tokens"]), (&json!(name), &json!(2048)));
    let one = ask(&format!("GET /v1/models/{name} HTTP/1.1\r\nanthropic-version: 2023-06-01"), "");
    assert_eq!((&one["type"], &one["id"], &anthropic["first_id"]), (&json!("model"), &json!(name), &json!(name)));
    let tags = ask("GET /api/tags HTTP/1.1", "");
    assert_eq!((&tags["models"][0]["model"], &tags["models"][0]["details"]["family"]), (&json!(name), &json!("llama")));
    let shown = ask("POST /api/show HTTP/1.1", &json!({"model": format!("{name}:latest")}).to_string());
    assert_eq!(shown["model_info"]["llama.context_length"], 2048, "{shown}");
    assert_eq!(ask("GET /api/ps HTTP/1.1", ""), json!({"models": []}), "a list loads nothing");
    let mut call = chat("a", 3);
    call["model"] = listed["id"].clone();
    let (status, answer) = crate::http::post(&server, "/chat/completions", &call);
    assert_eq!(status, 200, "{answer}");
    let all = get()["data"].as_array().expect("a list").clone();
    assert_eq!((all.len(), &all[0]["state"]), (1, &json!("loaded")), "{all:?}");
}
