//! What an answer must look like: `response_format`, the extensions of other servers, `tool_choice`.

use serde_json::{Map, Value};
use tokbar_chat::{AnswerForm, AnswerRules, CallCount, Tool, ToolChoice};

use crate::fields::{Fields, must_be};
use crate::{ApiError, constraint, rounds};

/// The rules of a call, and the field that asks for the form.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// As every dialect has them.
    pub rules: AnswerRules,
    /// Where the form stands.
    pub form_field: String,
}

impl Rules {
    /// Names the field of a form's error as the client wrote it.
    pub fn name(&self, error: ApiError) -> ApiError {
        if self.form_field.is_empty() { error } else { constraint::named(error, &self.form_field) }
    }
}

/// The form of the answer. Of several fields that ask for one, all but the first are refused.
///
/// # Errors
/// Names the field at fault.
pub fn form(fields: &mut Fields) -> Result<(Option<AnswerForm>, String), ApiError> {
    let mut found: Option<(AnswerForm, String)> = None;
    let mut add = |form: Option<(AnswerForm, String)>| match (&found, form) {
        (_, None) => Ok(()),
        (None, form) => {
            found = form;
            Ok(())
        }
        (Some((_, first)), Some((_, second))) => {
            Err(ApiError::invalid(second, format!("asks for a form of the answer beside `{first}`; send one of them")))
        }
    };
    add(response_format(fields)?)?;
    if let Some(mut outputs) = fields.object("structured_outputs")? {
        for (name, kind) in
            [("json", Kind::Json), ("regex", Kind::Regex), ("choice", Kind::Choice), ("grammar", Kind::Lark)]
        {
            add(extension(&mut outputs, name, kind)?)?;
        }
    }
    for (name, kind) in [
        ("guided_json", Kind::Json),
        ("json_schema", Kind::Json),
        ("guided_regex", Kind::Regex),
        ("guided_choice", Kind::Choice),
        ("guided_grammar", Kind::Lark),
        ("grammar", Kind::Lark),
    ] {
        add(extension(fields, name, kind)?)?;
    }
    Ok(found.map_or((None, String::new()), |(form, field)| (Some(form), field)))
}

/// What an extension's field holds.
#[derive(Clone, Copy)]
enum Kind {
    /// A schema, perhaps as text.
    Json,
    Regex,
    Choice,
    Lark,
}

fn extension(fields: &mut Fields, name: &str, kind: Kind) -> Result<Option<(AnswerForm, String)>, ApiError> {
    let path = fields.path(name);
    let form = match kind {
        Kind::Json => match fields.take(name) {
            None => return Ok(None),
            Some(Value::String(text)) => match serde_json::from_str(&text) {
                Ok(schema) => Some(AnswerForm::JsonSchema(schema)),
                Err(error) => return Err(ApiError::invalid(path, format!("is no JSON: {error}"))),
            },
            Some(schema @ (Value::Object(_) | Value::Bool(_))) => Some(AnswerForm::JsonSchema(schema)),
            Some(other) => return Err(must_be(path, "a JSON schema (an object)", &other)),
        },
        Kind::Regex => fields.string(name)?.map(AnswerForm::Regex),
        Kind::Lark => fields.string(name)?.filter(|text| !text.is_empty()).map(AnswerForm::Lark),
        Kind::Choice => Some(fields.strings(name)?).filter(|texts| !texts.is_empty()).map(AnswerForm::OneOf),
    };
    Ok(form.map(|form| (form, path)))
}

