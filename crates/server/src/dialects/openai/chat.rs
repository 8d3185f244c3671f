//! `POST /v1/chat/completions`.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use futures::StreamExt;
use serde_json::{Map, Value};
use tokbar_chat::{AnswerRules, Prompt, Tokenizer, ToolChoice};

use super::error::Failure;
use super::parameters::{self, Delivery, UsageChunk};
use super::rules::{self, Rules};
use super::stream::{self, Tally};
use super::wire::{Answer, ChatChoice, ChatLogprobs, ChatMessage, ChunkChoice, Delta, Head, finish_reason};
use super::{events, logprobs, messages, refused};
use crate::body::read_json;
use crate::cloud::{self, Outcome};
use crate::control::CloudDialect;
use crate::fields::Fields;
use crate::generate::{self, Job, Scope};
use crate::generation::Update;
use crate::stream::{Printer, Updates, frames, response, updates};
use crate::{ApiError, ServedModel, ServerState, ids, notices, sse};

/// Most alternatives reported per token, as OpenAI has it.
const N_TOP_LOGPROBS_MAX: i64 = 20;

/// A call, understood.
struct Call {
    model: Arc<ServedModel>,
    job: Job,
    delivery: Delivery,
    logprobs: Logprobs,
    timeout: Option<Duration>,
    rules: Rules,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Logprobs {
    Sent,
    Omitted,
}

/// Answers a conversation, whole or as a stream.
pub async fn create(State(state): State<ServerState>, request: Request) -> Result<Response, Failure> {
    let headers = request.headers().clone();
    let mut body = read_json(&state, request).await?;
    let asked = cloud::asked(&state, CloudDialect::OpenAi, &headers, &mut body);
    let call = parse(&state, body)?;
    let stays = match cloud::offer(&state, asked, &call.model, call.job.prompts.first()).await? {
        Outcome::Routed(answer) => return Ok(*answer),
        Outcome::Stays(why) => why,
    };
    let n_choices = call.job.n_choices;
    let head = Head {
        id: ids::unique("chatcmpl-"),
        object: "chat.completion",
        created: (state.options.now)().timestamp().as_second(),
        model: call.model.id.clone(),
    };
    let generations = generate::start(&state, &call.model, call.job).await.map_err(|error| call.rules.name(error))?;
    let notices = notices::with(stays, &generations);
    let updates = updates(generations, call.timeout);
    let tokenizer = call.model.text.tokenizer.clone();
    let answer = match call.delivery {
        Delivery::Whole => {
            let logprobs = call.logprobs;
            whole(head, updates, Collector { tokenizer, logprobs, n_choices }).await?
        }
        Delivery::Stream(usage_chunk) => {
            let head = Head { object: "chat.completion.chunk", ..head };
            let printer = ChunkPrinter {
                head,
                tokenizer,
                logprobs: call.logprobs,
                usage_chunk,
                tally: Tally::new(n_choices),
                is_open: vec![false; n_choices],
            };
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
    let logprobs = logprobs_wanted(&mut fields, &mut sampling.n_logprobs)?;
    let ignore_eos = fields.flag("ignore_eos")?;
    parameters::min_tokens(&mut fields, &ignore_eos)?;
    let tools = messages::tools(&mut fields)?;
    let (tool_choice, calls) = rules::tool_choice(&mut fields, &tools)?;
    let (form, form_field) = rules::form(&mut fields)?;
    let is_shown = tool_choice != ToolChoice::None;
    let mut template_kwargs = template_kwargs(&mut fields)?;
    let thinking_budget = rules::thinking_budget(&mut fields, &mut template_kwargs)?;
    let rules = Rules { rules: AnswerRules { form, tool_choice, calls, thinking_budget }, form_field };
    let prompt = Prompt::Chat {
        messages: messages::messages(&mut fields)?,
        tools: if is_shown { tools } else { Vec::new() },
        template_kwargs,
    };
    let job = Job {
        prompts: vec![prompt],
        n_choices: parameters::count(&mut fields, "n")?.unwrap_or(1),
        sampling,
        max_tokens: max_tokens(&mut fields)?.unwrap_or(model.defaults.max_tokens),
        stop: parameters::stop(&mut fields)?,
        scope: Scope { ignore_eos: ignore_eos.unwrap_or(false), score_prompt: false },
        rules: rules.rules.clone(),
        prediction: parameters::prediction(&mut fields)?,
    };
    let timeout = parameters::timeout(&mut fields, state)?;
    Ok(Call { delivery: parameters::delivery(&mut fields)?, model, job, logprobs, timeout, rules })
}

/// The newer name wins.
fn max_tokens(fields: &mut Fields) -> Result<Option<usize>, ApiError> {
    let old = parameters::max_tokens(fields, "max_tokens", 1)?;
    let new = parameters::max_tokens(fields, "max_completion_tokens", 1)?;
    Ok(new.or(old))
}

fn logprobs_wanted(fields: &mut Fields, n_logprobs: &mut Option<usize>) -> Result<Logprobs, ApiError> {
    let is_wanted = fields.flag("logprobs")?.unwrap_or(false);
    let n_top = fields.integer("top_logprobs", 0..=N_TOP_LOGPROBS_MAX)?;
    match (is_wanted, n_top) {
        (true, n_top) => {
            *n_logprobs = n_top.map_or(Some(0), |n_top| usize::try_from(n_top).ok());
            Ok(Logprobs::Sent)
        }
        (false, None | Some(0)) => Ok(Logprobs::Omitted),
        (false, Some(_)) => Err(ApiError::invalid("top_logprobs", "needs `logprobs: true` beside it")),
    }
}

/// Switches of the template: `chat_template_kwargs`, and the two that clients send at the top level.
pub(super) fn template_kwargs(fields: &mut Fields) -> Result<Map<String, Value>, ApiError> {
    let mut kwargs = fields.object("chat_template_kwargs")?.map(Fields::into_map).unwrap_or_default();
    if let Some(effort) = fields.string("reasoning_effort")? {
        if effort == "none" {
            kwargs.entry("enable_thinking").or_insert(Value::Bool(false));
        }
        kwargs.entry("reasoning_effort").or_insert(Value::String(effort));
    }
    if let Some(enable) = fields.flag("enable_thinking")? {
        kwargs.insert("enable_thinking".to_owned(), Value::Bool(enable));
    }
    Ok(kwargs)
}

/// Gathers whole answers.
struct Collector {
    tokenizer: Arc<Tokenizer>,
    logprobs: Logprobs,
    n_choices: usize,
}

async fn whole(head: Head, mut updates: Updates, collector: Collector) -> Result<Response, ApiError> {
    let mut choices: Vec<ChatChoice> = (0..collector.n_choices).map(|index| collector.choice(index)).collect();
    let mut tally = Tally::new(collector.n_choices);
    while let Some((choice_idx, update)) = updates.next().await {
        let choice = &mut choices[choice_idx];
        match update {
            Update::Prompt(_) => {}
            Update::Piece { event, scores } => {
                if let Some(logprobs) = &mut choice.logprobs {
                    logprobs.content.extend(logprobs::chat(&collector.tokenizer, &scores));
                }
                events::add_event(&mut choice.message, event);
            }
            Update::Finish { reason, usage, .. } => {
                choice.finish_reason = finish_reason(&reason);
                choice.message.close();
                tally.add(choice_idx, &usage);
            }
            Update::Failed(error) => return Err(error),
        }
    }
    let answer = Answer { head: &head, choices: &choices, usage: Some(Some(tally.usage())) };
    Ok(Json(answer).into_response())
}

impl Collector {
    fn choice(&self, index: usize) -> ChatChoice {
        ChatChoice {
            index,
            message: ChatMessage::default(),
            logprobs: (self.logprobs == Logprobs::Sent).then(ChatLogprobs::default),
            finish_reason: "stop",
        }
    }
}

/// Prints chunks.
struct ChunkPrinter {
    head: Head,
    tokenizer: Arc<Tokenizer>,
    logprobs: Logprobs,
    usage_chunk: UsageChunk,
    tally: Tally,
    /// Per choice: its role is sent.
    is_open: Vec<bool>,
}

impl Printer for ChunkPrinter {
    fn print(&mut self, choice_idx: usize, update: Update, frames: &mut Vec<u8>) {
        self.open_choice(choice_idx, frames);
        let mut choice =
            ChunkChoice { index: choice_idx, delta: Delta::default(), logprobs: None, finish_reason: None };
        match update {
            Update::Piece { event, scores } => {
                let delta = events::delta(event);
                if delta.is_none() && scores.is_empty() {
                    return;
                }
                choice.delta = delta.unwrap_or_default();
                choice.logprobs = (self.logprobs == Logprobs::Sent)
                    .then(|| ChatLogprobs { content: logprobs::chat(&self.tokenizer, &scores), refusal: None });
            }
            Update::Finish { reason, usage, .. } => {
                choice.finish_reason = Some(finish_reason(&reason));
                self.tally.add(choice_idx, &usage);
            }
            Update::Prompt(_) | Update::Failed(_) => return,
        }
        self.chunk(choice, frames);
    }

    fn end(&mut self, frames: &mut Vec<u8>) {
        if self.usage_chunk == UsageChunk::Sent {
            let answer =
                Answer::<ChunkChoice> { head: &self.head, choices: &[], usage: Some(Some(self.tally.usage())) };
            sse::data(&answer, frames);
        }
        stream::done(frames);
    }

    fn fail(&mut self, error: &ApiError, frames: &mut Vec<u8>) {
        stream::failed(error, frames);
    }

    /// A comment does not reach clients that watch for chunks: a chunk that adds nothing does.
    fn keep_alive(&mut self, frames: &mut Vec<u8>) {
        if self.open_choice(0, frames) {
            return;
        }
        let delta = Delta { content: Some(String::new()), ..Delta::default() };
        self.chunk(ChunkChoice { index: 0, delta, logprobs: None, finish_reason: None }, frames);
    }
}

impl ChunkPrinter {
    /// Sends a choice's role, once; whether it did so now.
    fn open_choice(&mut self, index: usize, frames: &mut Vec<u8>) -> bool {
        if std::mem::replace(&mut self.is_open[index], true) {
            return false;
        }
        let delta = Delta { role: Some("assistant"), content: Some(String::new()), ..Delta::default() };
        self.chunk(ChunkChoice { index, delta, logprobs: None, finish_reason: None }, frames);
        true
    }

    fn chunk(&self, choice: ChunkChoice, frames: &mut Vec<u8>) {
        let usage = (self.usage_chunk == UsageChunk::Sent).then_some(None);
        sse::data(&Answer { head: &self.head, choices: &[choice], usage }, frames);
    }
}
