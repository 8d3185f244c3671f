//! `POST /v1/completions`.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use futures::StreamExt;
use serde_json::Value;
use tokbar_chat::{AnswerRules, Prompt};

use super::error::Failure;
use super::parameters::{self, Delivery, UsageChunk};
use super::rules::{self, Rules};
use super::stream::{self, Tally};
use super::text_pieces::{Echo, Logprobs, TextPieces};
use super::wire::{Answer, Head, TextChoice};
use super::{prompts, ranking, refused};
use crate::body::read_json;
use crate::fields::Fields;
use crate::generate::{self, Job, Scope};
use crate::generation::Update;
use crate::stream::{Printer, Updates, frames, response, updates};
use crate::{ApiError, ServedModel, ServerState, ids, notices, sse};

/// Tokens of a completion that names no number, as OpenAI has it.
const MAX_TOKENS: usize = 16;
/// Most alternatives reported per token.
const N_TOP_LOGPROBS_MAX: i64 = 20;

/// A call, understood.
struct Call {
    model: Arc<ServedModel>,
    job: Job,
    /// Choices reported of each prompt, at most as many as are made.
    n_reported: usize,
    delivery: Delivery,
    logprobs: Logprobs,
    echo: Echo,
    timeout: Option<Duration>,
    rules: Rules,
}

/// Continues text, whole or as a stream.
pub async fn create(State(state): State<ServerState>, request: Request) -> Result<Response, Failure> {
    let body = read_json(&state, request).await?;
    let call = parse(&state, body)?;
    let head = Head {
        id: ids::unique("cmpl-"),
        object: "text_completion",
        created: (state.options.now)().timestamp().as_second(),
        model: call.model.id.clone(),
    };
    let (n_choices, n_reported) = (call.job.n_choices, call.n_reported);
    let texts = echo_texts(&call);
    let generations = generate::start(&state, &call.model, call.job).await.map_err(|error| call.rules.name(error))?;
    let notices = notices::of(&generations);
    let mut pieces = TextPieces::new(call.model.text.tokenizer.clone(), call.logprobs);
    for (idx, generation) in generations.iter().enumerate() {
        pieces.open(generation.prompt(), texts.as_ref().map(|texts| &texts[idx / n_choices]));
    }
    let updates = updates(generations, call.timeout);
    let tally = Tally::new(n_choices);
    let answer = match call.delivery {
        Delivery::Whole => whole(head, updates, pieces, Choosing { tally, n_choices, n_reported }).await?,
        Delivery::Stream(usage_chunk) => {
            let printer = ChunkPrinter { head, pieces, usage_chunk, tally };
            response(frames(updates, printer, state.options.keep_alive), sse::CONTENT_TYPE)
        }
    };
    Ok(notices::attach(answer, notices))
}

fn parse(state: &ServerState, body: Value) -> Result<Call, ApiError> {
    let mut fields = Fields::new("", body)?;
    let model = state.models.find(fields.string("model")?.as_deref())?;
    refused::check(&fields)?;
    let mut sampling = parameters::sampling(&mut fields, &model)?;
    let n_top = fields.integer("logprobs", 0..=N_TOP_LOGPROBS_MAX)?;
    let logprobs = if n_top.is_some() { Logprobs::Sent } else { Logprobs::Omitted };
    let echo = if fields.flag("echo")?.unwrap_or(false) { Echo::Sent } else { Echo::Omitted };
    let ignore_eos = fields.flag("ignore_eos")?;
    parameters::min_tokens(&mut fields, &ignore_eos)?;
    let delivery = parameters::delivery(&mut fields)?;
    let (n_reported, n_choices) = choices(&mut fields, delivery)?;
    let is_ranked = n_choices > n_reported;
    sampling.n_logprobs = n_top.and_then(|n_top| usize::try_from(n_top).ok()).or(is_ranked.then_some(0));
    let score_prompt = echo == Echo::Sent && logprobs == Logprobs::Sent;
    let (form, form_field) = rules::form(&mut fields)?;
    let rules = Rules { rules: AnswerRules { form, ..AnswerRules::default() }, form_field };
    let job = Job {
        prompts: prompts::prompts(&mut fields)?,
        n_choices,
        sampling,
        max_tokens: parameters::max_tokens(&mut fields, "max_tokens", 0)?.unwrap_or(MAX_TOKENS),
        stop: parameters::stop(&mut fields)?,
        scope: Scope { ignore_eos: ignore_eos.unwrap_or(false), score_prompt },
        rules: rules.rules.clone(),
        prediction: None,
    };
    let is_infill = job.prompts.iter().any(|prompt| matches!(prompt, Prompt::Infill { .. }));
    if is_infill && echo == Echo::Sent {
        return Err(ApiError::unsupported("echo", "it does not go with a suffix; leave one of them out"));
    }
    let timeout = parameters::timeout(&mut fields, state)?;
    Ok(Call { model, job, n_reported, delivery, logprobs, echo, timeout, rules })
}

