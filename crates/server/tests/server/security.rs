//! What attackers and careless clients do: each is refused, and costs next to nothing.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use tokbar_server::{Key, KeyScope, Keys, ServerOptions};

use crate::client::{Call, send_raw};
use crate::setup::{Setup, TestServer};

const PATH: &str = "/v1/completions";

fn server(options: ServerOptions) -> TestServer {
    let server = ServerOptions { now: Setup::default().server.now, ..options };
    TestServer::start(Setup { server, ..Setup::default() })
}

fn code(call: Call, server: &TestServer) -> (u16, Value) {
    let reply = call.send(server.address);
    (reply.status, reply.json()["error"]["code"].clone())
}

#[test]
fn a_gigabyte_is_not_read() {
    let server = server(ServerOptions { n_body_bytes_max: 1 << 20, ..ServerOptions::default() });
    let head = format!("POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n");
    for framing in ["Content-Length: 1073741824\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n"] {
        let mut socket = TcpStream::connect(server.address).unwrap();
        socket.set_write_timeout(Some(Duration::from_secs(60))).unwrap();
        socket.write_all(format!("{head}{framing}").as_bytes()).unwrap();
        let block = format!("10000\r\n{}\r\n", "x".repeat(1 << 16));
        let mut n_blocks = 0;
        while n_blocks < 1 << 14 && socket.write_all(block.as_bytes()).is_ok() {
            n_blocks += 1;
        }
        // Twice the limit, and what the sockets between hold.
        assert!(n_blocks < 1 << 8, "{n_blocks} blocks of 64 KiB were taken: {framing:?}");
        let mut answer = [0; 12];
        if socket.read_exact(&mut answer).is_ok() {
            assert_eq!(&answer, b"HTTP/1.1 413");
        }
    }
    assert_eq!(server.get("/health").status, 200);
}

#[test]
fn deep_and_crowded_bodies_are_refused_before_they_are_parsed() {
    let server = TestServer::hashing();
    let deep = [
        format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000)),
        format!("{}1{}", "{\"a\":".repeat(10_000), "}".repeat(10_000)),
        "[".repeat(10_000),
    ];
    for body in deep {
        let call = Call::post(PATH, &json!({})).body(format!("{{\"prompt\":{body}}}"));
        let reply = call.send(server.address);
        assert_eq!((reply.status, &reply.json()["error"]["code"]), (400, &json!("invalid_json")));
        assert!(reply.body.contains("nested deeper than 127 levels"), "{}", reply.body);
    }
    let crowded = format!("{{\"prompt\":[{}]}}", "[],".repeat((1 << 20) + 1));
    let reply = Call::post(PATH, &json!({})).body(crowded).send(server.address);
    assert!(reply.status == 400 && reply.body.contains("more than 1048576 values"), "{}", reply.body);
    let fine = json!({ "prompt": format!("{}\"\\", "[".repeat(3000)), "max_tokens": 1 });
    assert_eq!(server.post(PATH, &fine).status, 200, "brackets in a string are text");
}

#[test]
fn compressed_bodies_are_refused() {
    let server = TestServer::hashing();
    let call = |encoding: &str| Call::post(PATH, &json!({ "prompt": "x" })).header("Content-Encoding", encoding);
    for encoding in ["gzip", "br", "identity, gzip"] {
        let expected = (415, json!("unsupported_content_encoding"));
        assert_eq!(code(call(encoding), &server), expected, "{encoding}");
    }
    assert_eq!(call("identity").send(server.address).status, 200);
}

#[test]
fn ten_thousand_wrong_keys_open_nothing() {
    let server = server(ServerOptions { keys: Some(Keys::single("sekret")), ..ServerOptions::default() });
    let mut counts = std::collections::BTreeMap::new();
    for batch in 0..100 {
        let calls: String = (0..100)
            .map(|idx| {
                let last = if idx == 99 { "Connection: close\r\n" } else { "" };
                format!("GET /v1/models HTTP/1.1\r\nHost: localhost\r\nx-api-key: {batch}-{idx}\r\n{last}\r\n")
            })
            .collect();
        let stream = send_raw(server.address, calls.as_bytes(), false);
        *counts.entry(stream.status).or_insert(0) += 1;
        let rest = stream.rest();
        for status in [200, 401, 429] {
            *counts.entry(status).or_insert(0) += rest.matches(&format!("HTTP/1.1 {status} ")).count();
        }
    }
    assert_eq!((counts[&200], counts[&401] + counts[&429]), (0, 10_000), "{counts:?}");
    assert!(counts[&401] >= 20 && counts[&401] < 1000, "most are told to wait: {counts:?}");
    let wrong = Call::get("/v1/models").header("x-api-key", "x").send(server.address);
    assert!(wrong.status == 401 || wrong.header("retry-after").is_some());
    let right = Call::get("/v1/models").header("x-api-key", "sekret").send(server.address);
    assert_eq!(right.status, 200, "who has the key is not locked out");
}

