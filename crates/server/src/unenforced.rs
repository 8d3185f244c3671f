//! Wishes for an answer's form and calls that nothing enforces yet: refused by name rather than forgotten.

use tokbar_chat::{AnswerRules, ToolChoice};

use crate::ApiError;

/// # Errors
/// When the rules ask for a form, which the dialect calls `form_field`, or for a call.
pub fn refuse(rules: &AnswerRules, form_field: &str) -> Result<(), ApiError> {
    if rules.form.is_some() {
        let detail = "output cannot be held to a grammar or schema yet; ask for the form in the prompt";
        return Err(ApiError::unsupported(form_field, detail));
    }
    match rules.tool_choice {
        ToolChoice::Auto | ToolChoice::None => Ok(()),
        ToolChoice::Required | ToolChoice::Named(_) => {
            let detail = "a call cannot be forced yet; let the model choose and ask for the call in the prompt";
            Err(ApiError::unsupported("tool_choice", detail))
        }
    }
}
