//! A call of `/v1/responses`: wire to neutral.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokbar_chat::{AnswerForm, AnswerRules, Message, Prompt, Role};

use super::input;
use super::not_kept;
use super::output::Reasoning;
use super::printer::Outline;
use super::tools::Tools;
use crate::dialects::openai::parameters::{self, Delivery};
use crate::dialects::openai::refused;
use crate::dialects::openai::rules;
use crate::fields::Fields;
use crate::generate::{Job, Scope};
use crate::guard::Caller;
use crate::{ApiError, ServedModel, ServerState, ids};

/// Parameters that are sent back as they came, with what they are when they did not come.
const ECHO: [(&str, &str); 16] = [
    ("instructions", "null"),
    ("max_output_tokens", "null"),
    ("max_tool_calls", "null"),
    ("metadata", "{}"),
    ("parallel_tool_calls", "true"),
    ("previous_response_id", "null"),
    ("prompt_cache_key", "null"),
    ("reasoning", "{\"effort\":null,\"summary\":null}"),
    ("safety_identifier", "null"),
    ("service_tier", "\"default\""),
    ("store", "true"),
    ("text", "{\"format\":{\"type\":\"text\"}}"),
    ("tool_choice", "\"auto\""),
    ("tools", "[]"),
    ("truncation", "\"disabled\""),
    ("user", "null"),
];

/// A call, understood.
pub struct Call {
    /// Who answers.
    pub model: Arc<ServedModel>,
    /// What is asked.
    pub job: Job,
    /// How the answer travels.
    pub delivery: Delivery,
    /// Longest time for the answer.
    pub timeout: Option<Duration>,
    /// What the response object says of the call.
    pub outline: Outline,
    /// What names of tools stand for.
    pub tools: Tools,
    /// How thoughts are written.
    pub reasoning: Reasoning,
    /// Whether the answer is kept.
    pub is_kept: bool,
    /// What was sent in this turn.
    pub input: Vec<Value>,
    /// The conversation up to the answer, without instructions.
    pub turns: Vec<Arc<[Message]>>,
}

/// # Errors
/// Names the field at fault.
pub fn parse(state: &ServerState, body: Value, caller: &Caller) -> Result<Call, ApiError> {
    let mut fields = Fields::new("", body)?;
    let model = state.models.find(fields.string("model")?.as_deref())?;
    check(&mut fields)?;
    let mut echo = echo(&fields);
    let sampling = parameters::sampling(&mut fields, &model)?;
    echo.insert("temperature".to_owned(), decimal(sampling.temperature));
    echo.insert("top_p".to_owned(), decimal(sampling.top_p));
    let mut tools = Tools::parse(&mut fields)?;
    let (tool_choice, calls) = tools.choose(&mut fields)?;
    let input = input::items(&mut fields)?;
    let turns = turns(state, &mut fields, (&input, caller))?;
    let (template_kwargs, thinking_budget) = template_kwargs(&mut fields)?;
    let rules = AnswerRules { form: form(&mut fields)?, tool_choice, calls, thinking_budget };
    let prompt = Prompt::Chat { messages: messages(&mut fields, &turns)?, tools: tools.shown.clone(), template_kwargs };
    let max_tokens = parameters::max_tokens(&mut fields, "max_output_tokens", 1)?;
    let job = Job {
        prompts: vec![prompt],
        n_choices: 1,
        sampling,
        max_tokens: max_tokens.unwrap_or(model.defaults.max_tokens),
        stop: parameters::stop(&mut fields)?,
        scope: Scope::default(),
        rules,
        prediction: None,
    };
    let outline = Outline {
        id: ids::unique("resp_"),
        created: (state.options.now)().timestamp().as_second(),
        model: model.id.clone(),
        echo,
    };
    let reasoning = reasoning(&mut fields)?;
    let is_kept = fields.flag("store")?.unwrap_or(true);
    let timeout = parameters::timeout(&mut fields, state)?;
    let delivery = parameters::delivery(&mut fields)?;
    Ok(Call { model, job, delivery, timeout, outline, tools, reasoning, is_kept, input, turns })
}

