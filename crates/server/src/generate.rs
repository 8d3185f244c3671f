//! From a neutral job to running sequences: render, tokenize, check the length, submit.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use tokbar_chat::{AnswerRules, OutputOptions, OutputReader, Prompt, PromptError, Specials, StopStrings, Tool};
use tokbar_engine::{Request, SamplingError, SamplingOptions, SubmitError, TokenId};

use crate::generation::Generation;
use crate::rounds::{self, Rounds};
use crate::{ApiError, ServedModel, ServerState, constraint};

/// Most message ends that the engine is told of.
const N_BOUNDARIES_MAX: usize = 32;

/// What a call asks for, in no vendor's words.
#[derive(Clone, Debug)]
pub struct Job {
    /// Each is continued on its own.
    pub prompts: Vec<Prompt>,
    /// Continuations of each prompt; the `i`-th draws from the seed plus `i`.
    pub n_choices: usize,
    /// How tokens are chosen.
    pub sampling: SamplingOptions,
    /// Most tokens of each continuation; cut to what the context holds.
    pub max_tokens: usize,
    /// End a continuation, and are no part of it.
    pub stop: StopStrings,
    /// Which tokens are reported and which end the output.
    pub scope: Scope,
    /// What each continuation must look like.
    pub rules: AnswerRules,
    /// Text that the continuations may repeat; it makes them faster where they do.
    pub prediction: Option<String>,
}

/// Which tokens are reported and which end the output.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scope {
    /// Go on past EOS.
    pub ignore_eos: bool,
    /// Report the log-probabilities of the prompt's tokens.
    pub score_prompt: bool,
}

/// Starts all sequences of a job: those of the first prompt, then of the second, and so on. Dropping one cancels it.
///
/// # Errors
/// When a prompt cannot be made or is too long, when an option is out of range, or when the queue is full; nothing runs
/// then.
pub async fn start(state: &ServerState, model: &Arc<ServedModel>, job: Job) -> Result<Vec<Generation>, ApiError> {
    let mut job = job;
    let rounds = rounds::wanted(state, model, &mut job).await?;
    let mut generations = submit(state, model, job).await?;
    if let (Some(rounds), [generation]) = (rounds, &mut generations[..]) {
        generation.go_on_with(Box::new(rounds));
    }
    Ok(generations)
}

/// Starts the next round of a job that calls tools.
///
/// # Errors
/// As [`start`].
pub async fn go_on(
    state: &ServerState,
    model: &Arc<ServedModel>,
    (job, rounds): (Job, Box<Rounds>),
) -> Result<Generation, ApiError> {
    let mut generation = submit(state, model, job).await?.pop().ok_or(ApiError::Stopping)?;
    generation.go_on_with(rounds);
    Ok(generation)
}

async fn submit(state: &ServerState, model: &Arc<ServedModel>, job: Job) -> Result<Vec<Generation>, ApiError> {
    let n_sequences = job.prompts.len().saturating_mul(job.n_choices);
    let n_max = state.options.n_sequences_max;
    if n_sequences > n_max {
        let detail =
            format!("asks for {n_sequences} sequences with all prompts, but a call may have {n_max}; send less");
        return Err(ApiError::invalid("n", detail));
    }
    let mut job = job;
    let tools = match job.prompts.first() {
        Some(Prompt::Chat { tools, .. }) => Some(tools.clone()),
        _ => None,
    };
    let prompts = tokenize(state, model, std::mem::take(&mut job.prompts)).await?;
    let prediction = tokenize_prediction(state, model, job.prediction.take()).await?;
    if tools.is_some() && prompts.iter().any(Vec::is_empty) {
        let detail =
            "the chat template wrote nothing for this conversation; check its messages and chat_template_kwargs";
        return Err(ApiError::Prompt { detail: detail.to_owned() });
    }
    for prompt in &prompts {
        check_length(model, prompt.len(), job.max_tokens)?;
    }
    let mut guided = Vec::with_capacity(prompts.len());
    for prompt in prompts {
        let guidance = constraint::guidance(state, model, &job, (&prompt, tools.as_deref())).await?;
        guided.push((Arc::<[TokenId]>::from(prompt), guidance));
    }
    let mut generations = Vec::with_capacity(n_sequences);
    let call = state.running.begin(&model.id);
    for (prompt, guidance) in guided {
        for choice_idx in 0..job.n_choices {
            let mut request = request(model, &job, &prompt, choice_idx as u64);
            let (mask, curtailed) = constraint::mask(&guidance, request.max_tokens);
            request.mask = mask;
            request.prediction = prediction.clone();
            let outputs = model.engine.submit(request).map_err(|error| refusal(state, error))?;
            let reader = reader(model, job.stop.clone(), &prompt, tools.as_deref()).with_calls(job.rules.calls);
            let generation =
                Generation::new((outputs, call.ticket(prompt.len())), prompt.clone(), reader, ends(model, &job));
            generations.push(generation.with_notices(guidance.notices.clone()).with_curtailed(curtailed));
        }
    }
    Ok(generations)
}

/// Tokens of a prompt, which runs nowhere.
///
/// # Errors
/// When it cannot be made.
pub async fn count(state: &ServerState, model: &Arc<ServedModel>, prompt: Prompt) -> Result<usize, ApiError> {
    let tokens = tokenize(state, model, vec![prompt]).await?;
    Ok(tokens.first().map_or(0, Vec::len))
}

/// Tokens of a prompt that would have to be computed, as far as that is known.
///
/// # Errors
/// When it cannot be made.
pub async fn uncached(state: &ServerState, model: &Arc<ServedModel>, prompt: Prompt) -> Result<usize, ApiError> {
    let tokens = tokenize(state, model, vec![prompt]).await?.pop().unwrap_or_default();
    let n_prompt = tokens.len();
    Ok(n_prompt.saturating_sub(model.engine.n_kept(tokens).await))
}

