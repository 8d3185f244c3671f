//! The system prompt, without the parts that change from call to call and tell the model nothing: they stand at the head
//! of the prompt, where a change voids every cached token after it.

use serde_json::Value;

use super::blocks;
use crate::ApiError;
use crate::fields::{Fields, must_be};

/// How an attribution line begins, which the vendor's own service reads.
const ATTRIBUTION: &str = "x-anthropic-billing-header:";
/// A count of tokens left in a context that is not this model's.
const BUDGET: (&str, &str) = ("<total_tokens>", "</total_tokens>");

/// The system prompt; `None` when there is none or nothing is left of it.
///
/// # Errors
/// Names the block at fault.
pub fn system(fields: &mut Fields) -> Result<Option<String>, ApiError> {
    let path = fields.path("system");
    let texts = match fields.take("system") {
        None => return Ok(None),
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(items)) => items
            .into_iter()
            .enumerate()
            .map(|(idx, item)| blocks::text(format!("{path}[{idx}]"), item))
            .collect::<Result<_, _>>()?,
        Some(other) => return Err(must_be(path, "a string or an array of text blocks", &other)),
    };
    let texts: Vec<String> = texts.iter().map(|text| steady(text)).filter(|text| !text.is_empty()).collect();
    Ok((!texts.is_empty()).then(|| texts.join("\n\n")))
}

/// The text without attribution lines and budgets.
fn steady(text: &str) -> String {
    if !text.contains(ATTRIBUTION) && !text.contains(BUDGET.0) {
        return text.to_owned();
    }
    let lines = text.split_inclusive('\n').filter(|line| !line.trim_start().starts_with(ATTRIBUTION));
    let mut rest: String = lines.collect();
    while let Some((start, end)) = budget(&rest) {
        rest.replace_range(start..end, "");
    }
    rest.trim().to_owned()
}

/// Where the first budget stands, with the white space before it.
fn budget(text: &str) -> Option<(usize, usize)> {
    let start = text.find(BUDGET.0)?;
    let end = start + text[start..].find(BUDGET.1)? + BUDGET.1.len();
    Some((text[..start].trim_end().len(), end))
}

#[cfg(test)]
#[path = "system_tests.rs"]
mod tests;
