//! The control API: who may use it, what runs, and what its document says.

use std::time::Duration;

use serde_json::{Value, json};
use tokbar_server::control::openapi;
use tokbar_server::{Key, KeyScope, Keys, Models, ServerOptions};

use crate::client::{Call, Stream};
use crate::setup::{LAUNCH, Setup, TestServer};

const CHAT: &str = "/v1/chat/completions";

fn endless() -> Value {
    json!({ "messages": [{ "role": "user", "content": "x" }], "max_tokens": 1_000_000, "stream": true })
}

/// With an output that never ends by itself.
fn endless_text() -> Value {
    json!({ "prompt": "x", "max_tokens": 1_000_000, "ignore_eos": true, "stream": true })
}

#[test]
fn it_takes_a_key_that_may_manage_even_where_calls_take_none() {
    let server = TestServer::hashing();
    let status = |call: Call| call.send(server.address).status;
    let path = "/control/v1/status";
    assert_eq!(status(Call::get(path)), 401);
    assert_eq!(status(Call::get(path).header("Authorization", "Bearer wrong")), 401);
    assert_eq!(status(Call::get(path).header("Authorization", &format!("Bearer {LAUNCH}"))), 200);
    assert_eq!(status(Call::get(path).header("x-api-key", LAUNCH)), 200);
    assert_eq!(status(Call::get(&format!("{path}?token={LAUNCH}"))), 400, "no key in an address");
    assert_eq!(status(Call::get("/control/v1/openapi.json")), 200);
    assert_eq!(status(Call::get("/v1/models")), 200);

    let keys = Keys(vec![Key::new("a", KeyScope::Inference, "use"), Key::new("b", KeyScope::Manage, "manage")]);
    let options = ServerOptions { keys: Some(keys), ..Setup::default().server };
    let server = TestServer::start(Setup { server: options, ..Setup::default() });
    let status = |path: &str, key: &str| {
        Call::get(path).header("Authorization", &format!("Bearer {key}")).send(server.address).status
    };
    assert_eq!((status(path, "use"), status(path, "manage"), status(path, LAUNCH)), (403, 200, 200));
    assert_eq!(
        (status("/v1/models", "use"), status("/v1/models", LAUNCH), status("/v1/models", "no")),
        (200, 200, 401)
    );
}

#[test]
fn the_state_is_told_in_a_word() {
    let server = TestServer::hashing();
    let said = server.manage_get("/status").ok();
    assert_eq!((&said["state"]["kind"], &said["state"]["words"]), (&json!("ready"), &json!("tiny")), "{said}");
    assert_eq!((&said["needs_key"], &said["is_safe_mode"]), (&json!(false), &json!(false)));
    server.models.replace(Vec::new());
    assert_eq!(server.manage_get("/status").ok()["state"]["kind"], "stopped");
    let coming = Models::loading("org/Big-7B".to_owned(), std::sync::Arc::new(|| 0.43));
    let said = TestServer::serving(coming).manage_get("/status").ok();
    assert_eq!((&said["state"]["words"], &said["state"]["part"]), (&json!("Loading 43 %"), &json!(0.43)), "{said}");
}

#[test]
fn calls_that_run_are_listed_and_can_be_cancelled() {
    let server = TestServer::start(Setup::roomy());
    let call = Call::post("/v1/completions", &endless_text()).header("User-Agent", "claude-cli/2.0 (external)");
    let mut stream = call.header("x-request-id", "mine").open(server.address);
    assert!(stream.chunk().is_some());
    let row = wait_for(&server, |row| row["state"] == "decode");
    assert_eq!(
        (&row["id"], &row["client"], &row["kind"]),
        (&json!("mine"), &json!("Claude Code"), &json!("Completion"))
    );
    assert_eq!((&row["model"], &row["n_prompt"], &row["n_computed"]), (&json!("org/tiny"), &json!(1), &json!(1)));
    let live = server.manage_get("/live/now").ok();
    assert_eq!((&live["state"]["kind"], &live["queue"]["n_running"]), (&json!("generating"), &json!(1)), "{live}");
    assert_eq!(live["requests"][0]["id"], "mine");

    assert_eq!(server.manage_post("/requests/cancel", &json!({"id": "other"})).status, 404);
    assert_eq!(server.manage_post("/requests/cancel", &json!({"id": "mine"})).status, 200);
    let said = stream.finish().body;
    assert!(said.contains("\"code\":\"cancelled\""), "{}", &said[said.len().saturating_sub(400)..]);
    server.wait_ended(1);
    assert_eq!(server.manage_get("/requests").ok(), json!({"requests": []}));
    let last = &server.manage_get("/live/now").ok()["last_answer"];
    assert_eq!((&last["client"], &last["n_prompt"]), (&json!("Claude Code"), &json!(1)));
    assert!(last["ttft_ms"].as_f64().is_some_and(|ms| ms > 0.0) && last["n_output"].as_u64().is_some_and(|n| n > 0));
}

