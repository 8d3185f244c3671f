//! The answer of a running call: lines as they come, or all in one object.

use std::sync::Arc;

use axum::Json;
use axum::response::{IntoResponse, Response};
use futures::StreamExt;
use tokbar_chat::{AnswerForm, AnswerRules, Prompt};

use super::answer::{Head, Piece, Progress};
use super::error;
use super::options::Options;
use crate::generate::{self, Job, Scope};
use crate::generation::Update;
use crate::stream::{Printer, Updates, frames, response, updates};
use crate::{ApiError, ServedModel, ServerState, notices, sse};

const CONTENT_TYPE: &str = "application/x-ndjson";

/// How the answer travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// In one object.
    Whole,
    /// One object a line.
    Stream,
}

/// A call, understood.
pub struct Call {
    /// Who answers.
    pub model: Arc<ServedModel>,
    /// `None` when the call only asks for the model to be there.
    pub prompt: Option<Prompt>,
    /// What the answer must look like.
    pub form: Option<AnswerForm>,
    /// How tokens are chosen and when the answer ends.
    pub options: Options,
    /// How the answer travels.
    pub delivery: Delivery,
}

/// Runs a call to its answer.
///
/// # Errors
/// When it cannot start, or a whole answer fails.
pub async fn answer(state: &ServerState, call: Call, head: Head) -> Result<Response, ApiError> {
    let Some(prompt) = call.prompt else { return Ok(Json(head.loaded()).into_response()) };
    let Options { sampling, max_tokens, stop } = call.options;
    let rules = AnswerRules { form: call.form, ..AnswerRules::default() };
    let scope = Scope::default();
    let job = Job { prompts: vec![prompt], n_choices: 1, sampling, max_tokens, stop, scope, rules, prediction: None };
    let generations = generate::start(state, &call.model, job).await?;
    let notices = notices::of(&generations);
    let updates = updates(generations, state.options.call_timeout);
    let answer = match call.delivery {
        Delivery::Whole => whole(head, updates).await?,
        Delivery::Stream => {
            let printer = LinePrinter { head, progress: Progress::default() };
            response(frames(updates, printer, state.options.keep_alive), CONTENT_TYPE)
        }
    };
    Ok(notices::attach(answer, notices))
}

async fn whole(head: Head, mut updates: Updates) -> Result<Response, ApiError> {
    let (mut progress, mut all, mut ending) = (Progress::default(), Piece::default(), None);
    while let Some((_, update)) = updates.next().await {
        match update {
            Update::Prompt(_) => {}
            Update::Piece { event, .. } => {
                let piece = progress.piece(event);
                all.text.push_str(&piece.text);
                all.thinking.push_str(&piece.thinking);
                all.calls.extend(piece.calls);
            }
            Update::Finish { reason, usage, .. } => ending = Some(progress.ending(&head, reason, &usage)),
            Update::Failed(error) => return Err(error),
        }
    }
    Ok(Json(head.object(all, ending)).into_response())
}

/// Prints one line per piece.
struct LinePrinter {
    head: Head,
    progress: Progress,
}

impl Printer for LinePrinter {
    fn print(&mut self, _: usize, update: Update, frames: &mut Vec<u8>) {
        let object = match update {
            Update::Piece { event, .. } => {
                let piece = self.progress.piece(event);
                if piece.text.is_empty() && piece.thinking.is_empty() && piece.calls.is_empty() {
                    return;
                }
                self.head.object(piece, None)
            }
            Update::Finish { reason, usage, .. } => {
                let ending = self.progress.ending(&self.head, reason, &usage);
                self.head.object(Piece::default(), Some(ending))
            }
            Update::Prompt(_) | Update::Failed(_) => return,
        };
        line(&object, frames);
    }

    /// Lines must be JSON: one that adds nothing.
    fn keep_alive(&mut self, frames: &mut Vec<u8>) {
        line(&self.head.object(Piece::default(), None), frames);
    }

    fn end(&mut self, _: &mut Vec<u8>) {}

    fn fail(&mut self, failure: &ApiError, frames: &mut Vec<u8>) {
        line(&error::body(failure), frames);
    }
}

fn line(object: &serde_json::Value, frames: &mut Vec<u8>) {
    sse::json(object, frames);
    frames.push(b'\n');
}
