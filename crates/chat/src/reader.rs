//! Tokens of one output to events: detokenizing, parsing and stop strings in one.

use crate::{CallCount, Detokenizer, Event, FinishReason, OutputParser, StopStrings};

/// Reads one output. Stop strings count in visible text only: not in reasoning, and not in the arguments of calls.
#[derive(Debug)]
pub struct OutputReader {
    detokenizer: Detokenizer,
    /// `None` for plain continuations, whose text is taken as it is.
    parser: Option<OutputParser>,
    stop: StopStrings,
    n_bytes: usize,
    n_calls: usize,
    /// Calls after which nothing is read.
    n_calls_max: usize,
}

/// What a token gives.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// The token's text, as far as its characters are complete.
    pub text: String,
    /// Never a finish.
    pub events: Vec<Event>,
    /// Bytes of text, from the start of the output, that are in events or dropped; the rest is held back.
    pub n_bytes_settled: usize,
    /// Whether a stop string was found, or the last call that may be made is complete; nothing comes after it.
    pub is_stopped: bool,
    /// Which one.
    pub stop_string: Option<String>,
}

impl OutputReader {
    /// A reader at the start of an output.
    pub fn new(detokenizer: Detokenizer, parser: Option<OutputParser>, stop: StopStrings) -> Self {
        Self { detokenizer, parser, stop, n_bytes: 0, n_calls: 0, n_calls_max: usize::MAX }
    }

    /// Stops after as many calls as an answer may make.
    pub fn with_calls(self, calls: CallCount) -> Self {
        Self { n_calls_max: if calls == CallCount::One { 1 } else { usize::MAX }, ..self }
    }

    /// Takes the next token.
    pub fn push(&mut self, token: u32) -> Reading {
        let text = self.detokenizer.push(token);
        self.read(text)
    }

    /// Ends the output. The reading has all that was held back; the reason tells of calls and of a stop string at the end.
    pub fn finish(mut self, reason: FinishReason) -> (Reading, FinishReason) {
        let rest = self.detokenizer.finish();
        let mut reading = self.read(rest);
        if reading.is_stopped {
            return (reading, self.stop_reason());
        }
        let mut reason = reason;
        if let Some(parser) = self.parser.take() {
            for event in parser.finish(reason) {
                match event {
                    Event::Finish(given) => reason = given,
                    event => self.take_event(event, &mut reading),
                }
            }
        }
        if reading.is_stopped {
            return (reading, self.stop_reason());
        }
        push_text(&mut reading.events, self.stop.flush());
        reading.n_bytes_settled = self.n_bytes;
        (reading, reason)
    }

    /// Why an output ended that the reader ended.
    pub fn stop_reason(&self) -> FinishReason {
        if self.n_calls > 0 { FinishReason::ToolCalls } else { FinishReason::Stop }
    }

    fn read(&mut self, text: String) -> Reading {
        self.n_bytes += text.len();
        let events = match &mut self.parser {
            Some(parser) => parser.push(&text),
            None if text.is_empty() => Vec::new(),
            None => vec![Event::Text(text.clone())],
        };
        let mut reading = Reading { text, ..Reading::default() };
        for event in events {
            self.take_event(event, &mut reading);
        }
        let n_held = self.parser.as_ref().map_or(0, OutputParser::n_held) + self.stop.n_held();
        let n_behind = if reading.is_stopped { reading.n_bytes_settled } else { n_held };
        reading.n_bytes_settled = self.n_bytes.saturating_sub(n_behind);
        reading
    }

    /// Passes an event on, but for text from a stop string on. Counts the bytes dropped.
    fn take_event(&mut self, event: Event, reading: &mut Reading) {
        if let Event::Text(text) = &event
            && !reading.is_stopped
        {
            let n_arrived = self.stop.n_held() + text.len();
            let push = self.stop.push(text);
            reading.is_stopped = push.hit;
            if push.hit {
                reading.stop_string = self.stop.found().map(str::to_owned);
                reading.n_bytes_settled = n_arrived - push.text.len();
            }
            push_text(&mut reading.events, push.text);
            return;
        }
        if reading.is_stopped {
            return;
        }
        self.n_calls += usize::from(matches!(event, Event::ToolEnd { .. }));
        // Text before a call or a thought ends there, and with it whatever might have become a stop string.
        push_text(&mut reading.events, self.stop.flush());
        reading.events.push(event);
        reading.is_stopped = self.n_calls >= self.n_calls_max;
    }
}

fn push_text(events: &mut Vec<Event>, text: String) {
    if text.is_empty() {
        return;
    }
    match events.last_mut() {
        Some(Event::Text(last)) => last.push_str(&text),
        _ => events.push(Event::Text(text)),
    }
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
