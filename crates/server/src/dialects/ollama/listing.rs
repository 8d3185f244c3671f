//! What is served: `/api/tags`, `/api/ps`, `/api/show`, `/api/version`.

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

use super::error::Failure;
use super::options;
use crate::body::read_body;
use crate::control::Model;
use crate::fields::Fields;
use crate::{ServedModel, ServerState, hash};

/// The version of Ollama's API that is spoken here: clients turn away from servers that seem too old.
const API_VERSION: &str = "0.13.5";
/// A loaded model does not expire.
const EXPIRY: &str = "2300-01-01T00:00:00Z";
/// Stands for a time that is not known.
const EPOCH: &str = "1970-01-01T00:00:00Z";

/// All served models, then those that a call may name to have them loaded.
pub async fn tags(State(state): State<ServerState>) -> Response {
    let mut models: Vec<Value> = state.models.all().iter().map(|model| entry(model)).collect();
    models.extend(state.unloaded_models().await.iter().map(unloaded));
    Json(json!({ "models": models })).into_response()
}

/// All loaded models, which are the served ones.
pub async fn running(State(state): State<ServerState>) -> Response {
    let running = |model: &ServedModel| {
        let mut entry = entry(model);
        entry["expires_at"] = json!(EXPIRY);
        entry["size_vram"] = json!(model.engine.stats().memory_bytes);
        entry["context_length"] = json!(model.engine.info().n_context);
        entry
    };
    let models: Vec<Value> = state.models.all().iter().map(|model| running(model)).collect();
    Json(json!({ "models": models })).into_response()
}

/// One model in detail.
pub async fn show(State(state): State<ServerState>, request: Request) -> Result<Response, Failure> {
    let mut fields = Fields::new("", read_body(&state, request).await?)?;
    let name = options::name(&mut fields)?;
    let model = match options::find(&state, &name) {
        Ok(model) => model,
        Err(error) => {
            let known = state.unloaded_model(&name).await;
            let known = match (known, options::bare(&name)) {
                (None, Some(bare)) => state.unloaded_model(bare).await,
                (known, _) => known,
            };
            return Ok(Json(shown_unloaded(&known.ok_or(error)?)).into_response());
        }
    };
    let family = model.about.family.clone();
    let mut info = Map::new();
    info.insert("general.architecture".to_owned(), json!(family));
    info.insert("general.basename".to_owned(), json!(model.id));
    if let Some(n) = model.about.n_parameters {
        info.insert("general.parameter_count".to_owned(), json!(n));
    }
    info.insert(format!("{family}.context_length"), json!(model.engine.info().n_context));
    let shown = json!({
        "modelfile": format!("FROM {}\n", model.id),
        "parameters": parameters(&model),
        "template": "",
        "details": details(&model),
        "model_info": info,
        "capabilities": model.capabilities(),
        "modified_at": model.created.to_string(),
    });
    Ok(Json(shown).into_response())
}

/// What is known of a model that is not in memory.
fn shown_unloaded(model: &Model) -> Value {
    let family = model.family.clone().unwrap_or_default();
    let mut info = Map::new();
    info.insert("general.architecture".to_owned(), json!(family));
    info.insert("general.basename".to_owned(), json!(model.id));
    if let Some(n) = model.n_params {
        info.insert("general.parameter_count".to_owned(), json!(n));
    }
    if let Some(n) = model.n_context {
        info.insert(format!("{family}.context_length"), json!(n));
    }
    let own = model.capabilities.iter().map(String::as_str);
    let capabilities: Vec<&str> = std::iter::once("completion").chain(own).collect();
    json!({
        "modelfile": format!("FROM {}\n", model.id),
        "parameters": "",
        "template": "",
        "details": details_unloaded(model),
        "model_info": info,
        "capabilities": capabilities,
        "modified_at": EPOCH,
    })
}

/// The version of the API, not of this server.
pub async fn version() -> Response {
    Json(json!({ "version": API_VERSION })).into_response()
}

fn entry(model: &ServedModel) -> Value {
    json!({
        "name": model.id,
        "model": model.id,
        "modified_at": model.created.to_string(),
        "size": model.about.n_bytes,
        "digest": model.digest(),
        "details": details(model),
    })
}

/// A model that is on this machine and not in memory. Its digest tells it apart by where it lies.
fn unloaded(model: &Model) -> Value {
    let place = model.disk.path.as_deref().unwrap_or_default();
    json!({
        "name": model.id,
        "model": model.id,
        "modified_at": EPOCH,
        "size": model.size_bytes.unwrap_or(model.disk.n_bytes),
        "digest": hash::hex(format!("{} {place}", model.id).as_bytes()),
        "details": details_unloaded(model),
    })
}

fn details_unloaded(model: &Model) -> Value {
    let family = model.family.clone().unwrap_or_default();
    json!({
        "parent_model": "",
        "format": model.disk.form,
        "family": family,
        "families": [family],
        "parameter_size": model.n_params.map(size).unwrap_or_default(),
        "quantization_level": model.quantization.clone().unwrap_or_default(),
    })
}

fn details(model: &ServedModel) -> Value {
    let about = &model.about;
    json!({
        "parent_model": "",
        "format": about.format,
        "family": about.family,
        "families": [about.family],
        "parameter_size": about.n_parameters.map(size).unwrap_or_default(),
        "quantization_level": about.quantization.clone().unwrap_or_default(),
    })
}

/// `135M`, `7.6B`.
fn size(n_parameters: u64) -> String {
    let n = n_parameters as f64;
    if n >= 1e9 { format!("{:.1}B", n / 1e9) } else { format!("{:.0}M", n / 1e6) }
}

fn parameters(model: &ServedModel) -> String {
    let own = &model.defaults;
    let rows = [
        ("temperature", own.temperature.to_string()),
        ("top_p", own.top_p.to_string()),
        ("top_k", own.top_k.to_string()),
        ("min_p", own.min_p.to_string()),
        ("repeat_penalty", own.repetition_penalty.to_string()),
        ("num_predict", own.max_tokens.to_string()),
    ];
    rows.map(|(name, value)| format!("{name:<30} {value}")).join("\n")
}
