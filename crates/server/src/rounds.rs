//! Calls of the server's own tools: made here, their results given back to the model, until it answers. Bounded in rounds,
//! in time and in bytes. Clients see the text of all rounds as one answer, and no calls but those of their own tools.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::http::HeaderMap;
use serde_json::{Value, json};
use tokbar_chat::{CallCount, Event, FinishReason, Message, Prompt, Role, ToolCall, ToolChoice};

use crate::control::Toolbox;
use crate::generate::{self, Job};
use crate::generation::{Generation, Update};
use crate::running::CallerInfo;
use crate::{ApiError, ServedModel, ServerState};

/// Under which a call says whose tools it wants: names with commas between them, or `*`.
pub const HEADER: &str = "x-tokbar-tools";
/// Most rounds of calls before the model must answer with what it has.
const N_ROUNDS_MAX: usize = 8;
/// Longest time of one call, a person's word included.
const PATIENCE: Duration = Duration::from_secs(180);
/// Most bytes of a result that the model reads.
const N_RESULT_BYTES_MAX: usize = 64 << 10;
/// Most bytes of all results of an answer.
const N_RESULTS_BYTES_MAX: usize = 256 << 10;

tokio::task_local! {
    static WISH: Option<String>;
}

/// Answers a call under the wish of its headers.
pub async fn scope<T>(headers: &HeaderMap, work: impl Future<Output = T>) -> T {
    let wish = headers.get(HEADER).map(|value| value.to_str().unwrap_or("?").to_owned());
    WISH.scope(wish, work).await
}

/// Whether the current call wishes for tools of the server's own.
pub fn is_wished() -> bool {
    WISH.try_with(Option::is_some).unwrap_or(false)
}

/// What comes after a round.
pub type Next = Pin<Box<dyn Future<Output = Result<Generation, ApiError>> + Send>>;

/// What a sequence needs to go on after calls.
pub struct Rounds {
    state: ServerState,
    model: Arc<ServedModel>,
    /// With one conversation, which grows.
    job: Job,
    toolbox: Arc<dyn Toolbox>,
    own: BTreeSet<String>,
    caller: CallerInfo,
    n_left: usize,
    n_result_bytes_left: usize,
    n_output: usize,
    said: Said,
}

/// What the model said in this round.
#[derive(Default)]
struct Said {
    text: String,
    reasoning: String,
    /// Calls of our tools, their arguments as they were written.
    calls: Vec<(usize, ToolCall, String)>,
}

/// The rounds of a job whose call wishes for our tools, which are added to its own.
///
/// # Errors
/// When there are no such tools, or the job is none that can go on.
pub async fn wanted(state: &ServerState, model: &Arc<ServedModel>, job: &mut Job) -> Result<Option<Rounds>, ApiError> {
    let Some(wish) = WISH.try_with(Clone::clone).ok().flatten() else { return Ok(None) };
    let refuse = |detail: &str| Err(ApiError::invalid(HEADER, detail));
    let Some(toolbox) = state.parts.toolbox.clone() else {
        return refuse("names tools, but this server has none; start it with --mcp-config");
    };
    let ([Prompt::Chat { tools, .. }], 1) = (&mut job.prompts[..], job.n_choices) else {
        return refuse("goes with one conversation and one answer");
    };
    let offered = toolbox.tools(&wish).await?;
    if let Some(both) = offered.iter().find(|own| tools.iter().any(|tool| tool.name == own.name)) {
        return refuse(&format!("offers `{}`, which the call has too; leave one out", both.name));
    }
    let own = offered.iter().map(|tool| tool.name.clone()).collect();
    tools.extend(offered);
    // Calls of ours and of the client's in one breath could not both be answered.
    job.rules.calls = CallCount::One;
    Ok(Some(Rounds {
        state: state.clone(),
        model: model.clone(),
        job: job.clone(),
        toolbox,
        own,
        caller: CallerInfo::current(),
        n_left: N_ROUNDS_MAX,
        n_result_bytes_left: N_RESULTS_BYTES_MAX,
        n_output: 0,
        said: Said::default(),
    }))
}

