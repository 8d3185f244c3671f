//! Server-sent events, cut anywhere: bytes go in, the data of whole events comes out.

/// Longest line taken; a longer one is no event of a chat.
const N_LINE_BYTES_MAX: usize = 4 << 20;

/// A line that never ends.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the server sent a line of more than {N_LINE_BYTES_MAX} bytes where events were expected")]
pub struct LineTooLong;

/// Bytes of an unfinished line, and data of an unfinished event.
#[derive(Debug, Default)]
pub struct EventReader {
    line: Vec<u8>,
    data: Option<String>,
}

impl EventReader {
    /// Takes the next bytes and appends the data of all events that are whole with them.
    ///
    /// # Errors
    /// When a line is too long.
    pub fn feed(&mut self, bytes: &[u8], events: &mut Vec<String>) -> Result<(), LineTooLong> {
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            if self.line.len() + piece.len() > N_LINE_BYTES_MAX {
                return Err(LineTooLong);
            }
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                self.take_line(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']), events);
            }
        }
        Ok(())
    }

    /// An empty line ends an event; of the fields only `data` matters here.
    fn take_line(&mut self, line: &str, events: &mut Vec<String>) {
        if line.is_empty() {
            events.extend(self.data.take());
        } else if let Some(value) = line.strip_prefix("data:") {
            let value = value.strip_prefix(' ').unwrap_or(value);
            match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            }
        }
    }
}

#[cfg(test)]
#[path = "sse_tests.rs"]
mod tests;
