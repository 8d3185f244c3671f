//! One running sequence: its tokens become text, its text becomes events.

use std::collections::VecDeque;
use std::sync::Arc;

use futures::stream::{self, BoxStream, StreamExt};
use tokbar_chat::{Detokenizer, Event, FinishReason, StopStrings};
use tokbar_engine::{self as engine, Output, Outputs, PromptScores, TokenId, TokenScore, Usage};

use crate::ApiError;

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
    prompt: Arc<[TokenId]>,
    ends: Vec<TokenId>,
    detokenizer: Detokenizer,
    /// `None` once it is used up.
    stop: Option<StopStrings>,
    scores: ScoreQueue,
    n_output: usize,
    ready: VecDeque<Update>,
}

impl Generation {
    /// `ends` are the tokens that end the output and have no text.
    pub fn new(
        outputs: Outputs,
        prompt: Arc<[TokenId]>,
        detokenizer: Detokenizer,
        stop: StopStrings,
        ends: Vec<TokenId>,
    ) -> Self {
        Self {
            outputs: Some(outputs),
            prompt,
            ends,
            detokenizer,
            stop: Some(stop),
            scores: ScoreQueue::default(),
            n_output: 0,
            ready: VecDeque::new(),
        }
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
            match self.outputs.as_mut()?.next().await {
                Some(output) => self.take(output),
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

    fn take(&mut self, output: Output) {
        match output {
            Output::Prefill { .. } => {}
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
        let text = self.detokenizer.push(token);
        self.scores.push(score, &text);
        let Some(stop) = self.stop.as_mut() else { return };
        let push = stop.push(&text);
        self.show(push.text);
        if push.hit {
            let usage = Usage { n_prompt: self.prompt.len(), n_cached: 0, n_output: self.n_output };
            self.end(Update::Finish { reason: FinishReason::Stop, usage });
        }
    }

    fn take_finish(&mut self, reason: engine::FinishReason, usage: Usage) {
        let reason = match reason {
            engine::FinishReason::Stop => FinishReason::Stop,
            engine::FinishReason::Length => FinishReason::Length,
            engine::FinishReason::Cancelled => return self.end(Update::Failed(ApiError::Stopping)),
            engine::FinishReason::Failed(detail) => return self.end(Update::Failed(ApiError::Failed { detail })),
        };
        let rest = self.detokenizer.finish();
        let mut reason = reason;
        if let Some(mut stop) = self.stop.take() {
            let push = stop.push(&rest);
            if push.hit {
                reason = FinishReason::Stop;
                self.show(push.text);
            } else {
                self.show_last(push.text + &stop.finish());
            }
        }
        self.end(Update::Finish { reason, usage });
    }

    fn show(&mut self, text: String) {
        if text.is_empty() {
            return;
        }
        let scores = self.scores.shown(&text);
        self.ready.push_back(Update::Piece { event: Event::Text(text), scores });
    }

    /// Tokens without text of their own come out with the last piece.
    fn show_last(&mut self, text: String) {
        let scores = self.scores.rest();
        if !text.is_empty() || !scores.is_empty() {
            self.ready.push_back(Update::Piece { event: Event::Text(text), scores });
        }
    }

    fn end(&mut self, update: Update) {
        self.outputs = None;
        self.ready.push_back(update);
    }
}

/// Scores of tokens whose text is not shown yet.
#[derive(Debug, Default)]
struct ScoreQueue {
    /// With the byte at which each one's text starts.
    waiting: VecDeque<(usize, ScoredToken)>,
    n_bytes_pushed: usize,
    n_chars_pushed: usize,
    n_bytes_shown: usize,
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

    /// The tokens whose text begins within what is shown now.
    fn shown(&mut self, text: &str) -> Vec<ScoredToken> {
        self.n_bytes_shown += text.len();
        let n = self.waiting.iter().take_while(|(start, _)| *start < self.n_bytes_shown).count();
        self.waiting.drain(..n).map(|(_, scored)| scored).collect()
    }

    fn rest(&mut self) -> Vec<ScoredToken> {
        self.waiting.drain(..).map(|(_, scored)| scored).collect()
    }
}