fn response_format(fields: &mut Fields) -> Result<Option<(AnswerForm, String)>, ApiError> {
    let Some(mut format) = fields.object("response_format")? else { return Ok(None) };
    match format.required_string("type")?.as_str() {
        "text" => Ok(None),
        "json_object" => match format.take("schema") {
            // As llama.cpp and others take it.
            Some(schema) => Ok(Some((AnswerForm::JsonSchema(schema), format.path("schema")))),
            None => Ok(Some((AnswerForm::JsonObject, format.path("type")))),
        },
        "json_schema" => {
            let Some(mut inner) = format.object("json_schema")? else {
                return Err(ApiError::invalid(format.path("json_schema"), "is required and must be an object"));
            };
            let path = inner.path("schema");
            match inner.take("schema") {
                Some(schema) => Ok(Some((AnswerForm::JsonSchema(schema), path))),
                None => Err(ApiError::invalid(path, "is required and must be a JSON schema")),
            }
        }
        "regex" => Ok(Some((AnswerForm::Regex(format.required_string("pattern")?), format.path("pattern")))),
        "grammar" => Ok(Some((AnswerForm::Lark(format.required_string("grammar")?), format.path("grammar")))),
        other => {
            let detail = format!("must be text, json_object, json_schema, regex or grammar, not {other:?}");
            Err(ApiError::invalid(format.path("type"), detail))
        }
    }
}

/// Names of the most tokens of thinking, as servers have them.
const THINKING_BUDGETS: [&str; 3] = ["thinking_budget", "thinking_token_budget", "reasoning_max_tokens"];

/// Most tokens of thinking; -1 means any number. Templates that tell the model of it are told, and with none at all,
/// thinking is switched off where it can be.
///
/// # Errors
/// When it is no whole number from -1 on.
pub fn thinking_budget(fields: &mut Fields, kwargs: &mut Map<String, Value>) -> Result<Option<usize>, ApiError> {
    let mut budget = None;
    for name in THINKING_BUDGETS {
        budget = budget.or(fields.integer(name, -1..=i64::from(u32::MAX))?);
    }
    Ok(budgeted(budget, kwargs))
}

/// Tells the template of a budget of thinking.
pub fn budgeted(budget: Option<i64>, kwargs: &mut Map<String, Value>) -> Option<usize> {
    let budget = usize::try_from(budget?).ok()?;
    kwargs.entry("thinking_budget").or_insert(Value::from(budget));
    if budget == 0 {
        kwargs.entry("enable_thinking").or_insert(Value::Bool(false));
    }
    Some(budget)
}

/// Whether tools must be called, and how many times.
///
/// # Errors
/// Names the field at fault, or a tool that is not declared.
pub fn tool_choice(fields: &mut Fields, tools: &[Tool]) -> Result<(ToolChoice, CallCount), ApiError> {
    let is_one = fields.flag("parallel_tool_calls")? == Some(false);
    let count = if is_one { CallCount::One } else { CallCount::Many };
    let path = fields.path("tool_choice");
    let choice = match fields.take("tool_choice") {
        None => ToolChoice::Auto,
        Some(Value::String(word)) => match word.as_str() {
            "auto" => ToolChoice::Auto,
            "none" => ToolChoice::None,
            "required" | "any" => ToolChoice::Required,
            other => {
                let detail = format!("must be auto, none, required or a function of the tools, not {other:?}");
                return Err(ApiError::invalid(path, detail));
            }
        },
        Some(other) => named(Fields::new(path.clone(), other)?)?,
    };
    let must_call = matches!(choice, ToolChoice::Required | ToolChoice::Named(_));
    if rounds::is_wished() {
        // Tools of the server's own are not known yet; what the model is held to names those that are missing.
        return Ok((choice, count));
    }
    if must_call && tools.is_empty() {
        return Err(ApiError::invalid(path, "asks for a call, but there are no tools"));
    }
    if let ToolChoice::Named(name) = &choice
        && !tools.iter().any(|tool| tool.name == *name)
    {
        return Err(ApiError::invalid(path, format!("names the function {name:?}, which is none of the tools")));
    }
    Ok((choice, count))
}

fn named(mut choice: Fields) -> Result<ToolChoice, ApiError> {
    match choice.string("type")?.as_deref() {
        None | Some("function") => {}
        Some(other) => {
            let detail = format!("must be \"function\", not {other:?}");
            return Err(ApiError::unsupported(choice.path("type"), detail));
        }
    }
    let name = match choice.object("function")? {
        Some(mut function) => function.required_string("name")?,
        None => choice.required_string("name")?,
    };
    Ok(ToolChoice::Named(name))
}
