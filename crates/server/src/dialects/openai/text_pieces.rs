//! Updates of a completion as pieces of its choices, echoed prompt first; whole answers are all pieces appended.

use std::sync::Arc;

use tokbar_chat::{Event, Tokenizer};
use tokbar_engine::TokenId;

use super::logprobs;
use super::wire::{TextChoice, TextLogprobs, finish_reason};
use crate::generation::Update;

/// Whether token scores are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Logprobs {
    /// They are.
    Sent,
    /// They are not.
    Omitted,
}

/// Whether the prompt is sent back before its continuation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Echo {
    /// It is.
    Sent,
    /// It is not.
    Omitted,
}

/// Makes pieces for all choices of a call.
#[derive(Debug)]
pub struct TextPieces {
    tokenizer: Arc<Tokenizer>,
    logprobs: Logprobs,
    choices: Vec<ChoiceState>,
}

#[derive(Debug)]
struct ChoiceState {
    /// The prompt to send back, until that is done.
    echo: Option<Opening>,
    /// Characters of the echoed prompt.
    n_chars_before: usize,
}

#[derive(Debug)]
struct Opening {
    text: String,
    tokens: Vec<TokenId>,
}

impl TextPieces {
    /// No choice yet.
    pub fn new(tokenizer: Arc<Tokenizer>, logprobs: Logprobs) -> Self {
        Self { tokenizer, logprobs, choices: Vec::new() }
    }

    /// Adds the next choice, with the text of its prompt if that is echoed.
    pub fn open(&mut self, tokens: &[TokenId], echo: Option<&String>) {
        let n_chars_before = echo.map_or(0, |text| text.chars().count());
        let echo = echo.map(|text| Opening { text: text.clone(), tokens: tokens.to_vec() });
        self.choices.push(ChoiceState { echo, n_chars_before });
    }

    /// How many choices there are.
    pub fn n_choices(&self) -> usize {
        self.choices.len()
    }

    /// A choice with nothing in it.
    pub fn blank(&self, index: usize) -> TextChoice {
        let logprobs = (self.logprobs == Logprobs::Sent).then(TextLogprobs::default);
        TextChoice { index, text: String::new(), logprobs, finish_reason: None }
    }

    /// What an update adds to its choice; without scores if it adds none.
    pub fn piece(&mut self, choice_idx: usize, update: Update) -> TextChoice {
        let mut piece = self.blank(choice_idx);
        let state = &mut self.choices[choice_idx];
        if let Some(opening) = state.echo.take() {
            let scores = if let Update::Prompt(scores) = &update { scores.as_slice() } else { &[] };
            piece.logprobs = piece.logprobs.map(|_| logprobs::prompt(&self.tokenizer, &opening.tokens, scores));
            piece.text = opening.text;
        }
        match update {
            Update::Prompt(_) | Update::Failed(_) => {}
            Update::Piece { event, scores } => {
                if let Some(columns) = &mut piece.logprobs {
                    logprobs::add_output(columns, &self.tokenizer, &scores, state.n_chars_before);
                }
                match event {
                    Event::Text(text) | Event::Reasoning(text) => piece.text.push_str(&text),
                    // Plain text has no calls.
                    Event::ToolStart { .. } | Event::ToolArgs { .. } | Event::ToolEnd { .. } | Event::Finish(_) => {}
                }
            }
            Update::Finish { reason, .. } => piece.finish_reason = Some(finish_reason(&reason)),
        }
        piece.logprobs = piece.logprobs.filter(|columns| !columns.tokens.is_empty());
        piece
    }
}

impl TextChoice {
    /// Adds a later piece of the same choice.
    pub fn append(&mut self, piece: TextChoice) {
        self.text.push_str(&piece.text);
        self.finish_reason = piece.finish_reason.or(self.finish_reason);
        if let (Some(columns), Some(more)) = (&mut self.logprobs, piece.logprobs) {
            columns.tokens.extend(more.tokens);
            columns.token_logprobs.extend(more.token_logprobs);
            columns.top_logprobs.extend(more.top_logprobs);
            columns.text_offset.extend(more.text_offset);
        }
    }
}
