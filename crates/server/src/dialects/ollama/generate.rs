//! `POST /api/generate`.

use axum::extract::{Request, State};
use axum::response::Response;
use serde_json::{Map, Value};
use tokbar_chat::{Message, Prompt, Role};
use tokio::time::Instant;

use super::answer::{Head, Shape};
use super::error::Failure;
use super::printer::{self, Call, Delivery};
use super::{messages, options};
use crate::body::read_json;
use crate::fields::Fields;
use crate::{ApiError, ServedModel, ServerState};

/// Answers or continues a text, line by line unless told otherwise.
pub async fn create(State(state): State<ServerState>, request: Request) -> Result<Response, Failure> {
    let started = Instant::now();
    let body = read_json(&state, request).await?;
    let call = parse(&state, body)?;
    let head = Head { shape: Shape::Generate, model: call.model.id.clone(), now: state.options.now, started };
    Ok(printer::answer(&state, call, head).await?)
}

fn parse(state: &ServerState, body: Value) -> Result<Call, ApiError> {
    let mut fields = Fields::new("", body)?;
    let model = options::model(state, &mut fields)?;
    options::refuse(&mut fields)?;
    messages::no_images(&mut fields)?;
    if fields.string("template")?.is_some_and(|template| !template.is_empty()) {
        let detail = "the model's own chat template is used; leave it out, or send raw: true with a whole prompt";
        return Err(ApiError::unsupported("template", detail));
    }
    if fields.list("context")?.is_some_and(|tokens| !tokens.is_empty()) {
        return Err(ApiError::unsupported("context", "use /api/chat with the earlier messages instead"));
    }
    let text = fields.string("prompt")?.unwrap_or_default();
    let suffix = fields.string("suffix")?.filter(|suffix| !suffix.is_empty());
    let is_empty = text.is_empty() && suffix.is_none();
    options::keep_alive(&mut fields, &|| is_empty)?;
    let kwargs = options::thinking(&model, &mut fields)?;
    let system = fields.string("system")?.filter(|system| !system.is_empty());
    let is_raw = fields.flag("raw")?.unwrap_or(false);
    let is_stream = fields.flag("stream")?.unwrap_or(true);
    let form = options::form(&mut fields)?;
    let options = options::options(&model, &mut fields)?;
    let prompt = match (is_empty, suffix, is_raw) {
        (true, _, _) => None,
        (false, Some(suffix), _) => Some(Prompt::Infill { prefix: text, suffix }),
        (false, None, true) => Some(Prompt::Text(text)),
        (false, None, false) => Some(question(&model, text, system, kwargs)?),
    };
    Ok(Call { model, prompt, form, options, delivery: if is_stream { Delivery::Stream } else { Delivery::Whole } })
}

/// Base models have no chat template: they go on with the text.
fn question(
    model: &ServedModel,
    text: String,
    system: Option<String>,
    template_kwargs: Map<String, Value>,
) -> Result<Prompt, ApiError> {
    if model.text.template.is_some() {
        let system = system.map(|system| Message::new(Role::System, system));
        let messages = system.into_iter().chain([Message::new(Role::User, text)]).collect();
        return Ok(Prompt::Chat { messages, tools: Vec::new(), template_kwargs });
    }
    match system {
        None => Ok(Prompt::Text(text)),
        Some(_) => {
            let detail = "this checkpoint has no chat template, so it knows no system message; put it into the prompt";
            Err(ApiError::unsupported("system", detail))
        }
    }
}