#[test]
fn the_budget_of_kv_is_told_where_there_is_one() {
    let budget = |server: &TestServer| server.manage_get("/live/now").ok()["memory"]["kv"]["n_budget_bytes"].clone();
    let engine = tokbar_engine::EngineOptions { kv_budget_bytes: Some(1 << 20), ..Default::default() };
    let server = TestServer::start(Setup { engine, ..Setup::default() });
    assert_eq!(budget(&server), 1 << 20);
    drop(server.models.replace(Vec::new()));
    assert_eq!(budget(&server), Value::Null);
    assert_eq!(budget(&TestServer::hashing()), Value::Null, "a device that does not say what it has");
}

#[test]
fn a_call_that_waits_is_cancelled_with_a_plain_answer() {
    let server = TestServer::start(Setup::roomy());
    server.probe.hold();
    let stream = |body: Value| Call::post(CHAT, &body).header("x-request-id", "held");
    let address = server.address;
    let waiting = std::thread::spawn(move || {
        let mut body = endless();
        body["stream"] = json!(false);
        stream(body).send(address)
    });
    let row = wait_for(&server, |row| row["id"] == "held");
    assert_eq!(row["state"], "waiting", "{row}");
    assert_eq!(server.manage_post("/requests/cancel", &json!({"id": "held"})).status, 200);
    let reply = waiting.join().unwrap();
    assert_eq!((reply.status, &reply.json()["error"]["code"]), (410, &json!("cancelled")));
    server.probe.release();
}

/// The first running call, once `is_so`.
fn wait_for(server: &TestServer, is_so: impl Fn(&Value) -> bool) -> Value {
    for _ in 0..100_000 {
        let calls = server.manage_get("/requests").ok()["requests"].clone();
        if let Some(row) = calls.as_array().unwrap().first().filter(|row| is_so(row)) {
            return row.clone();
        }
    }
    panic!("it never is so");
}

#[test]
fn frames_come_as_often_as_asked_and_end_with_the_server() {
    let mut server = TestServer::hashing();
    let mut stream = server.manage("GET", "/live?every_ms=250").open(server.address);
    assert_eq!(stream.header("content-type"), Some("text/event-stream; charset=utf-8"));
    let (first, second) = (frame(&mut stream), frame(&mut stream));
    assert_eq!(first["state"]["kind"], "ready");
    assert_ne!(first["at"], second["at"]);
    let start = std::time::Instant::now();
    server.ask_to_stop();
    while stream.chunk().is_some() {}
    server.wait_stopped();
    assert!(start.elapsed() < Duration::from_secs(5), "a stream without an end holds up no stop");
    let server = TestServer::hashing();
    assert_eq!(server.manage("GET", "/live?every_ms=1").send(server.address).status, 400);
    assert_eq!(server.manage("GET", "/live?every_ms=often").send(server.address).status, 400);
}

fn frame(stream: &mut Stream) -> Value {
    let text = String::from_utf8(stream.chunk().expect("a frame")).unwrap();
    let data = text.strip_prefix("event: frame\ndata: ").expect(&text);
    serde_json::from_str(data.trim()).unwrap()
}

#[test]
fn what_is_absent_says_so_and_every_row_of_the_document_answers() {
    let server = TestServer::hashing();
    let document = server.get("/control/v1/openapi.json").ok();
    assert_eq!(document, openapi());
    let mut n_absent = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            assert!(operation["summary"].is_string() && operation["operationId"].is_string(), "{method} {path}");
            // Streams end only with the server.
            if path == "/control/v1/live" {
                continue;
            }
            let path = path.replace("{id}", "tiny") + "?model=tiny&q=tiny&client=x&id=x";
            let call = Call::new(&method.to_uppercase(), &path).header("Authorization", &format!("Bearer {LAUNCH}"));
            let call = match operation["requestBody"] {
                Value::Null => call,
                _ => call.header("Content-Type", "application/json").body("{}"),
            };
            let reply = call.send(server.address);
            assert!(reply.status != 405 && !reply.body.contains("unknown_url"), "{method} {path}: {}", reply.body);
            n_absent += usize::from(reply.status == 501);
        }
    }
    assert!(n_absent > 10, "{n_absent}");
}

#[test]
fn bodies_and_addresses_that_are_wrong_are_named() {
    let server = TestServer::hashing();
    let param = |path: &str, body: Value| {
        let reply = server.manage_post(path, &body);
        assert_eq!(reply.status, 400, "{path} {body}: {}", reply.body);
        reply.json()["error"]["param"].clone()
    };
    assert_eq!(param("/models/load", json!({})), "model");
    assert_eq!(param("/models/pin", json!({"model": "tiny", "pined": true})), "pined");
    assert_eq!(param("/requests/cancel", json!({"id": 5})), "body");
    assert_eq!(param("/requests/cancel", json!([])), Value::Null);
    let reply = server.manage_get("/models/one");
    assert_eq!((reply.status, &reply.json()["error"]["param"]), (400, &json!("query")), "{}", reply.body);
    let reply =
        server.manage("POST", "/models/load").header("Content-Type", "text/plain").body("{}").send(server.address);
    assert_eq!(reply.status, 415);
}