async fn tokenize(
    state: &ServerState,
    model: &Arc<ServedModel>,
    prompts: Vec<Prompt>,
) -> Result<Vec<Vec<TokenId>>, ApiError> {
    let (text, now) = (model.text.clone(), (state.options.now)());
    let work = move || {
        let tokens = |prompt: Prompt| text.prompt_tokens(&prompt, &now);
        prompts.into_iter().map(tokens).collect::<Result<_, _>>()
    };
    state.text_jobs.run(work).await?.map_err(prompt_refusal)
}

/// Tokens that the output may repeat, no more than the context holds.
async fn tokenize_prediction(
    state: &ServerState,
    model: &Arc<ServedModel>,
    prediction: Option<String>,
) -> Result<Vec<TokenId>, ApiError> {
    let Some(prediction) = prediction else { return Ok(Vec::new()) };
    let text = model.text.clone();
    let work = move || text.tokenizer.encode(&prediction, Specials::Omit);
    let tokens = state.text_jobs.run(work).await?;
    let mut tokens = tokens.map_err(|error| ApiError::invalid("prediction", format!("cannot be used: {error}")))?;
    tokens.truncate(model.engine.info().n_context);
    Ok(tokens)
}

fn prompt_refusal(error: PromptError) -> ApiError {
    match error {
        PromptError::NoFim => ApiError::unsupported("suffix", error.to_string()),
        PromptError::BadToken { .. } => ApiError::invalid("prompt", format!("cannot be used: {error}")),
        PromptError::NoTemplate | PromptError::Template(_) | PromptError::Tokenizer(_) => {
            ApiError::Prompt { detail: error.to_string() }
        }
    }
}

/// The prompt must leave room for one token, if one is wanted.
fn check_length(model: &ServedModel, n_prompt: usize, max_tokens: usize) -> Result<(), ApiError> {
    let n_context = model.engine.info().n_context;
    if n_prompt + max_tokens.min(1) > n_context { Err(ApiError::TooLong { n_prompt, n_context }) } else { Ok(()) }
}

fn request(model: &ServedModel, job: &Job, prompt: &[TokenId], choice_idx: u64) -> Request {
    let room = model.engine.info().n_context.saturating_sub(prompt.len());
    Request {
        prompt: prompt.to_vec(),
        sampling: SamplingOptions { seed: job.sampling.seed.wrapping_add(choice_idx), ..job.sampling.clone() },
        max_tokens: job.max_tokens.min(room),
        stop_tokens: ends(model, job),
        ignore_eos: job.scope.ignore_eos,
        score_prompt: job.scope.score_prompt,
        boundaries: boundaries(model, prompt),
        ..Request::default()
    }
}

/// Where messages end: after the tokens that end a turn. Of many, the last ones.
fn boundaries(model: &ServedModel, prompt: &[TokenId]) -> Vec<usize> {
    let ends = [model.engine.info().eos.as_slice(), model.text.tokenizer.eos()].concat();
    let after_end = |(idx, token): (usize, &TokenId)| ends.contains(token).then_some(idx + 1);
    let last: Vec<usize> = prompt.iter().enumerate().rev().filter_map(after_end).take(N_BOUNDARIES_MAX).collect();
    last.into_iter().rev().collect()
}

/// Answers are parsed for reasoning and for calls of `tools`; other continuations (`None`) are plain text.
fn reader(model: &ServedModel, stop: StopStrings, prompt: &[TokenId], tools: Option<&[Tool]>) -> OutputReader {
    let text = &model.text;
    let Some(tools) = tools else { return OutputReader::new(text.tokenizer.continuation(), None, stop) };
    // Calls of later turns and of other choices must not have the same ids.
    let id_seed = RandomState::new().hash_one(prompt.len());
    let prompt_tail = text.prompt_tail(prompt);
    let parser = text.output_parser(&OutputOptions { tools, prompt_tail: &prompt_tail, id_seed });
    OutputReader::new(text.chat_detokenizer(), Some(parser), stop)
}

/// Tokens that end the output and are not shown.
fn ends(model: &ServedModel, job: &Job) -> Vec<TokenId> {
    if job.scope.ignore_eos {
        return Vec::new();
    }
    let mut ends = model.engine.info().eos.clone();
    ends.extend(model.text.tokenizer.eos());
    ends.sort_unstable();
    ends.dedup();
    ends
}

fn refusal(state: &ServerState, error: SubmitError) -> ApiError {
    match error {
        SubmitError::QueueFull { .. } => ApiError::QueueFull { retry_after_s: state.options.retry_after_s },
        SubmitError::TooLong { n_prompt, n_context } => ApiError::TooLong { n_prompt, n_context },
        SubmitError::NeverFits { n_prompt, n_fit, .. } => ApiError::TooLong { n_prompt, n_context: n_fit },
        SubmitError::Sampling(SamplingError::OutOfRange { name, value, low, high }) => {
            ApiError::invalid(name, format!("must be between {low} and {high}, not {value}"))
        }
        SubmitError::Sampling(error @ SamplingError::LogitBias { .. }) => {
            ApiError::invalid("logit_bias", format!("cannot be used: {error}"))
        }
        SubmitError::Sampling(error @ SamplingError::TooManyLogprobs { .. }) => {
            ApiError::invalid("logprobs", format!("cannot be used: {error}"))
        }
        SubmitError::EmptyPrompt => ApiError::invalid("prompt", "has no tokens; send some text"),
        error @ SubmitError::BadToken { .. } => ApiError::invalid("prompt", format!("cannot be used: {error}")),
        SubmitError::Stopped { reason } => ApiError::EngineStopped { reason },
    }
}
