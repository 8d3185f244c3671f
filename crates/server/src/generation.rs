//! One running sequence: its tokens become text, its text becomes events.

use std::collections::VecDeque;
use std::sync::Arc;

use futures::stream::{self, BoxStream, StreamExt};
use tokbar_chat::{Event, FinishReason, OutputReader, Reading};
use tokbar_engine::{self as engine, Output, Outputs, PromptScores, TokenId, TokenScore, Usage};

use crate::ApiError;
use crate::notices::Curtailed;
use crate::rounds::{Next, Rounds};
use crate::running::Ticket;

/// What a running sequence yields: prompt scores if asked for, pieces, then one `Finish` or `Failed`.
#[derive(Clone, Debug, PartialEq)]
pub enum Update {
    /// Scores of the prompt's tokens from the second on.
    Prompt(PromptScores),
    /// A piece of output with the scores, if asked for, of the tokens that it is made of.
    Piece {
        /// Never a finish.
        event: Event,
        /// In order.
        scores: Vec<ScoredToken>,
    },
    /// The last update of a sequence that ended well.
    Finish {
        /// Why it ended.
        reason: FinishReason,
        /// Counts.
        usage: Usage,
        /// The stop string that was found.
        stop_string: Option<String>,
    },
    /// The last update of one that did not.
    Failed(ApiError),
}

/// A token with its place in the text.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoredToken {
    /// The token and how likely it was.
    pub score: TokenScore,
    /// Characters of output text before it.
    pub text_offset: usize,
}

/// A running sequence; dropping it cancels it.
pub struct Generation {
    /// `None` once it has ended.
    outputs: Option<Outputs>,
    ticket: Ticket,
    prompt: Arc<[TokenId]>,
    ends: Vec<TokenId>,
    /// `None` once it is used up.
    reader: Option<OutputReader>,
    notices: Vec<String>,
    curtailed: Option<Curtailed>,
    scores: ScoreQueue,
    n_output: usize,
    n_cached: usize,
    ready: VecDeque<Update>,
    /// For an answer in several rounds.
    rounds: Option<Box<Rounds>>,
    /// The next round, on its way.
    next: Option<Next>,
}

impl Generation {
    /// `ends` are the tokens that end the output and have no text.
    pub(crate) fn new(
        (outputs, ticket): (Outputs, Ticket),
        prompt: Arc<[TokenId]>,
        reader: OutputReader,
        ends: Vec<TokenId>,
    ) -> Self {
        Self {
            outputs: Some(outputs),
            ticket,
            prompt,
            ends,
            reader: Some(reader),
            notices: Vec::new(),
            curtailed: None,
            scores: ScoreQueue::default(),
            n_output: 0,
            n_cached: 0,
            ready: VecDeque::new(),
            rounds: None,
            next: None,
        }
    }

    /// Goes on after calls of the server's own tools.
    pub(crate) fn go_on_with(&mut self, rounds: Box<Rounds>) {
        self.rounds = Some(rounds);
    }

    /// Tells what it is not held to although the call asks for it.
    pub fn with_notices(self, notices: Vec<String>) -> Self {
        Self { notices, ..self }
    }

    /// Tells whether it was curtailed, once it has ended.
    pub fn with_curtailed(self, curtailed: Option<Curtailed>) -> Self {
        Self { curtailed, ..self }
    }

    /// See [`with_curtailed`](Self::with_curtailed).
    pub fn curtailed(&self) -> Option<Curtailed> {
        self.curtailed.clone()
    }

    /// See [`with_notices`](Self::with_notices).
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// The prompt's tokens.
    pub fn prompt(&self) -> &[TokenId] {
        &self.prompt
    }

    /// The next update; `None` after the last. Safe to drop while waiting.
    pub async fn next(&mut self) -> Option<Update> {
        loop {
            if let Some(update) = self.ready.pop_front() {
                return Some(update);
            }
            if let Some(next) = &mut self.next {
                let outcome = tokio::select! {
                    biased;
                    outcome = next => outcome,
                    () = self.ticket.cancelled() => Err(ApiError::Cancelled),
                };
                self.take_round(outcome);
                continue;
            }
            let output = tokio::select! {
                biased;
                output = self.outputs.as_mut()?.next() => output,
                () = self.ticket.cancelled() => {
                    self.end(Update::Failed(ApiError::Cancelled));
                    continue;
                }
            };
            match output {
                Some(output) => {
                    self.ticket.saw(&output);
                    self.take(output);
                }
                None => self.end(Update::Failed(ApiError::Stopping)),
            }
        }
    }

