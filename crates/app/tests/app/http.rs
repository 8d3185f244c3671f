//! A small client over real sockets.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::testbed::Server;

const PATIENCE: Duration = Duration::from_secs(600);

/// Sends bytes as they are and returns status and body.
pub fn post_raw(server: &Server, path: &str, body: &[u8]) -> (u16, String) {
    let mut socket = open(server, path, body);
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).expect("the server answers");
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status line");
    let body = answer.split_once("\r\n\r\n").map_or(String::new(), |(_, body)| body.to_owned());
    (status, body)
}

/// Sends bytes as they are and returns the whole answer.
pub fn raw(server: &Server, call: &[u8]) -> String {
    let mut socket = TcpStream::connect(server.address()).expect("the server listens");
    socket.set_read_timeout(Some(PATIENCE)).expect("a time-out can be set");
    socket.write_all(call).expect("the server reads");
    let mut answer = String::new();
    socket.read_to_string(&mut answer).expect("the server answers");
    answer
}

/// Asks the control API of a server with the key of its launch, and returns status and JSON.
pub fn manage(server: &Server, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let body = if method == "GET" { String::new() } else { body.to_string() };
    let call = format!(
        "{method} /control/v1{path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        server.token,
        body.len()
    );
    let answer = raw(server, call.as_bytes());
    let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status line");
    let text = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    (status, serde_json::from_str(text).unwrap_or_else(|error| panic!("{path}: {error}: {answer}")))
}

/// What the control API answers to a question.
pub fn managed(server: &Server, path: &str) -> Value {
    let (status, answer) = manage(server, "GET", path, &Value::Null);
    assert_eq!(status, 200, "{path}: {answer}");
    answer
}

/// Sends JSON and returns status and JSON.
pub fn post(server: &Server, path: &str, body: &Value) -> (u16, Value) {
    let (status, text) = post_raw(server, path, body.to_string().as_bytes());
    (status, serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}")))
}

/// The lines of a stream; dropping it is a client that leaves.
pub fn stream(server: &Server, path: &str, body: &Value) -> impl Iterator<Item = Value> + use<> {
    BufReader::new(open(server, path, body.to_string().as_bytes()))
        .lines()
        .map_while(Result::ok)
        .filter_map(|line| line.strip_prefix("data: ").map(str::to_owned))
        .take_while(|data| data != "[DONE]")
        .map(|data| serde_json::from_str(&data).expect("each event is JSON"))
}

/// A figure of `/metrics`, in which one model is served.
pub fn metric(server: &Server, name: &str) -> f64 {
    let mut socket = TcpStream::connect(server.address()).expect("the server listens");
    let call = format!("GET /metrics HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", server.address());
    socket.write_all(call.as_bytes()).expect("the server reads");
    let mut answer = String::new();
    socket.read_to_string(&mut answer).expect("the server answers");
    let line = answer.lines().find(|line| line.starts_with(&format!("tokbar_{name}{{")));
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap_or_else(|| panic!("no {name} in {answer}"))
}

/// A greedy chat request.
pub fn chat(question: &str, max_tokens: usize) -> Value {
    json!({"model": "default", "messages": [{"role": "user", "content": question}], "temperature": 0, "max_tokens": max_tokens})
}

fn open(server: &Server, path: &str, body: &[u8]) -> TcpStream {
    let mut socket = TcpStream::connect(server.address()).expect("the server listens");
    socket.set_read_timeout(Some(PATIENCE)).expect("a time-out can be set");
    let head = format!(
        "POST /v1{path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        server.address(),
        body.len()
    );
    socket.write_all(head.as_bytes()).and_then(|()| socket.write_all(body)).expect("the server reads");
    socket
}
