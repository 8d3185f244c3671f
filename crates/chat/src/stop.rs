//! Stop strings, found across token borders.

/// Most stop strings of one request.
pub const STOP_STRINGS_MAX: usize = 16;
/// Longest stop string, in bytes.
pub const STOP_STRING_BYTES_MAX: usize = 1024;

/// Watches a stream of text for stop strings. Text is held back only while it may still become one.
///
/// The match that is complete first wins, whatever the split of the text; of two that are complete at the same
/// character the longer one.
#[derive(Clone, Debug)]
pub struct StopStrings {
    matchers: Vec<Matcher>,
    /// Text not shown yet: a prefix of some stop string.
    held: String,
    /// The string that was found.
    found: Option<String>,
}

/// What a push gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StopPush {
    /// Text that is safe to show.
    pub text: String,
    /// Whether a stop string was found; it and all that follows are dropped.
    pub hit: bool,
}

/// Stop strings beyond the bounds.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum StopError {
    /// More than [`STOP_STRINGS_MAX`].
    #[error("{n} stop strings are too many; at most {STOP_STRINGS_MAX} are allowed")]
    TooMany {
        /// How many.
        n: usize,
    },
    /// One is longer than [`STOP_STRING_BYTES_MAX`].
    #[error("a stop string of {n_bytes} bytes is too long; at most {STOP_STRING_BYTES_MAX} bytes are allowed")]
    TooLong {
        /// Its length.
        n_bytes: usize,
    },
}

impl StopStrings {
    /// Empty strings stop nothing and are left out.
    ///
    /// # Errors
    /// When there are too many, or one is too long.
    pub fn new(stop: Vec<String>) -> Result<Self, StopError> {
        if stop.len() > STOP_STRINGS_MAX {
            return Err(StopError::TooMany { n: stop.len() });
        }
        if let Some(long) = stop.iter().find(|text| text.len() > STOP_STRING_BYTES_MAX) {
            return Err(StopError::TooLong { n_bytes: long.len() });
        }
        let matchers = stop.into_iter().filter(|text| !text.is_empty()).map(Matcher::new).collect();
        Ok(Self { matchers, held: String::new(), found: None })
    }

    /// Takes the next piece of text.
    pub fn push(&mut self, text: &str) -> StopPush {
        if self.found.is_some() {
            return StopPush { text: String::new(), hit: true };
        }
        if self.matchers.is_empty() {
            return StopPush { text: text.to_owned(), hit: false };
        }
        let n_held = self.held.len();
        self.held.push_str(text);
        for (idx, byte) in text.bytes().enumerate() {
            let n_matched = self.matchers.iter_mut().filter_map(|matcher| matcher.step(byte)).max();
            if let Some(n_matched) = n_matched {
                let end = n_held + idx + 1;
                self.found = Some(self.held[end - n_matched..end].to_owned());
                self.held.truncate(end - n_matched);
                return StopPush { text: std::mem::take(&mut self.held), hit: true };
            }
        }
        let n_kept = self.matchers.iter().map(|matcher| matcher.n_matched).max().unwrap_or(0);
        let kept = self.held.split_off(self.held.len() - n_kept);
        StopPush { text: std::mem::replace(&mut self.held, kept), hit: false }
    }

    /// The text ends, or something else comes between: what was held back is no stop string after all.
    pub fn flush(&mut self) -> String {
        self.matchers.iter_mut().for_each(|matcher| matcher.n_matched = 0);
        std::mem::take(&mut self.held)
    }

    /// The stop string that was found.
    pub fn found(&self) -> Option<&str> {
        self.found.as_deref()
    }

    /// Bytes held back.
    pub fn n_held(&self) -> usize {
        self.held.len()
    }
}

/// Knuth-Morris-Pratt: constant time per byte, whatever the string.
#[derive(Clone, Debug)]
struct Matcher {
    pattern: Vec<u8>,
    /// `failure[i]`: length of the longest proper prefix of `pattern[..=i]` that is also its suffix.
    failure: Vec<usize>,
    n_matched: usize,
}

impl Matcher {
    fn new(pattern: String) -> Self {
        let pattern = pattern.into_bytes();
        let mut failure = vec![0; pattern.len()];
        let mut n = 0;
        for idx in 1..pattern.len() {
            while n > 0 && pattern[idx] != pattern[n] {
                n = failure[n - 1];
            }
            n += usize::from(pattern[idx] == pattern[n]);
            failure[idx] = n;
        }
        Self { pattern, failure, n_matched: 0 }
    }

    /// Length of the whole pattern when `byte` completes it.
    fn step(&mut self, byte: u8) -> Option<usize> {
        while self.n_matched > 0 && self.pattern[self.n_matched] != byte {
            self.n_matched = self.failure[self.n_matched - 1];
        }
        self.n_matched += usize::from(self.pattern[self.n_matched] == byte);
        (self.n_matched == self.pattern.len()).then_some(self.n_matched)
    }
}

#[cfg(test)]
#[path = "stop_tests.rs"]
mod tests;