    /// All updates, each with `idx`.
    pub fn into_stream(self, idx: usize) -> BoxStream<'static, (usize, Update)> {
        let next = move |mut generation: Self| async move {
            let update = generation.next().await?;
            Some(((idx, update), generation))
        };
        stream::unfold(self, next).boxed()
    }

    /// The next round takes this one's place.
    fn take_round(&mut self, outcome: Result<Self, ApiError>) {
        self.next = None;
        match outcome {
            Ok(round) => {
                let notices = std::mem::take(&mut self.notices);
                *self = Self { notices, ..round };
            }
            Err(error) => self.ready.push_back(Update::Failed(error)),
        }
    }

    fn take(&mut self, output: Output) {
        match output {
            Output::Prefill { n_cached, .. } => self.n_cached = n_cached,
            Output::Prompt(scores) => self.ready.push_back(Update::Prompt(scores)),
            Output::Token(score) => self.take_token(score),
            Output::Finish { reason, usage } => self.take_finish(reason, usage),
        }
    }

    fn take_token(&mut self, score: TokenScore) {
        self.n_output += 1;
        let token = score.token;
        if self.ends.contains(&token) {
            return;
        }
        let Some(reader) = self.reader.as_mut() else { return };
        let mut reading = reader.push(token);
        self.scores.push(score, &reading.text);
        if reading.is_stopped {
            let reason = reader.stop_reason();
            let (n_cached, n_output) = (self.n_cached, self.n_output);
            let usage = Usage { n_prompt: self.prompt.len(), n_cached, n_output, ..Usage::default() };
            let stop_string = reading.stop_string.take();
            self.show(reading);
            return self.end(Update::Finish { reason, usage, stop_string });
        }
        self.show(reading);
    }

    fn take_finish(&mut self, reason: engine::FinishReason, usage: Usage) {
        let reason = match reason {
            engine::FinishReason::Stop => FinishReason::Stop,
            engine::FinishReason::Length => FinishReason::Length,
            engine::FinishReason::Cancelled => return self.end(Update::Failed(ApiError::Stopping)),
            engine::FinishReason::Failed(detail) => return self.end(Update::Failed(ApiError::Failed { detail })),
        };
        let Some(reader) = self.reader.take() else { return };
        let (mut reading, reason) = reader.finish(reason);
        let (is_stopped, stop_string) = (reading.is_stopped, reading.stop_string.take());
        self.show(reading);
        if !is_stopped {
            self.show_rest();
        }
        self.end(Update::Finish { reason, usage, stop_string });
    }

    /// Scores come with the last event that their tokens are in.
    fn show(&mut self, reading: Reading) {
        if reading.events.is_empty() {
            return;
        }
        let scores = self.scores.settled(reading.n_bytes_settled);
        let mut events = reading.events;
        if let Some(rounds) = &mut self.rounds {
            events.retain(|event| rounds.see(event));
        }
        let pieces = events.into_iter().map(|event| Update::Piece { event, scores: Vec::new() });
        self.ready.extend(pieces);
        if let Some(Update::Piece { scores: last, .. }) = self.ready.back_mut() {
            *last = scores;
        }
    }

    /// Tokens without text of their own come out at the end.
    fn show_rest(&mut self) {
        let scores = self.scores.rest();
        if scores.is_empty() {
            return;
        }
        match self.ready.back_mut() {
            Some(Update::Piece { scores: last, .. }) => last.extend(scores),
            _ => self.ready.push_back(Update::Piece { event: Event::Text(String::new()), scores }),
        }
    }

    fn end(&mut self, update: Update) {
        self.outputs = None;
        let Some(rounds) = self.rounds.take() else { return self.ready.push_back(update) };
        match rounds.go_on(update) {
            Ok(next) => self.next = Some(next),
            Err(last) => self.ready.push_back(last),
        }
    }
}

/// Scores of tokens whose text is not shown yet.
#[derive(Debug, Default)]
struct ScoreQueue {
    /// With the byte at which each one's text starts.
    waiting: VecDeque<(usize, ScoredToken)>,
    n_bytes_pushed: usize,
    n_chars_pushed: usize,
}

impl ScoreQueue {
    /// A token that adds `text`, empty while a character is unfinished. Unscored tokens are not kept.
    fn push(&mut self, score: TokenScore, text: &str) {
        if !score.logprob.is_nan() {
            let scored = ScoredToken { score, text_offset: self.n_chars_pushed };
            self.waiting.push_back((self.n_bytes_pushed, scored));
        }
        self.n_bytes_pushed += text.len();
        self.n_chars_pushed += text.chars().count();
    }

    /// The tokens whose text begins before this byte.
    fn settled(&mut self, n_bytes: usize) -> Vec<ScoredToken> {
        let n = self.waiting.iter().take_while(|(start, _)| *start < n_bytes).count();
        self.waiting.drain(..n).map(|(_, scored)| scored).collect()
    }

    fn rest(&mut self) -> Vec<ScoredToken> {
        self.waiting.drain(..).map(|(_, scored)| scored).collect()
    }
}
