//! What OpenAI's streams share, and the counts of a call.

use tokbar_engine as engine;

use super::error;
use super::wire::{CompletionDetails, PromptDetails, Usage};
use crate::{ApiError, sse};

/// The last frame of a stream that ended well.
pub fn done(frames: &mut Vec<u8>) {
    frames.extend_from_slice(b"data: [DONE]\n\n");
}

/// The last frame of one that did not.
pub fn failed(failure: &ApiError, frames: &mut Vec<u8>) {
    sse::data(&error::body(failure), frames);
}

/// Sums the counts of a call's sequences.
#[derive(Clone, Copy, Debug)]
pub struct Tally {
    n_choices: usize,
    n_prompt: usize,
    n_cached: usize,
    n_output: usize,
    n_drafted: usize,
    n_accepted: usize,
}

impl Tally {
    /// For prompts with `n_choices` sequences each.
    pub fn new(n_choices: usize) -> Self {
        Self { n_choices, n_prompt: 0, n_cached: 0, n_output: 0, n_drafted: 0, n_accepted: 0 }
    }

    /// Adds a sequence that has ended; a prompt counts with its first choice only.
    pub fn add(&mut self, choice_idx: usize, usage: &engine::Usage) {
        if choice_idx.is_multiple_of(self.n_choices) {
            self.n_prompt += usage.n_prompt;
            self.n_cached += usage.n_cached;
        }
        self.n_output += usage.n_output;
        self.n_drafted += usage.n_drafted;
        self.n_accepted += usage.n_accepted;
    }

    /// As OpenAI writes it.
    pub fn usage(&self) -> Usage {
        Usage {
            prompt_tokens: self.n_prompt,
            completion_tokens: self.n_output,
            total_tokens: self.n_prompt + self.n_output,
            prompt_tokens_details: PromptDetails { cached_tokens: self.n_cached },
            completion_tokens_details: CompletionDetails {
                accepted_prediction_tokens: self.n_accepted,
                rejected_prediction_tokens: self.n_drafted - self.n_accepted,
            },
        }
    }
}
