//! Updates of all choices as one stream of chunks, and the counts of a call.

use axum::body::Bytes;
use futures::stream::{self, BoxStream, StreamExt};
use tokbar_engine as engine;

use super::error;
use super::wire::{PromptDetails, Usage};
use crate::generation::{Generation, Update};
use crate::sse;

/// Updates with the index of their choice.
pub type Updates = BoxStream<'static, (usize, Update)>;

/// Turns updates into chunks.
pub trait Printer: Send + 'static {
    /// Appends the frames of an update that is no failure.
    fn print(&mut self, choice_idx: usize, update: Update, frames: &mut Vec<u8>);

    /// Appends what follows the last choice's finish.
    fn end(&mut self, frames: &mut Vec<u8>);
}

/// All choices, interleaved as they come.
pub fn updates(generations: Vec<Generation>) -> Updates {
    let streams = generations.into_iter().enumerate().map(|(idx, generation)| generation.into_stream(idx));
    stream::select_all(streams).boxed()
}

/// The frames of a whole call. A failure ends it with an error frame and no `[DONE]`.
pub fn frames<P: Printer>(updates: Updates, printer: P) -> BoxStream<'static, Bytes> {
    let next = |state: Option<(Updates, P)>| async move {
        let (mut updates, mut printer) = state?;
        let mut frames = Vec::new();
        let state = match updates.next().await {
            Some((_, Update::Failed(failure))) => {
                tracing::warn!(error = %failure, "a stream failed");
                sse::data(&error::body(&failure), &mut frames);
                None
            }
            Some((choice_idx, update)) => {
                printer.print(choice_idx, update, &mut frames);
                Some((updates, printer))
            }
            None => {
                printer.end(&mut frames);
                frames.extend_from_slice(b"data: [DONE]\n\n");
                None
            }
        };
        Some((Bytes::from(frames), state))
    };
    stream::unfold(Some((updates, printer)), next).filter(|frame| std::future::ready(!frame.is_empty())).boxed()
}

/// Sums the counts of a call's sequences.
#[derive(Clone, Copy, Debug)]
pub struct Tally {
    n_choices: usize,
    n_prompt: usize,
    n_cached: usize,
    n_output: usize,
}

impl Tally {
    /// For prompts with `n_choices` sequences each.
    pub fn new(n_choices: usize) -> Self {
        Self { n_choices, n_prompt: 0, n_cached: 0, n_output: 0 }
    }

    /// Adds a sequence that has ended; a prompt counts with its first choice only.
    pub fn add(&mut self, choice_idx: usize, usage: &engine::Usage) {
        if choice_idx.is_multiple_of(self.n_choices) {
            self.n_prompt += usage.n_prompt;
            self.n_cached += usage.n_cached;
        }
        self.n_output += usage.n_output;
    }

    /// As OpenAI writes it.
    pub fn usage(&self) -> Usage {
        Usage {
            prompt_tokens: self.n_prompt,
            completion_tokens: self.n_output,
            total_tokens: self.n_prompt + self.n_output,
            prompt_tokens_details: PromptDetails { cached_tokens: self.n_cached },
        }
    }
}
