//! How single models are to be loaded, as this user decided: kept in a file, laid over what is usual.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Result;
use clap::ValueEnum;
use tokbar_chat::Detection;
use tokbar_server::control::ModelSettings;
use tokbar_server::{ApiError, Problem};

use crate::cli::{FormatArgs, KvBitsArg, ModelArgs, SpeculationArg};
use crate::parts::refusal;
use crate::{config_dir, json_file};

/// Models with settings of their own.
const N_MODELS_MAX: usize = 10_000;
/// Shorter contexts are of no use.
const N_CONTEXT_LEAST: u32 = 256;

fn place() -> Result<PathBuf> {
    Ok(config_dir::place()?.join("model-settings.json"))
}

fn all() -> Result<BTreeMap<String, ModelSettings>> {
    Ok(json_file::read(&place()?)?.unwrap_or_default())
}

/// Of one model; as usual where nobody decided.
///
/// # Errors
/// When the file is damaged.
pub fn of(id: &str) -> Result<ModelSettings> {
    Ok(all()?.remove(id).unwrap_or_default())
}

/// Decides for one model: `merged` is given what was decided before.
///
/// # Errors
/// `merged`'s; names the field whose value cannot be used; when the file is damaged, too many models have settings of their own,
/// or the disk refuses.
pub fn change(
    id: &str,
    merged: &dyn Fn(&ModelSettings) -> Result<ModelSettings, ApiError>,
) -> Result<ModelSettings, ApiError> {
    let path = place().map_err(refusal::machine)?;
    let _alone = json_file::Alone::with(&path).map_err(refusal::machine)?;
    let mut all = all().map_err(refusal::machine)?;
    let settings = merged(&all.remove(id).unwrap_or_default())?;
    check(&settings)?;
    if settings != ModelSettings::default() {
        if all.len() >= N_MODELS_MAX {
            let detail = format!("{N_MODELS_MAX} models have settings of their own already: set some back first");
            return Err(ApiError::wish(Problem::Busy, detail));
        }
        all.insert(id.to_owned(), settings.clone());
    }
    json_file::write(&path, &all).map_err(refusal::machine)?;
    Ok(settings)
}

/// Refuses values that nothing can be done with.
///
/// # Errors
/// Names the field.
pub fn check(settings: &ModelSettings) -> Result<(), ApiError> {
    if settings.kv_bits.is_some_and(|bits| kv_bits(bits).is_none()) {
        return Err(ApiError::invalid("kv_bits", "must be 4, 8 or null"));
    }
    if settings.max_rows.is_some_and(|n| !(1..=256).contains(&n)) {
        return Err(ApiError::invalid("max_rows", "must be between 1 and 256, or null"));
    }
    if settings.n_context.is_some_and(|n| n < N_CONTEXT_LEAST) {
        return Err(ApiError::invalid("n_context", format!("must be at least {N_CONTEXT_LEAST}, or null")));
    }
    if let Some(word) = settings.speculation.as_deref().filter(|word| speculation(word).is_none()) {
        return Err(ApiError::invalid("speculation", format!("must be auto, off, ngram, draft or null, not {word:?}")));
    }
    if settings.draft_model.as_deref().is_some_and(|name| name.is_empty() || name.len() > 4096) {
        return Err(ApiError::invalid("draft_model", "must name a model, or be null"));
    }
    let formats = |tools: Option<&str>, reasoning: Option<&str>| Detection::default().with_options(tools, reasoning);
    formats(settings.tool_format.as_deref(), None)
        .map_err(|error| ApiError::invalid("tool_format", format!("cannot be used: {error}")))?;
    formats(None, settings.reasoning_format.as_deref())
        .map_err(|error| ApiError::invalid("reasoning_format", format!("cannot be used: {error}")))?;
    Ok(())
}

/// Lays a model's own settings over how it would be loaded.
pub fn lay_over(args: &mut ModelArgs, own: &ModelSettings) {
    if let Some(n) = own.n_context {
        args.max_context = Some(n);
    }
    if let Some(bits) = own.kv_bits.and_then(kv_bits) {
        args.kv_bits = Some(bits);
    }
    if let Some(n) = own.max_rows {
        args.max_rows = n;
    }
    if let Some(from) = own.speculation.as_deref().and_then(speculation) {
        args.draft.speculation = from;
    }
    if own.draft_model.is_some() {
        args.draft.draft_model.clone_from(&own.draft_model);
    }
    let FormatArgs { tool_call_parser, reasoning_parser } = &mut args.format;
    if own.tool_format.is_some() {
        tool_call_parser.clone_from(&own.tool_format);
    }
    if own.reasoning_format.is_some() {
        reasoning_parser.clone_from(&own.reasoning_format);
    }
}

/// Bits of kept KV as the command line has them.
pub fn kv_bits(bits: u8) -> Option<KvBitsArg> {
    match bits {
        4 => Some(KvBitsArg::Four),
        8 => Some(KvBitsArg::Eight),
        _ => None,
    }
}

/// Where drafts come from, as the command line has it.
pub fn speculation(word: &str) -> Option<SpeculationArg> {
    SpeculationArg::from_str(word, false).ok()
}

#[cfg(test)]
#[path = "model_settings_tests.rs"]
mod tests;
