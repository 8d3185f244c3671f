//! A web server on this machine, one request after another, that answers as a test wants.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

/// What a client asked for.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Path and query.
    pub path: String,
    /// First byte asked for.
    pub start: Option<usize>,
    /// The authorization header.
    pub token: Option<String>,
}

/// What to answer.
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
    /// Bytes of the body that are sent before the connection ends.
    pub n_sent: usize,
    /// Whether the connection then stays open, in silence, until the client leaves. With nothing of the body sent there is
    /// no head either.
    pub is_silent: bool,
}

impl Answer {
    pub fn ok(body: Vec<u8>) -> Self {
        Self { status: 200, headers: Vec::new(), n_sent: body.len(), body, is_silent: false }
    }

    pub fn status(status: u16) -> Self {
        Self { status, ..Self::ok(b"no".to_vec()) }
    }

    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// A running server; dropping it stops it.
pub struct Loopback {
    pub address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Loopback {
    /// Starts a server on a free port. `answer` also hears how many requests came before.
    pub fn start(answer: impl Fn(&Asked, usize) -> Answer + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (asked, is_over) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (log, over) = (Arc::clone(&asked), Arc::clone(&is_over));
        let serve = move || {
            for stream in listener.incoming() {
                if over.load(Ordering::SeqCst) {
                    return;
                }
                let stream = stream.unwrap();
                let Some(request) = read(&stream) else { continue };
                let n_before = log.lock().unwrap().len();
                log.lock().unwrap().push(request.clone());
                // A client that has enough hangs up before the end; the test sees what it made of that.
                write(&stream, &answer(&request, n_before)).ok();
            }
        };
        Self { address, asked, is_over, thread: Some(thread::spawn(serve)) }
    }

    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All requests so far; forgets them.
    pub fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        // Wakes the thread, which waits for a client.
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            assert!(thread.join().is_ok() || thread::panicking(), "the server failed");
        }
    }
}

fn read(stream: &TcpStream) -> Option<Asked> {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    let mut asked = Asked { path, start: None, token: None };
    for line in lines.take_while(|line| !line.is_empty()) {
        let (name, value) = line.split_once(": ").unwrap();
        match name.to_ascii_lowercase().as_str() {
            "range" => asked.start = Some(value.strip_prefix("bytes=")?.strip_suffix('-')?.parse().unwrap()),
            "authorization" => asked.token = Some(value.to_owned()),
            _ => {}
        }
    }
    Some(asked)
}

fn write(mut stream: &TcpStream, answer: &Answer) -> std::io::Result<()> {
    if answer.is_silent && answer.n_sent == 0 {
        return stream.read_to_end(&mut Vec::new()).map(drop);
    }
    write!(stream, "HTTP/1.1 {} X\r\nConnection: close\r\nContent-Length: {}\r\n", answer.status, answer.body.len())?;
    for (name, value) in &answer.headers {
        write!(stream, "{name}: {value}\r\n")?;
    }
    stream.write_all(b"\r\n")?;
    stream.write_all(&answer.body[..answer.n_sent])?;
    if answer.is_silent {
        return stream.read_to_end(&mut Vec::new()).map(drop);
    }
    stream.shutdown(Shutdown::Write)
}
