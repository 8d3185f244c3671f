//! Neutral requests: every dialect maps its wire shape onto these.

use serde_json::{Map, Value};

/// What to continue.
#[derive(Clone, Debug, PartialEq)]
pub enum Prompt {
    /// A conversation, rendered by the checkpoint's chat template.
    Chat {
        /// In order.
        messages: Vec<Message>,
        /// Functions that the model may call.
        tools: Vec<Tool>,
        /// Extra variables for the template, such as `enable_thinking`.
        template_kwargs: Map<String, Value>,
    },
    /// Plain text; the tokenizer adds its special tokens.
    Text(String),
    /// Asks for what stands between two pieces of text (fill-in-the-middle).
    Infill {
        /// Text before the gap.
        prefix: String,
        /// Text after the gap.
        suffix: String,
    },
    /// Token ids, taken as they are.
    Tokens(Vec<u32>),
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What was said; empty beside tool calls.
    pub content: String,
    /// The speaker's name, or the tool's.
    pub name: Option<String>,
    /// The model's earlier reasoning, for templates that replay it.
    pub reasoning: Option<String>,
    /// Calls that an assistant message made.
    pub tool_calls: Vec<ToolCall>,
    /// Which call a tool message answers.
    pub tool_call_id: Option<String>,
}

impl Message {
    /// Plain text from `role`.
    pub fn new(role: Role, content: String) -> Self {
        Self { role, content, name: None, reasoning: None, tool_calls: Vec::new(), tool_call_id: None }
    }
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Instructions; OpenAI's `developer` is the same.
    System,
    /// The person.
    User,
    /// The model.
    Assistant,
    /// A tool's result.
    Tool,
}

impl Role {
    /// The word that chat templates use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

/// A function that the model may call.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: Option<String>,
    /// JSON schema of its arguments.
    pub parameters: Value,
}

/// A call that the model made.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// Set by whoever made the call.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments, an object.
    pub arguments: Value,
}
