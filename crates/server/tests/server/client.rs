//! A small HTTP/1.1 client over a plain socket, which can send what no proper client would.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// A server that hangs fails the test instead of the run.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A call, byte by byte.
pub struct Call {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
}

impl Call {
    pub fn new(method: &str, path: &str) -> Self {
        let headers = vec![("Host".to_owned(), "localhost".to_owned())];
        Self { method: method.to_owned(), path: path.to_owned(), headers, body: None }
    }

    pub fn get(path: &str) -> Self {
        Self::new("GET", path)
    }

    pub fn post(path: &str, body: &Value) -> Self {
        Self::new("POST", path).header("Content-Type", "application/json").body(body.to_string())
    }

    /// Replaces a header of that name, if there is one; an empty value removes it.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        if !value.is_empty() {
            self.headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// Sends and reads the whole answer.
    pub fn send(self, address: SocketAddr) -> Reply {
        self.open(address).finish()
    }

    /// Sends and reads the head of the answer.
    pub fn open(self, address: SocketAddr) -> Stream {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        let body = self.body.unwrap_or_default();
        let declares = self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-length"));
        if !body.is_empty() && !declares {
            head += &format!("Content-Length: {}\r\n", body.len());
        }
        let is_head = self.method == "HEAD";
        send_raw(address, &[head.as_bytes(), b"Connection: close\r\n\r\n", &body].concat(), is_head)
    }
}

/// Sends bytes as they are and reads the head of the answer.
pub fn send_raw(address: SocketAddr, bytes: &[u8], is_head: bool) -> Stream {
    let socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(TIMEOUT)).unwrap();
    socket.set_write_timeout(Some(TIMEOUT)).unwrap();
    (&socket).write_all(bytes).unwrap();
    Stream::read_head(BufReader::new(socket), is_head)
}

/// An answer whose body is not read yet; dropping it closes the connection.
pub struct Stream {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    reader: BufReader<TcpStream>,
    is_head: bool,
}

impl Stream {
    fn read_head(mut reader: BufReader<TcpStream>, is_head: bool) -> Self {
        let status = line(&mut reader).split(' ').nth(1).expect("a status line").parse().unwrap();
        let mut headers = Vec::new();
        loop {
            let line = line(&mut reader);
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        Self { status, headers, reader, is_head }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }

    /// The next chunk of a chunked body; `None` at its end, and where the server cut it off.
    pub fn chunk(&mut self) -> Option<Vec<u8>> {
        let mut size = String::new();
        if self.reader.read_line(&mut size).unwrap_or(0) == 0 {
            return None;
        }
        let n = usize::from_str_radix(size.trim(), 16).expect("a chunk size");
        let mut chunk = vec![0; n + 2];
        self.reader.read_exact(&mut chunk).ok()?;
        chunk.truncate(n);
        (n > 0).then_some(chunk)
    }

    /// Everything until the connection ends, as it is.
    pub fn rest(mut self) -> String {
        let mut text = String::new();
        self.reader.read_to_string(&mut text).unwrap();
        text
    }

    /// Reads the rest.
    pub fn finish(mut self) -> Reply {
        let mut body = Vec::new();
        if self.is_head {
        } else if self.header("transfer-encoding") == Some("chunked") {
            while let Some(chunk) = self.chunk() {
                body.extend(chunk);
            }
        } else if let Some(n) = self.header("content-length") {
            body = vec![0; n.parse().unwrap()];
            self.reader.read_exact(&mut body).unwrap();
        } else {
            self.reader.read_to_end(&mut body).unwrap();
        }
        Reply { status: self.status, headers: self.headers, body: String::from_utf8(body).unwrap() }
    }
}

/// A whole answer.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// The JSON of a 200.
    pub fn ok(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.body);
        self.json()
    }

    /// The data of each event of a 200 stream; comments are left out.
    pub fn events(&self) -> Vec<String> {
        assert_eq!(self.status, 200, "{}", self.body);
        assert_eq!(self.header("content-type"), Some("text/event-stream; charset=utf-8"));
        let frames = self.body.split_terminator("\n\n").filter(|frame| !frame.starts_with(':'));
        frames.map(|frame| frame.strip_prefix("data: ").expect("a data frame").to_owned()).collect()
    }

    /// Name and data of each event of a 200 stream whose events have names.
    pub fn named_events(&self) -> Vec<(String, Value)> {
        assert_eq!(self.status, 200, "{}", self.body);
        assert_eq!(self.header("content-type"), Some("text/event-stream; charset=utf-8"));
        let frame = |frame: &str| {
            let (name, data) = frame.split_once('\n').expect("two lines");
            let (name, data) = (name.strip_prefix("event: ").unwrap(), data.strip_prefix("data: ").unwrap());
            (name.to_owned(), serde_json::from_str(data).unwrap())
        };
        self.body.split_terminator("\n\n").map(frame).collect()
    }

    /// The JSON of each line of a 200 stream.
    pub fn lines(&self) -> Vec<Value> {
        assert_eq!(self.status, 200, "{}", self.body);
        assert_eq!(self.header("content-type"), Some("application/x-ndjson"));
        self.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The JSON of each chunk of a stream that ends well.
    pub fn chunks(&self) -> Vec<Value> {
        let mut events = self.events();
        assert_eq!(events.pop().as_deref(), Some("[DONE]"), "{}", self.body);
        events.iter().map(|event| serde_json::from_str(event).unwrap()).collect()
    }
}

fn find<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

fn line(reader: &mut impl BufRead) -> String {
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

/// Sends a call, waits for `then`, and goes away without reading.
pub fn leave_after(address: SocketAddr, path: &str, body: &Value, then: impl FnOnce()) {
    let body = body.to_string();
    let head = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n");
    let mut socket = TcpStream::connect(address).unwrap();
    write!(socket, "{head}Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    then();
}

/// Sends some bytes and waits until the server closes the connection; returns what it said.
pub fn silence(address: SocketAddr, bytes: &[u8]) -> String {
    let mut socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(TIMEOUT)).unwrap();
    socket.write_all(bytes).unwrap();
    let mut said = Vec::new();
    if let Err(error) = socket.read_to_end(&mut said) {
        // What was sent after the close is answered by a reset.
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    }
    String::from_utf8(said).unwrap()
}
