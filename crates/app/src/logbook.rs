//! The latest lines of the log, in memory, for whoever manages the server.

use std::collections::VecDeque;
use std::fmt::{Debug, Write as _};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use directories::BaseDirs;
use jiff::Timestamp;
use tokbar_server::control::{LogLevel, LogLine, Logbook};
use tokio::sync::broadcast::{Receiver, Sender, channel};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use crate::redact::redact;

/// Lines that are kept.
const N_LINES_MAX: usize = 5000;
/// Longest line, in bytes.
const N_BYTES_MAX: usize = 4096;
/// Lines that a slow reader may lag behind.
const N_LAG_MAX: usize = 1024;

/// What this process has logged.
pub fn book() -> Arc<Book> {
    static BOOK: LazyLock<Arc<Book>> = LazyLock::new(|| Arc::new(Book::new()));
    Arc::clone(&BOOK)
}

/// See the module.
pub struct Book {
    lines: Mutex<VecDeque<LogLine>>,
    new: Sender<LogLine>,
    home: Option<std::path::PathBuf>,
}

impl Book {
    fn new() -> Self {
        let home = BaseDirs::new().map(|dirs| dirs.home_dir().to_owned());
        Self { lines: Mutex::new(VecDeque::new()), new: channel(N_LAG_MAX).0, home }
    }

    fn write(&self, level: LogLevel, target: &str, message: &str) {
        let mut message = redact(message, self.home.as_deref());
        if message.len() > N_BYTES_MAX {
            let end = (0..=N_BYTES_MAX).rev().find(|&end| message.is_char_boundary(end)).unwrap_or(0);
            message.truncate(end);
            message.push('…');
        }
        let line = LogLine { at: Timestamp::now().to_string(), level, target: target.to_owned(), message };
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == N_LINES_MAX {
            lines.pop_front();
        }
        lines.push_back(line.clone());
        // Under the lock, so that whoever asks for both has each line once. Without readers there is nobody to tell.
        drop(self.new.send(line));
    }
}

impl Logbook for Book {
    fn tail(&self, n: usize, level: LogLevel) -> (Vec<LogLine>, Receiver<LogLine>) {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let to_come = self.new.subscribe();
        let mut last: Vec<LogLine> = lines.iter().rev().filter(|line| line.level <= level).take(n).cloned().collect();
        last.reverse();
        (last, to_come)
    }
}

/// Writes events into the book.
pub struct ToBook(pub Arc<Book>);

impl<S: Subscriber> Layer<S> for ToBook {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let level = match *event.metadata().level() {
            Level::ERROR => LogLevel::Error,
            Level::WARN => LogLevel::Warn,
            Level::INFO => LogLevel::Info,
            _ => LogLevel::Debug,
        };
        let mut words = Words::default();
        event.record(&mut words);
        let target = event.metadata().target().split("::").next().unwrap_or("");
        self.0.write(level, target, &words.line());
    }
}

/// An event's message, then its fields.
#[derive(Default)]
struct Words {
    message: String,
    fields: String,
}

impl Words {
    fn line(self) -> String {
        let Self { message, fields } = self;
        if message.is_empty() { fields.trim_start().to_owned() } else { message + &fields }
    }
}

impl Visit for Words {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let written = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
        // Text in memory takes all that is written.
        debug_assert!(written.is_ok());
    }
}

#[cfg(test)]
#[path = "logbook_tests.rs"]
mod tests;