impl Rounds {
    /// Takes note of an event; whether the client sees it.
    pub fn see(&mut self, event: &Event) -> bool {
        let said = &mut self.said;
        match event {
            Event::Text(text) => said.text.push_str(text),
            Event::Reasoning(text) => said.reasoning.push_str(text),
            Event::ToolStart { index, id, name } if self.own.contains(name) => {
                let call = ToolCall { id: id.clone(), name: name.clone(), arguments: Value::Null };
                said.calls.push((*index, call, String::new()));
                return false;
            }
            Event::ToolArgs { index, json } => {
                if let Some((_, _, arguments)) = said.calls.iter_mut().find(|(own, ..)| own == index) {
                    arguments.push_str(json);
                    return false;
                }
            }
            Event::ToolEnd { index } => return !said.calls.iter().any(|(own, ..)| own == index),
            Event::ToolStart { .. } | Event::Finish(_) => {}
        }
        true
    }

    /// Makes the calls of this round and starts the next; or gives the last update back, with the counts of all rounds.
    pub fn go_on(mut self: Box<Self>, update: Update) -> Result<Next, Update> {
        let Update::Finish { reason, mut usage, stop_string } = update else { return Err(update) };
        self.n_output += usage.n_output;
        if reason == FinishReason::ToolCalls && !self.said.calls.is_empty() {
            let caller = self.caller.clone();
            return Ok(Box::pin(caller.scope(self.next())));
        }
        usage.n_output = self.n_output;
        Err(Update::Finish { reason, usage, stop_string })
    }

    async fn next(mut self: Box<Self>) -> Result<Generation, ApiError> {
        let said = std::mem::take(&mut self.said);
        let calls: Vec<ToolCall> = said.calls.into_iter().map(|(_, call, text)| with_arguments(call, &text)).collect();
        let mut turn = Message::new(Role::Assistant, said.text.trim_end().to_owned());
        turn.reasoning = Some(said.reasoning).filter(|text| !text.is_empty());
        turn.tool_calls.clone_from(&calls);
        let mut turns = vec![turn];
        for call in calls {
            let (id, name) = (call.id.clone(), call.name.clone());
            let result = self.result(call).await;
            let mut turn = Message::new(Role::Tool, result);
            (turn.tool_call_id, turn.name) = (Some(id), Some(name));
            turns.push(turn);
        }
        self.n_left -= 1;
        if let [Prompt::Chat { messages, tools, .. }] = &mut self.job.prompts[..] {
            messages.extend(turns);
            // The first call may have been demanded; what follows is up to the model, and ends in words.
            self.job.rules.tool_choice = ToolChoice::Auto;
            if self.n_left == 0 || self.n_result_bytes_left == 0 {
                tools.retain(|tool| !self.own.contains(&tool.name));
            }
        }
        let (state, model, job) = (self.state.clone(), self.model.clone(), self.job.clone());
        generate::go_on(&state, &model, (job, self)).await
    }

    /// What a call gives, cut to what may be read.
    async fn result(&mut self, call: ToolCall) -> String {
        let name = call.name.clone();
        let result = match tokio::time::timeout(PATIENCE, self.toolbox.call(call)).await {
            Ok(Ok(text)) => text,
            Ok(Err(error)) => format!("Error: {error}"),
            Err(_) => format!("Error: {name} gave no result within {} seconds.", PATIENCE.as_secs()),
        };
        let n_max = N_RESULT_BYTES_MAX.min(self.n_result_bytes_left);
        let end = (0..=n_max.min(result.len())).rev().find(|at| result.is_char_boundary(*at)).unwrap_or(0);
        self.n_result_bytes_left -= end;
        if end < result.len() {
            format!("{}\n[cut off: {} bytes in all]", &result[..end], result.len())
        } else {
            result
        }
    }
}

/// Arguments that are no object, which only a damaged output has, go to the tool as they are, for it to refuse.
fn with_arguments(call: ToolCall, text: &str) -> ToolCall {
    let arguments = serde_json::from_str(text).unwrap_or_else(|_| json!({ "arguments": text }));
    ToolCall { arguments, ..call }
}
