//! What stands for tools whose file cannot be used: it says why.

use tokbar_chat::{Tool, ToolCall};
use tokbar_server::control::{ToolCensus, ToolSource, Toolbox, Word};
use tokbar_server::{ApiError, Later};

/// See the module.
pub struct Broken {
    /// The cause and the next action.
    pub why: String,
}

impl Broken {
    fn refusal(&self) -> ApiError {
        ApiError::invalid("x-tokbar-tools", format!("asks for tools, which cannot be had: {}", self.why))
    }
}

impl Toolbox for Broken {
    fn tools(&self, _wish: &str) -> Later<Vec<Tool>> {
        let refusal = self.refusal();
        Box::pin(async move { Err(refusal) })
    }

    fn call(&self, _call: ToolCall) -> Later<String> {
        let refusal = self.refusal();
        Box::pin(async move { Err(refusal) })
    }

    fn census(&self) -> ToolCensus {
        let source = ToolSource { name: "mcp.config".to_owned(), tools: None, trouble: Some(self.why.clone()) };
        ToolCensus { sources: vec![source], waiting: Vec::new() }
    }

    fn decide(&self, id: u64, _word: Word) -> Result<(), ApiError> {
        Err(ApiError::invalid("id", format!("{id} is no call that waits for a word")))
    }
}
