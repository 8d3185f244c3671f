//! A call of `/v1/messages`: wire to neutral. Fields in no list here (`metadata`, `service_tier`, `context_management`,
//! `cache_control`, beta headers, ...) label a call or tune the vendor's service, and are ignored.

use std::sync::Arc;

use serde_json::{Map, Value};
use tokbar_chat::{AnswerForm, AnswerRules, Message, Prompt, Role, StopStrings};
use tokbar_engine::SamplingOptions;

use super::{blocks, system, tools};
use crate::fields::Fields;
use crate::generate::{Job, Scope};
use crate::{ApiError, SamplingDefaults, ServedModel, ServerState};

/// Wishes that would need what is not built.
const REFUSED: [(&str, &str); 2] = [
    ("mcp_servers", "this server connects to no MCP servers; let the client connect and pass their tools"),
    ("container", "this server runs no code; let the client run it as a tool"),
];

/// How the answer travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// In one piece.
    Whole,
    /// As events.
    Stream,
}

/// A call, understood.
pub struct Call {
    /// Who answers.
    pub model: Arc<ServedModel>,
    /// What is asked.
    pub job: Job,
    /// How the answer travels.
    pub delivery: Delivery,
}

/// # Errors
/// Names the field at fault.
pub fn parse(state: &ServerState, body: Value) -> Result<Call, ApiError> {
    let mut fields = Fields::new("", body)?;
    let model = state.models.find(fields.string("model")?.as_deref())?;
    let max_tokens = fields.integer("max_tokens", 1..=i64::from(u32::MAX))?;
    let max_tokens = max_tokens.and_then(|n| usize::try_from(n).ok()).unwrap_or(model.defaults.max_tokens);
    let stop = StopStrings::new(fields.strings("stop_sequences")?)
        .map_err(|error| ApiError::invalid("stop_sequences", format!("cannot be used: {error}")))?;
    let is_stream = fields.flag("stream")?.unwrap_or(false);
    let sampling = sampling(&mut fields, &model.defaults)?;
    let (prompt, rules) = prompt(&mut fields)?;
    let scope = Scope::default();
    let job = Job { prompts: vec![prompt], n_choices: 1, sampling, max_tokens, stop, scope, rules, prediction: None };
    Ok(Call { model, job, delivery: if is_stream { Delivery::Stream } else { Delivery::Whole } })
}

/// The conversation with its tools and switches, which is all that counts for the number of input tokens, and what the
/// answer must look like.
///
/// # Errors
/// Names the field at fault.
pub fn prompt(fields: &mut Fields) -> Result<(Prompt, AnswerRules), ApiError> {
    for (name, advice) in REFUSED {
        let is_empty = |value: &Value| value.as_array().is_some_and(Vec::is_empty);
        if fields.peek(name).is_some_and(|value| !is_empty(value)) {
            return Err(ApiError::unsupported(name, advice));
        }
    }
    let mut messages = blocks::messages(fields)?;
    if let Some(system) = system::system(fields)? {
        messages.insert(0, Message::new(Role::System, system));
    }
    let (mut template_kwargs, thinking_budget) = thinking(fields)?;
    let form = output(fields, &mut template_kwargs)?;
    let (tools, tool_choice, calls) = tools::tools(fields)?;
    let rules = AnswerRules { form, tool_choice, calls, thinking_budget };
    Ok((Prompt::Chat { messages, tools, template_kwargs }, rules))
}

fn sampling(fields: &mut Fields, defaults: &SamplingDefaults) -> Result<SamplingOptions, ApiError> {
    let own = defaults.options();
    let top_k = fields.integer("top_k", 0..=i64::from(u32::MAX))?.and_then(|top_k| usize::try_from(top_k).ok());
    Ok(SamplingOptions {
        temperature: fields.number("temperature")?.unwrap_or(own.temperature),
        top_p: fields.number("top_p")?.unwrap_or(own.top_p),
        top_k: top_k.unwrap_or(own.top_k),
        ..own
    })
}

/// Thinking is off unless asked for, as at the vendor; templates without the switch do as they always do.
fn thinking(fields: &mut Fields) -> Result<(Map<String, Value>, Option<usize>), ApiError> {
    let mut budget = None;
    let thinks = match fields.object("thinking")? {
        None => false,
        Some(mut thinking) => match thinking.required_string("type")?.as_str() {
            "enabled" | "adaptive" => {
                budget = thinking.integer("budget_tokens", 1..=i64::from(u32::MAX))?;
                true
            }
            "disabled" => false,
            other => {
                let detail = format!("must be enabled, adaptive or disabled, not {other:?}");
                return Err(ApiError::invalid("thinking.type", detail));
            }
        },
    };
    let mut kwargs = Map::from_iter([("enable_thinking".to_owned(), Value::Bool(thinks))]);
    kwargs.extend(budget.map(|budget| ("thinking_budget".to_owned(), Value::from(budget))));
    Ok((kwargs, budget.and_then(|budget| usize::try_from(budget).ok())))
}

/// The form of the answer; the effort goes to the template.
fn output(fields: &mut Fields, kwargs: &mut Map<String, Value>) -> Result<Option<AnswerForm>, ApiError> {
    let older = fields.object("output_format")?;
    let Some(mut output) = fields.object("output_config")? else { return older.map(form).transpose() };
    if let Some(effort) = output.string("effort")? {
        kwargs.insert("reasoning_effort".to_owned(), Value::String(effort));
    }
    output.object("format")?.or(older).map(form).transpose()
}

fn form(mut format: Fields) -> Result<AnswerForm, ApiError> {
    match format.required_string("type")?.as_str() {
        "json_schema" => match format.take("schema") {
            Some(schema @ Value::Object(_)) => Ok(AnswerForm::JsonSchema(schema)),
            _ => Err(ApiError::invalid(format.path("schema"), "is required: a JSON schema (an object)")),
        },
        other => {
            let detail = format!("answers of type {other:?} cannot be had; use \"json_schema\"");
            Err(ApiError::unsupported(format.path("type"), detail))
        }
    }
}
