//! Calls to the app's server, as a client makes them.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::desk::Desk;
use crate::panel::wait;

const PATIENCE: Duration = Duration::from_secs(60);

/// Where the app of this desk listens, as its mark says.
pub fn address(desk: &Desk) -> String {
    Door::of(desk).address
}

/// Where the app listens, and the key with which it is managed.
pub struct Door {
    pub address: String,
    token: String,
}

impl Door {
    pub fn of(desk: &Desk) -> Self {
        let read = || {
            let marks = fs::read_dir(desk.config().join("running")).ok()?;
            let text = marks.flatten().find_map(|mark| fs::read_to_string(mark.path()).ok())?;
            let mark: Value = serde_json::from_str(&text).ok()?;
            let text = |name: &str| mark[name].as_str().map(str::to_owned);
            Some(Self { address: text("address")?, token: text("token")? })
        };
        wait("the server", read).expect("the app serves")
    }

    /// Whether this app still listens. Another that runs beside the test may have taken its port since.
    pub fn is_open(&self) -> bool {
        self.ask("GET", "settings", &Value::Null).is_some_and(|(status, _)| status == 200)
    }

    /// What the control API answers; `None` when the app is gone before it did.
    pub fn ask(&self, method: &str, path: &str, body: &Value) -> Option<(u16, Value)> {
        let mut socket = TcpStream::connect(&self.address).ok()?;
        socket.set_read_timeout(Some(PATIENCE)).ok()?;
        let body = if method == "GET" { String::new() } else { body.to_string() };
        let head = format!(
            "{method} /control/v1/{path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            self.address,
            self.token,
            body.len()
        );
        socket.write_all(&[head.as_bytes(), body.as_bytes()].concat()).ok()?;
        let mut answer = String::new();
        socket.read_to_string(&mut answer).ok()?;
        let status = answer.split(' ').nth(1)?.parse().ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        let body = if head.to_ascii_lowercase().contains("chunked") { unchunked(body)? } else { body.to_owned() };
        Some((status, serde_json::from_str(&body).ok()?))
    }
}

/// A body that came in chunks, each after a line with its length.
fn unchunked(mut rest: &str) -> Option<String> {
    let mut text = String::new();
    loop {
        let (n, after) = rest.split_once("\r\n")?;
        match usize::from_str_radix(n, 16).ok()? {
            0 => return Some(text),
            n => {
                text.push_str(after.get(..n)?);
                rest = after.get(n + 2..)?;
            }
        }
    }
}

/// The pieces of an answer of `n_tokens` tokens, as they come. Dropping it is a client that leaves.
pub fn chat(address: &str, model: &str, n_tokens: u32) -> impl Iterator<Item = String> + use<> {
    let body = json!({
        "model": model, "stream": true, "max_tokens": n_tokens,
        "messages": [{"role": "user", "content": "Say something."}]
    });
    let mut socket = TcpStream::connect(address).expect("the server listens");
    socket.set_read_timeout(Some(PATIENCE)).expect("a time-out can be set");
    let body = body.to_string();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    socket.write_all(&[head.as_bytes(), body.as_bytes()].concat()).expect("the server reads");
    let events = BufReader::new(socket).lines().map_while(Result::ok);
    let data =
        events.filter_map(|line| line.strip_prefix("data: ").map(str::to_owned)).take_while(|data| data != "[DONE]");
    data.filter_map(|data| {
        let event: Value = serde_json::from_str(&data).expect("each event is JSON");
        event["choices"][0]["delta"]["content"].as_str().map(str::to_owned)
    })
}

/// What `GET path` answers.
pub fn get(address: &str, path: &str) -> String {
    let mut socket = TcpStream::connect(address).expect("the server listens");
    let call = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    socket.write_all(call.as_bytes()).expect("the server reads");
    let mut answer = String::new();
    socket.read_to_string(&mut answer).expect("the server answers");
    answer
}
