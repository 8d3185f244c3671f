//! A streamed answer as it comes, and the times of its pieces once it is there.

use std::collections::VecDeque;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use http_body_util::BodyExt;
use hyper::body::Incoming;

use super::chunk::{Chunk, Usage};
use super::sse::EventReader;
use crate::commands::bench::statistics;

/// Most text kept of one answer.
const N_TEXT_BYTES_MAX: usize = 64 << 20;

/// A running answer; dropping it closes the connection.
pub struct Stream {
    body: Incoming,
    reader: EventReader,
    ready: VecDeque<String>,
    deadline: tokio::time::Instant,
    is_over: bool,
    answer: Answer,
}

impl Stream {
    /// Of a call that was made at `sent`.
    pub fn new(body: Incoming, sent: Instant, deadline: tokio::time::Instant) -> Self {
        let (reader, ready) = (EventReader::default(), VecDeque::new());
        Self { body, reader, ready, deadline, is_over: false, answer: Answer::new(sent) }
    }

    /// When the next piece of text came; `None` when no more will.
    ///
    /// # Errors
    /// When the stream breaks, says that something failed, or takes too long.
    pub async fn next(&mut self) -> Result<Option<Instant>> {
        loop {
            while let Some(data) = self.ready.pop_front() {
                if data == "[DONE]" {
                    self.is_over = true;
                } else if let Some(time) = self.answer.take(Chunk::read(&data)?)? {
                    return Ok(Some(time));
                }
            }
            if self.is_over {
                return Ok(None);
            }
            self.read().await?;
        }
    }

    /// What came.
    ///
    /// # Errors
    /// When nothing did, not even an end.
    pub fn finish(self) -> Result<Answer> {
        ensure!(self.is_over, "the stream ended without [DONE]");
        ensure!(!self.answer.times.is_empty(), "the answer has no token");
        Ok(self.answer)
    }

    /// What came until now.
    pub fn so_far(&self) -> &Answer {
        &self.answer
    }

    async fn read(&mut self) -> Result<()> {
        let frame = tokio::time::timeout_at(self.deadline, self.body.frame()).await;
        let Some(frame) = frame.context("the answer took too long; a longer wait is --timeout")? else {
            ensure!(self.answer.finish.is_some(), "the stream ended in the middle of an answer");
            self.is_over = true;
            return Ok(());
        };
        let Ok(bytes) = frame.context("the stream broke")?.into_data() else { return Ok(()) };
        self.answer.now = Instant::now();
        let mut events = Vec::new();
        self.reader.feed(&bytes, &mut events)?;
        self.ready.extend(events);
        Ok(())
    }
}

/// An answer with the times of its pieces.
#[derive(Clone, Debug)]
pub struct Answer {
    /// When the call was made.
    pub sent: Instant,
    /// When each piece of text came, or the end of an answer of nothing; never empty in a finished answer. Servers may send
    /// several tokens in one.
    pub times: Vec<Instant>,
    /// The answer's text.
    pub content: String,
    /// Why it ended.
    pub finish: Option<String>,
    /// What the server counted.
    pub usage: Usage,
    /// When the bytes came that are being read.
    now: Instant,
    n_text_bytes: usize,
}

impl Answer {
    /// Nothing yet.
    pub fn new(sent: Instant) -> Self {
        let usage = Usage::default();
        Self { sent, times: Vec::new(), content: String::new(), finish: None, usage, now: sent, n_text_bytes: 0 }
    }

    fn take(&mut self, chunk: Chunk) -> Result<Option<Instant>> {
        self.n_text_bytes += chunk.text.len();
        ensure!(self.n_text_bytes <= N_TEXT_BYTES_MAX, "the answer has more than {N_TEXT_BYTES_MAX} bytes");
        // An answer of nothing has its end as its first token: the model chose that at once.
        let is_empty_end = chunk.finish.is_some() && self.times.is_empty();
        self.finish = chunk.finish.or(self.finish.take());
        self.usage = chunk.usage.unwrap_or(self.usage);
        self.content.push_str(&chunk.content);
        if chunk.text.is_empty() && !is_empty_end {
            return Ok(None);
        }
        self.times.push(self.now);
        Ok(Some(self.now))
    }

    /// From the call to the first token, in seconds.
    pub fn ttft_s(&self) -> f64 {
        self.times.first().map_or(0.0, |first| first.duration_since(self.sent).as_secs_f64())
    }

    /// From the call to the last token, in seconds.
    pub fn total_s(&self) -> f64 {
        self.times.last().map_or(0.0, |last| last.duration_since(self.sent).as_secs_f64())
    }

    /// Tokens of the answer: the server's count, or that of the pieces.
    pub fn n_tokens(&self) -> usize {
        self.usage.n_output.unwrap_or(self.times.len())
    }

    /// Prompt tokens that were computed, over TTFT; `None` if the server does not count.
    pub fn prefill_tps(&self) -> Option<f64> {
        let n_computed = self.usage.n_prompt?.saturating_sub(self.usage.n_cached.unwrap_or(0));
        statistics::rate(n_computed, self.ttft_s())
    }

    /// Tokens after the first piece over the time that they took; the first piece counts as one token.
    pub fn decode_tps(&self) -> Option<f64> {
        statistics::rate(self.n_tokens().saturating_sub(1), self.total_s() - self.ttft_s())
    }

    /// Waits between pieces, in milliseconds.
    pub fn itls_ms(&self) -> Vec<f64> {
        self.times.windows(2).map(|pair| pair[1].duration_since(pair[0]).as_secs_f64() * 1e3).collect()
    }
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