#[test]
fn keys_in_addresses_and_keys_of_the_wrong_scope() {
    let keys = Keys(vec![Key::new("a", KeyScope::Inference, "use"), Key::new("b", KeyScope::Manage, "manage")]);
    let server = server(ServerOptions { keys: Some(keys), ..ServerOptions::default() });
    let get = |path: &str, key: &str| Call::get(path).header("x-api-key", key);
    assert_eq!(code(get("/v1/models?api_key=use", "use"), &server), (400, json!("key_in_url")));
    assert_eq!(code(get("/control/v1/models", "use"), &server), (403, json!("insufficient_permissions")));
    assert_eq!(code(get("/control/v1/none", "manage"), &server), (404, json!("unknown_url")));
    assert_eq!(get("/v1/models", "use").send(server.address).status, 200);
}

#[test]
fn a_client_that_calls_too_often_is_told_when_to_come_back() {
    let server = server(ServerOptions { n_calls_per_minute: Some(3), ..ServerOptions::default() });
    let statuses: Vec<u16> = (0..4).map(|_| server.get("/v1/models").status).collect();
    assert_eq!(statuses, [200, 200, 200, 429]);
    let reply = server.get("/v1/models");
    assert_eq!(reply.json()["error"]["code"], "rate_limit_exceeded");
    assert!((1..=20).contains(&reply.header("retry-after").unwrap().parse::<u64>().unwrap()));
    assert_eq!(server.get("/health").status, 200, "probes are free");
}

#[test]
fn pages_of_listed_origins_alone_may_read() {
    let page = "https://app.example";
    let server = server(ServerOptions { allowed_origins: vec![page.to_owned()], ..ServerOptions::default() });
    let from = |origin: &str, method: &str| {
        let call = Call::new(method, "/v1/models").header("Origin", origin);
        call.header("Access-Control-Request-Method", "POST").send(server.address)
    };
    let listed = from(page, "GET");
    assert_eq!(listed.header("access-control-allow-origin"), Some(page));
    assert_eq!((listed.header("vary"), listed.header("access-control-allow-credentials")), (Some("Origin"), None));
    let preflight = from(page, "OPTIONS");
    assert_eq!((preflight.status, preflight.header("access-control-allow-origin")), (204, Some(page)));
    for other in ["https://evil.example", "https://app.example.evil", "http://app.example", "null"] {
        assert_eq!(from(other, "GET").header("access-control-allow-origin"), None, "{other}");
        assert_eq!(from(other, "OPTIONS").status, 403, "{other}");
    }
    assert_eq!(from("http://localhost:3000", "OPTIONS").status, 405, "pages here may call, not read");
}

#[test]
fn every_answer_has_an_id() {
    let server = TestServer::hashing();
    let get = |id: &str| Call::get("/health").header("x-request-id", id).send(server.address);
    let own = get("");
    let id = own.header("x-request-id").unwrap();
    assert!(id.starts_with("req_") && own.header("request-id") == Some(id), "{id}");
    assert_eq!(get("my-id_1.2").header("x-request-id"), Some("my-id_1.2"));
    for bad in ["a b", "a\"b", &"x".repeat(200)] {
        assert!(get(bad).header("x-request-id").unwrap().starts_with("req_"), "{bad}");
    }
    let wrong = Call::get("/nothing").header("x-request-id", "me").send(server.address);
    assert_eq!((wrong.status, wrong.header("x-request-id")), (404, Some("me")));
}

#[test]
fn readiness_is_told_apart_from_health() {
    let server = TestServer::hashing();
    assert_eq!(server.get("/ready").ok(), json!({ "status": "ready", "model": "org/tiny" }));
    drop(server.models.replace(Vec::new()));
    let reply = server.get("/ready");
    assert_eq!((reply.status, reply.header("retry-after")), (503, Some("5")));
    assert_eq!(server.get("/health").status, 200);
}
