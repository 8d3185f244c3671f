//! Calls that no proper client makes: each is answered in the shape of the dialect that it was meant for, with the cause and
//! the next action.

use serde_json::{Value, json};

use crate::client::{Call, Reply, send_raw};
use crate::setup::TestServer;

/// Paths and good bodies of all that take one.
fn calls() -> [(&'static str, Value); 8] {
    let messages = json!([{ "role": "user", "content": "hi" }]);
    [
        ("/v1/chat/completions", json!({ "messages": messages, "max_tokens": 2, "temperature": 0 })),
        ("/v1/completions", json!({ "prompt": "hi", "max_tokens": 2, "temperature": 0 })),
        ("/v1/responses", json!({ "input": "hi", "max_output_tokens": 2, "temperature": 0 })),
        ("/v1/messages", json!({ "messages": messages, "max_tokens": 2, "temperature": 0 })),
        ("/v1/messages/count_tokens", json!({ "messages": messages })),
        (
            "/api/chat",
            json!({ "model": "tiny", "messages": messages, "stream": false, "options": { "num_predict": 2 } }),
        ),
        ("/api/generate", json!({ "model": "tiny", "prompt": "hi", "stream": false, "options": { "num_predict": 2 } })),
        ("/api/show", json!({ "model": "tiny" })),
    ]
}

/// The message, where the whole answer has the shape of the path's dialect.
fn message(path: &str, reply: &Reply) -> String {
    let body = reply.json();
    let said = match path {
        path if path.starts_with("/v1/messages") => {
            assert_eq!(body["type"], "error", "{body}");
            assert!(body["error"]["type"].as_str().unwrap().ends_with("_error"), "{body}");
            &body["error"]["message"]
        }
        path if path.starts_with("/api/") => &body["error"],
        _ => {
            let fields: Vec<&String> = body["error"].as_object().unwrap().keys().collect();
            assert_eq!(fields, ["message", "type", "param", "code"]);
            &body["error"]["message"]
        }
    };
    said.as_str().unwrap_or_else(|| panic!("{body}")).to_owned()
}

/// Sends to each path what `odd` makes of its body; all are refused with this status and a message that holds `part`.
fn refused(server: &TestServer, odd: impl Fn(&str, String) -> Call, (status, part): (u16, &str)) {
    for (path, body) in calls() {
        let reply = odd(path, body.to_string()).send(server.address);
        let said = message(path, &reply);
        assert_eq!(reply.status, status, "{path}: {said}");
        assert!(said.contains(part), "{path}: {said:?} lacks {part:?}");
    }
}

fn post(path: &str, body: impl Into<Vec<u8>>) -> Call {
    Call::new("POST", path).header("Content-Type", "application/json").body(body)
}

/// The body with one more field.
fn with(body: &str, field: &str) -> String {
    format!("{}, {field}}}", body.strip_suffix('}').unwrap())
}

#[test]
fn bodies_are_refused_in_the_callers_words() {
    let server = TestServer::hashing();
    let long = "x".repeat(1 << 20);
    let bodies: [(&[u8], &str); 6] = [
        (b"", "it is empty; send a JSON object"),
        (b"null", "a JSON object is expected, not null"),
        (b"\"x\"", "a JSON object is expected, not a string"),
        (b"{'model': 1}", "line 1 column 2"),
        (b"\xff\xfe{\0}\0", "encode the JSON as UTF-8"),
        (b"\x1f\x8b\x08\0\0\0", "encode the JSON as UTF-8"),
    ];
    for (body, part) in bodies {
        refused(&server, |path, _| post(path, body), (400, part));
    }
    let twice = (400, "the field \"x\" stands twice in one object, with different values; send it once");
    refused(&server, |path, body| post(path, with(&body, r#""x": {"x": 1, "x": 2}"#)), twice);
    refused(&server, |path, body| post(path, body).header("Content-Encoding", "gzip"), (415, "uncompressed"));
    refused(&server, |path, body| post(path, body).header("Content-Type", "text/plain"), (415, "application/json"));
    refused(&server, |path, body| post(path, body).header("Content-Type", ""), (415, "application/json"));
    for method in ["GET", "PUT", "OPTIONS", "BREW"] {
        refused(&server, |path, _| Call::new(method, path), (405, "see the Allow header"));
    }
    let elsewhere = |path: &str, body| post(path, body).header("Host", "evil.example");
    refused(&server, elsewhere, (403, "\"evil.example\" is not a name of this server: call it as localhost"));
    refused(&server, |path, body| post(&format!("{path}/"), body), (404, "there is nothing at"));
    for (path, body) in calls() {
        let mut body = body.clone();
        body["model"] = json!(long);
        let reply = server.post(path, &body);
        assert!(reply.status == 404 && reply.body.len() < 10_000, "{path}: {}", reply.body.len());
        assert!(message(path, &reply).ends_with("use \"default\" or \"org/tiny\""), "{path}");
        body["model"] = json!(3);
        assert!(message(path, &server.post(path, &body)).contains("`model` must be a string"), "{path}");
    }
}

#[test]
fn odd_ways_to_send_a_good_call_work() {
    let server = TestServer::hashing();
    for (path, body) in calls() {
        let body = body.to_string();
        let head = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n");
        let sized = format!("{head}Content-Length: {}\r\n", body.len());
        let ways = [
            format!("{sized}\r\n{body}"),
            format!("{head}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n", body.len()),
            format!("{}\r\n{body}", sized.replace("HTTP/1.1", "HTTP/1.0")),
            format!("{}\r\n{body}", sized.replace(path, &format!("http://localhost{path}?beta=true"))),
            format!("{head}Content-Length: {}\r\n\r\n\u{feff}{body}", body.len() + 3),
        ];
        for way in ways {
            let reply = send_raw(server.address, way.as_bytes(), false).finish();
            assert_eq!(reply.status, 200, "{way}: {}", reply.body);
        }
        let waits = send_raw(server.address, format!("{sized}Expect: 100-continue\r\n\r\n{body}").as_bytes(), false);
        assert_eq!(waits.status, 100, "{path}");
        let close = "Connection: close\r\n";
        let in_a_row = format!("{sized}\r\n{body}{head}Content-Length: 1\r\n\r\n{{{sized}{close}\r\n{body}");
        let answers = send_raw(server.address, in_a_row.as_bytes(), false).rest();
        let statuses: Vec<&str> = answers.match_indices("HTTP/1.1 ").map(|(at, _)| &answers[at + 9..at + 12]).collect();
        assert_eq!(statuses, ["400", "200"], "{path}: after the first, whose head is read: {answers}");
    }
}

#[test]
fn bodies_that_break_off_say_why() {
    let server = TestServer::hashing();
    for (path, _) in calls() {
        let head = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n");
        let bad = format!("{head}Transfer-Encoding: chunked\r\n\r\nzz\r\n{{}}\r\n0\r\n\r\n");
        let reply = send_raw(server.address, bad.as_bytes(), false).finish();
        let said = message(path, &reply);
        assert!(reply.status == 400 && said.contains("chunk size"), "{path}: {said}");
    }
}

#[test]
fn wrong_addresses_name_the_right_ones() {
    let server = TestServer::hashing();
    let cases = [
        ("/v1/chat/completions/", "call /v1/chat/completions instead, and check the base URL"),
        ("//v1/chat/completions", "call /v1/chat/completions instead"),
        ("/v1/v1/messages", "call /v1/messages instead"),
        ("/models", "call /v1/models instead"),
        ("/v1/messages/", "call /v1/messages instead"),
        ("/v1/messages/count_tokens/", "call /v1/messages/count_tokens instead"),
        ("/api/tags/", "call /api/tags instead"),
        ("/v1/api/show", "call /api/show instead"),
        ("/v1/nothing", "the endpoints are listed at /"),
    ];
    for (path, part) in cases {
        let reply = Call::get(path).send(server.address);
        let said = message(path, &reply);
        assert!(reply.status == 404 && said.contains(part), "{path}: {said}");
    }
}

/// A client's own header tells its dialect where the path does not.
#[test]
fn clients_of_anthropic_are_answered_in_its_shape_anywhere() {
    let server = TestServer::hashing();
    let calls = [
        (Call::get("/messages"), 404),
        (Call::get("/v1/models").header("Host", "evil.example"), 403),
        (Call::new("DELETE", "/v1/models"), 405),
    ];
    for (call, status) in calls {
        let reply = call.header("anthropic-version", "2023-06-01").send(server.address);
        assert_eq!((reply.status, &reply.json()["type"]), (status, &json!("error")), "{}", reply.body);
    }
}

#[test]
fn hosts_that_contradict_one_another_are_told() {
    let server = TestServer::hashing();
    let cases = [
        ("GET /v1/models HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n", "\"localhost, evil.example\""),
        ("GET http://evil.example/v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n", "\"evil.example\""),
        ("GET /v1/models HTTP/1.1\r\nX: y\r\n\r\n", "the host \"\""),
    ];
    for (call, part) in cases {
        let reply = send_raw(server.address, call.as_bytes(), false).finish();
        let said = message("/v1/models", &reply);
        assert!(reply.status == 403 && said.contains(part), "{said}");
    }
}
