//! Downloads, and calls that go to the cloud, take the proxies that the environment names.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::http::{chat, raw};
use crate::repository::ID;
use crate::shelf::{User, hub};
use crate::testbed::Server;
use crate::tiny::tiny_model;

/// A proxy that leads every host to the Hub of the test, and remembers what it was asked.
struct Proxy {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    fn to(hub: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let (address, asked) = (listener.local_addr().expect("an address"), Arc::new(Mutex::new(Vec::new())));
        let log = Arc::clone(&asked);
        // It ends with the test's process.
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let log = Arc::clone(&log);
                thread::spawn(move || lead(client, hub, &log));
            }
        });
        Self { address, asked }
    }
}

/// Answers CONNECT with a way to the Hub, or hands a call with a whole address on.
fn lead(client: TcpStream, hub: SocketAddr, log: &Mutex<Vec<String>>) -> Option<()> {
    let mut reader = BufReader::new(client.try_clone().ok()?);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    log.lock().expect("no panic").push(line.trim().to_owned());
    if line.starts_with("CONNECT") && line.contains(":443") {
        return (&client).write_all(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n").ok();
    }
    let mut server = TcpStream::connect(hub).ok()?;
    if line.starts_with("CONNECT") {
        let mut head = String::new();
        while reader.read_line(&mut head).ok()? > 2 {
            head.clear();
        }
        (&client).write_all(b"HTTP/1.1 200 Connected\r\n\r\n").ok()?;
    } else {
        let path = line.replacen("http://hub.example", "", 1);
        server.write_all(path.as_bytes()).ok()?;
    }
    let (mut back, mut to_client) = (server.try_clone().ok()?, client);
    let answering = thread::spawn(move || pump(&mut back, &mut to_client));
    pump(&mut reader, &mut server);
    answering.join().ok()
}

fn pump(from: &mut impl Read, to: &mut TcpStream) {
    let mut buffer = [0; 16 << 10];
    while let Ok(n @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..n]).is_err() {
            return;
        }
    }
    to.shutdown(std::net::Shutdown::Write).ok();
}

#[test]
fn a_model_comes_through_the_proxy_that_the_environment_names() {
    let hub = hub();
    let proxy = Proxy::to(hub.address);
    let user = User::new(&hub);
    let mut pull = user.command(&["pull", ID]);
    pull.env("HF_ENDPOINT", "http://hub.example").env("HTTP_PROXY", format!("http://{}", proxy.address));
    for name in ["http_proxy", "https_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy"] {
        pull.env_remove(name);
    }
    let output = pull.output().expect("tokbar starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let asked = proxy.asked.lock().expect("no panic").clone();
    assert!(!asked.is_empty() && asked.iter().all(|line| line.contains("hub.example")), "{asked:?}");
    assert!(user.says(&["ls"]).contains(ID));
}

#[test]
fn a_proxy_that_refuses_is_named_among_what_to_check() {
    let hub = hub();
    let proxy = Proxy::to(hub.address);
    let user = User::new(&hub);
    let mut pull = user.command(&["pull", ID]);
    pull.env("HF_ENDPOINT", "https://hub.example").env("HTTPS_PROXY", format!("http://{}", proxy.address));
    for name in ["https_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy"] {
        pull.env_remove(name);
    }
    let output = pull.output().expect("tokbar starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("HTTPS_PROXY"), "{said}");
    assert!(proxy.asked.lock().expect("no panic").iter().any(|line| line.starts_with("CONNECT hub.example:443")));
}

#[test]
fn long_prompts_reach_the_cloud_through_the_proxy() {
    let (hub, model) = (hub(), tiny_model());
    let cloud = Server::start_with(model.path(), &["--allow-host", "cloud.example", "--name", "big"]);
    let proxy = Proxy::to(cloud.address().replace("localhost", "127.0.0.1").parse().expect("an address"));
    let user = User::new(&hub);
    let path = model.path().to_str().expect("a UTF-8 path").to_owned();
    let routed = |no_proxy: &str| {
        let mut serve = user.command(&["serve", &path]);
        serve.env("HTTP_PROXY", format!("http://{}", proxy.address)).env("NO_PROXY", no_proxy);
        for name in ["http_proxy", "https_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy", "no_proxy"] {
            serve.env_remove(name);
        }
        let to = ["--cloud-url", "http://cloud.example/v1", "--cloud-model", "big", "--cloud-threshold", "60"];
        let server = Server::spawn(serve, &[&["--no-safe-mode"][..], &to].concat());
        let body = chat(&"word ".repeat(100), 4).to_string();
        let head = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
        let call = format!("{head}Content-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len());
        raw(&server, call.as_bytes())
    };
    let there = routed("");
    assert!(there.contains("x-tokbar-routed: cloud big"), "{there}");
    let asked = proxy.asked.lock().expect("no panic").clone();
    assert_eq!(asked, ["CONNECT cloud.example:80 HTTP/1.1"]);
    // No machine has that name: the call stays here.
    let here = routed("example");
    assert!(here.starts_with("HTTP/1.1 200") && here.contains("it cannot be reached"), "{here}");
    assert_eq!(proxy.asked.lock().expect("no panic").len(), 1);
}
