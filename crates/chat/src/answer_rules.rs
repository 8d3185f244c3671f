//! What an answer must look like: neutral wishes that every dialect maps its own fields onto.

use serde_json::Value;

/// What an answer must look like. The default leaves it free.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AnswerRules {
    /// The shape of the text; thinking before it is free.
    pub form: Option<AnswerForm>,
    /// Whether tools must be called.
    pub tool_choice: ToolChoice,
    /// How many calls an answer may make.
    pub calls: CallCount,
    /// Most tokens of thinking; what goes beyond is closed, and the answer begins. `None` = any number.
    pub thinking_budget: Option<usize>,
}

/// The shape of an answer's text.
#[derive(Clone, Debug, PartialEq)]
pub enum AnswerForm {
    /// Any JSON object.
    JsonObject,
    /// JSON that fits this schema.
    JsonSchema(Value),
    /// Text that matches this regular expression as a whole (Rust's syntax; `\d` and `\w` are ASCII).
    Regex(String),
    /// Text of this grammar, in the Lark dialect of llguidance.
    Lark(String),
    /// One of these texts.
    OneOf(Vec<String>),
}

/// Whether tools must be called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model decides; a call that it begins fits its tool.
    #[default]
    Auto,
    /// Tools are not shown to the model.
    None,
    /// At least one call.
    Required,
    /// One call of this tool.
    Named(String),
}

/// How many calls an answer may make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallCount {
    /// Several in parallel.
    #[default]
    Many,
    /// At most one.
    One,
}