/// How many choices are reported and how many are made per prompt.
fn choices(fields: &mut Fields, delivery: Delivery) -> Result<(usize, usize), ApiError> {
    let n = parameters::count(fields, "n")?.unwrap_or(1);
    let best_of = parameters::count(fields, "best_of")?.unwrap_or(n);
    if best_of < n {
        return Err(ApiError::invalid("best_of", format!("must be at least `n` ({n}), not {best_of}")));
    }
    if best_of > n && delivery != Delivery::Whole {
        let detail = "the best choices are known only at the end; leave out `stream`, or make it equal to `n`";
        return Err(ApiError::unsupported("best_of", detail));
    }
    Ok((n, best_of))
}

/// The text of each prompt, if it is sent back.
fn echo_texts(call: &Call) -> Option<Vec<String>> {
    let text = |prompt: &Prompt| match prompt {
        Prompt::Text(text) => text.clone(),
        Prompt::Tokens(tokens) => call.model.text.tokenizer.decode(tokens),
        Prompt::Infill { .. } | Prompt::Chat { .. } => String::new(),
    };
    (call.echo == Echo::Sent).then(|| call.job.prompts.iter().map(text).collect())
}

/// What becomes of the choices at the end.
struct Choosing {
    tally: Tally,
    n_choices: usize,
    n_reported: usize,
}

async fn whole(
    head: Head,
    mut updates: Updates,
    mut pieces: TextPieces,
    mut choosing: Choosing,
) -> Result<Response, ApiError> {
    let mut choices: Vec<TextChoice> = (0..pieces.n_choices()).map(|index| pieces.blank(index)).collect();
    let mut ranks = ranking::Ranks::new(choices.len());
    while let Some((choice_idx, update)) = updates.next().await {
        match &update {
            Update::Failed(error) => return Err(error.clone()),
            Update::Finish { usage, .. } => choosing.tally.add(choice_idx, usage),
            Update::Piece { scores, .. } => ranks.add(choice_idx, scores),
            Update::Prompt(_) => {}
        }
        choices[choice_idx].append(pieces.piece(choice_idx, update));
    }
    let choices = ranks.best(choices, choosing.n_choices, choosing.n_reported);
    let answer = Answer { head: &head, choices: &choices, usage: Some(Some(choosing.tally.usage())) };
    Ok(Json(answer).into_response())
}

/// Prints chunks.
struct ChunkPrinter {
    head: Head,
    pieces: TextPieces,
    usage_chunk: UsageChunk,
    tally: Tally,
}

impl Printer for ChunkPrinter {
    fn print(&mut self, choice_idx: usize, update: Update, frames: &mut Vec<u8>) {
        if let Update::Finish { usage, .. } = &update {
            self.tally.add(choice_idx, usage);
        }
        let choice = self.pieces.piece(choice_idx, update);
        let usage = (self.usage_chunk == UsageChunk::Sent).then_some(None);
        sse::data(&Answer { head: &self.head, choices: &[choice], usage }, frames);
    }

    fn end(&mut self, frames: &mut Vec<u8>) {
        if self.usage_chunk == UsageChunk::Sent {
            let answer = Answer::<TextChoice> { head: &self.head, choices: &[], usage: Some(Some(self.tally.usage())) };
            sse::data(&answer, frames);
        }
        stream::done(frames);
    }

    fn fail(&mut self, error: &ApiError, frames: &mut Vec<u8>) {
        stream::failed(error, frames);
    }

    fn keep_alive(&mut self, frames: &mut Vec<u8>) {
        frames.extend_from_slice(sse::COMMENT);
    }
}