/// # Errors
/// Names what is not done.
fn check(fields: &mut Fields) -> Result<(), ApiError> {
    refused::check(fields)?;
    if fields.flag("background")?.unwrap_or(false) {
        let detail = "answers run only as long as their call does; leave it out and stream instead";
        return Err(ApiError::unsupported("background", detail));
    }
    for (name, advice) in [
        ("conversation", "conversations are not kept; use previous_response_id, or send all items"),
        ("prompt", "prompts are not kept here; send instructions and input"),
    ] {
        if fields.peek(name).is_some() {
            return Err(ApiError::unsupported(name, advice));
        }
    }
    if fields.integer("top_logprobs", 0..=i64::MAX)?.unwrap_or(0) > 0 {
        return Err(ApiError::unsupported("top_logprobs", "use /v1/chat/completions, which has them"));
    }
    Ok(())
}

fn echo(fields: &Fields) -> Map<String, Value> {
    let value = |(name, otherwise): (&str, &str)| {
        let otherwise = || serde_json::from_str(otherwise).unwrap_or(Value::Null);
        (name.to_owned(), fields.peek(name).cloned().unwrap_or_else(otherwise))
    };
    ECHO.into_iter().map(value).collect()
}

/// A number as it was sent, not as an `f32` holds it.
fn decimal(number: f32) -> Value {
    json!(number.to_string().parse::<f64>().unwrap_or(f64::from(number)))
}

/// The turns before this one, if it goes on from an answer that was kept, and this one.
fn turns(
    state: &ServerState,
    fields: &mut Fields,
    (input, caller): (&[Value], &Caller),
) -> Result<Vec<Arc<[Message]>>, ApiError> {
    let mut turns = match fields.string("previous_response_id")? {
        None => Vec::new(),
        Some(id) => state.kept.get(&id, caller).ok_or_else(|| not_kept(&id))?.turns.clone(),
    };
    let own = input::messages("input", input)?;
    if own.is_empty() && turns.is_empty() {
        return Err(ApiError::invalid("input", "is required: a string or an array of items"));
    }
    turns.push(own.into());
    Ok(turns)
}

fn messages(fields: &mut Fields, turns: &[Arc<[Message]>]) -> Result<Vec<Message>, ApiError> {
    let instructions = fields.string("instructions")?.filter(|text| !text.is_empty());
    let instructions = instructions.map(|text| Message::new(Role::System, text));
    Ok(instructions.into_iter().chain(turns.iter().flat_map(|turn| turn.iter().cloned())).collect())
}

fn form(fields: &mut Fields) -> Result<Option<AnswerForm>, ApiError> {
    let Some(mut text) = fields.object("text")? else { return Ok(None) };
    let Some(mut format) = text.object("format")? else { return Ok(None) };
    match format.required_string("type")?.as_str() {
        "text" => Ok(None),
        "json_object" => Ok(Some(AnswerForm::JsonObject)),
        "json_schema" => match format.take("schema") {
            Some(schema @ Value::Object(_)) => Ok(Some(AnswerForm::JsonSchema(schema))),
            _ => Err(ApiError::invalid("text.format.schema", "is required: a JSON schema (an object)")),
        },
        other => {
            let detail = format!("must be text, json_object or json_schema, not {other:?}");
            Err(ApiError::invalid("text.format.type", detail))
        }
    }
}

/// Switches of the template: `chat_template_kwargs`, and the effort; and the most tokens of thinking.
fn template_kwargs(fields: &mut Fields) -> Result<(Map<String, Value>, Option<usize>), ApiError> {
    let mut kwargs = fields.object("chat_template_kwargs")?.map(Fields::into_map).unwrap_or_default();
    let Some(mut reasoning) = fields.object("reasoning")? else { return Ok((kwargs, None)) };
    if let Some(effort) = reasoning.string("effort")? {
        if effort == "none" {
            kwargs.entry("enable_thinking").or_insert(Value::Bool(false));
        }
        kwargs.entry("reasoning_effort").or_insert(Value::String(effort));
    }
    let budget = rules::budgeted(reasoning.integer("max_tokens", -1..=i64::from(u32::MAX))?, &mut kwargs);
    Ok((kwargs, budget))
}

fn reasoning(fields: &mut Fields) -> Result<Reasoning, ApiError> {
    let includes = fields.strings("include")?;
    if includes.iter().any(|include| include == "message.output_text.logprobs") {
        return Err(ApiError::unsupported(
            "include",
            "log-probabilities come from /v1/chat/completions; leave them out",
        ));
    }
    let is_sealed = includes.iter().any(|include| include == "reasoning.encrypted_content");
    Ok(if is_sealed { Reasoning::Sealed } else { Reasoning::Plain })
}
