//! The draft model: where it is, and whether it speaks the model's tokens.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use tokbar_chat::{TextModel, Tokenizer};

use crate::cli::{ModelArgs, SpeculationArg};
use crate::sources;

/// Part of a vocabulary by which one of the same tokenizer may be longer: tokens added for another use.
const ADDED_PART_MAX: f64 = 0.02;

/// The draft model's folder, if one is asked for.
///
/// # Errors
/// When it cannot be found, its tokenizer is another, or it would not be used.
pub fn folder(args: &ModelArgs, text: &TextModel) -> Result<Option<PathBuf>> {
    let speculation = args.draft.speculation;
    let Some(model) = &args.draft.draft_model else {
        if speculation == SpeculationArg::Draft {
            bail!("--speculation draft needs --draft-model; name one, or use --speculation auto");
        }
        return Ok(None);
    };
    if matches!(speculation, SpeculationArg::Off | SpeculationArg::Ngram) {
        bail!("--draft-model is not used with this --speculation; leave one of them out");
    }
    let source = sources::folder(model)?;
    let draft = TextModel::load(&source.dir).with_context(|| format!("cannot draft with {model}"))?;
    if let Some(difference) = difference(&text.tokenizer, &draft.tokenizer) {
        bail!("{model} cannot draft for {}: {difference}; pick a model with the same tokenizer", args.model);
    }
    Ok(Some(source.dir))
}

/// How two vocabularies differ, if they do.
fn difference(own: &Tokenizer, draft: &Tokenizer) -> Option<String> {
    let (n_own, n_draft) = (own.n_vocab(), draft.n_vocab());
    let n_common = n_own.min(n_draft);
    let first = (0..n_common as u32).find(|token| own.token_bytes(*token) != draft.token_bytes(*token));
    if let Some(token) = first {
        let (own, draft) = (own.token_text(token), draft.token_text(token));
        return Some(format!("its token {token} is {draft:?}, not {own:?}"));
    }
    let n_added = n_own.max(n_draft) - n_common;
    (n_added as f64 > n_common as f64 * ADDED_PART_MAX)
        .then(|| format!("its vocabulary has {n_draft} tokens, not {n_own}"))
}

#[cfg(test)]
#[path = "draft_tests.rs"]
mod tests;
