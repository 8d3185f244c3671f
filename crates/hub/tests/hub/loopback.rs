//! A web server on this machine, one thread a connection, that answers as a test wants.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// What a client asked for.
#[derive(Clone, Debug)]
pub struct Asked {
    /// `GET`, `HEAD`, ...
    pub method: String,
    /// Path and query.
    pub path: String,
    /// First byte asked for.
    pub start: Option<usize>,
    /// Last byte asked for, where one was named.
    pub last: Option<usize>,
    /// The authorization header.
    pub token: Option<String>,
}

/// What to answer.
#[derive(Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
    /// Bytes of the body that are sent before the connection ends.
    pub n_sent: usize,
    /// Whether the connection then stays open, in silence, until the client leaves. With nothing of the body sent there is
    /// no head either.
    pub is_silent: bool,
    /// Bytes that go out at a time, and the pause between them.
    pub drip: Option<(usize, Duration)>,
}

impl Answer {
    pub fn ok(body: Vec<u8>) -> Self {
        Self { status: 200, headers: Vec::new(), n_sent: body.len(), body, is_silent: false, drip: None }
    }

    pub fn status(status: u16) -> Self {
        Self { status, ..Self::ok(b"no".to_vec()) }
    }

    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// Connections that are open, so that stopping the server can end them.
type Open = Arc<Mutex<HashMap<usize, TcpStream>>>;

/// A running server; dropping it stops it.
pub struct Loopback {
    pub address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    is_over: Arc<AtomicBool>,
    open: Open,
    thread: Option<JoinHandle<()>>,
}

impl Loopback {
    /// Starts a server on a free port. `answer` also hears how many requests came before.
    pub fn start(answer: impl Fn(&Asked, usize) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (asked, is_over, open) =
            (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)), Open::default());
        let (log, over, all) = (Arc::clone(&asked), Arc::clone(&is_over), Arc::clone(&open));
        let answer = Arc::new(answer);
        let serve = move || {
            let mut threads: Vec<JoinHandle<()>> = Vec::new();
            for (idx, stream) in listener.incoming().enumerate() {
                if over.load(Ordering::SeqCst) {
                    break;
                }
                let stream = stream.unwrap();
                held(&all).insert(idx, stream.try_clone().unwrap());
                let (log, answer, all) = (Arc::clone(&log), Arc::clone(&answer), Arc::clone(&all));
                threads.push(thread::spawn(move || {
                    one(&stream, &log, answer.as_ref());
                    held(&all).remove(&idx);
                }));
                threads.retain(|thread| !thread.is_finished());
            }
            threads.into_iter().for_each(|thread| assert!(thread.join().is_ok() || thread::panicking()));
        };
        Self { address, asked, is_over, open, thread: Some(thread::spawn(serve)) }
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
        for stream in held(&self.open).values() {
            stream.shutdown(Shutdown::Both).ok();
        }
        // Wakes the thread, which waits for a client.
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            assert!(thread.join().is_ok() || thread::panicking(), "the server failed");
        }
    }
}

fn held(open: &Open) -> std::sync::MutexGuard<'_, HashMap<usize, TcpStream>> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Answers one request and ends the connection.
fn one(stream: &TcpStream, log: &Mutex<Vec<Asked>>, answer: &(impl Fn(&Asked, usize) -> Answer + ?Sized)) {
    let Some(request) = read(stream) else { return };
    let n_before = {
        let mut log = log.lock().unwrap();
        log.push(request.clone());
        log.len() - 1
    };
    // A client that has enough hangs up before the end; the test sees what it made of that.
    write(stream, &request, &answer(&request, n_before)).ok();
}

fn read(stream: &TcpStream) -> Option<Asked> {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let line = lines.next()?;
    let mut words = line.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut asked = Asked { method, path, start: None, last: None, token: None };
    for line in lines.take_while(|line| !line.is_empty()) {
        let (name, value) = line.split_once(": ")?;
        match name.to_ascii_lowercase().as_str() {
            "range" => {
                let (start, last) = value.strip_prefix("bytes=")?.split_once('-')?;
                (asked.start, asked.last) = (start.parse().ok(), last.parse().ok());
            }
            "authorization" => asked.token = Some(value.to_owned()),
            _ => {}
        }
    }
    Some(asked)
}

fn write(mut stream: &TcpStream, asked: &Asked, answer: &Answer) -> std::io::Result<()> {
    if answer.is_silent && answer.n_sent == 0 {
        return stream.read_to_end(&mut Vec::new()).map(drop);
    }
    write!(stream, "HTTP/1.1 {} X\r\nConnection: close\r\nContent-Length: {}\r\n", answer.status, answer.body.len())?;
    for (name, value) in &answer.headers {
        write!(stream, "{name}: {value}\r\n")?;
    }
    stream.write_all(b"\r\n")?;
    if asked.method != "HEAD" {
        let body = &answer.body[..answer.n_sent];
        let (n_piece, pause) = answer.drip.unwrap_or((body.len().max(1), Duration::ZERO));
        for piece in body.chunks(n_piece) {
            stream.write_all(piece)?;
            thread::park_timeout(pause);
        }
    }
    if answer.is_silent {
        return stream.read_to_end(&mut Vec::new()).map(drop);
    }
    stream.shutdown(Shutdown::Write)
}
