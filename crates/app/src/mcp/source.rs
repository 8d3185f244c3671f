//! One MCP server: reached when its tools are first wanted, and again after it has gone.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use rmcp::RoleClient;
use rmcp::model::{CallToolRequestParams, CallToolResult, ContentBlock, ResourceContents};
use rmcp::service::Peer;
use serde_json::Value;
use tokbar_chat::Tool;
use tokbar_server::control::ToolSource;

use super::config::{Entry, Recipe};
use super::worker::{self, Connection};

/// Longest time for the list of tools.
const PATIENCE: Duration = Duration::from_secs(30);
/// Longest time of one call.
const PATIENCE_CALL: Duration = Duration::from_secs(60);
/// Most tools of a source, and most bytes of what they say of themselves.
const N_TOOLS_MAX: usize = 128;
const N_BYTES_MAX: usize = 256 << 10;

/// See the module.
pub struct Source {
    /// Its name.
    pub name: String,
    recipe: Recipe,
    connection: tokio::sync::Mutex<Option<Connection>>,
    seen: Mutex<Seen>,
}

/// What is shown of it.
#[derive(Default)]
struct Seen {
    tools: Option<Vec<String>>,
    trouble: Option<String>,
}

impl Source {
    /// Not reached yet.
    pub fn new(Entry { name, recipe }: Entry) -> Self {
        Self { name, recipe, connection: tokio::sync::Mutex::new(None), seen: Mutex::default() }
    }

    /// Its tools, under its own names for them.
    ///
    /// # Errors
    /// When it cannot be reached, does not answer in time, or has too many.
    pub async fn tools(&self) -> Result<Vec<Tool>> {
        let listed = self.list().await;
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.trouble = listed.as_ref().err().map(|error| format!("{error:#}"));
        if let Ok(tools) = &listed {
            seen.tools = Some(tools.iter().map(|tool| tool.name.clone()).collect());
        }
        listed
    }

    async fn list(&self) -> Result<Vec<Tool>> {
        let peer = self.peer().await?;
        let listed = tokio::time::timeout(PATIENCE, peer.list_all_tools()).await;
        let listed = listed.context("it does not list its tools in time")?.context("it does not list its tools")?;
        if listed.len() > N_TOOLS_MAX {
            bail!("it has {} tools; {N_TOOLS_MAX} can be used", listed.len());
        }
        let tool = |tool: rmcp::model::Tool| Tool {
            name: tool.name.into_owned(),
            description: tool.description.map(|text| text.into_owned()),
            parameters: Value::Object((*tool.input_schema).clone()),
        };
        let tools: Vec<Tool> = listed.into_iter().map(tool).collect();
        let n_bytes: usize = tools.iter().map(n_bytes).sum();
        if n_bytes > N_BYTES_MAX {
            bail!("its tools say {n_bytes} bytes of themselves; {N_BYTES_MAX} can be used");
        }
        Ok(tools)
    }

    /// Calls a tool and returns what it gives, as text.
    ///
    /// # Errors
    /// When it cannot be reached, does not answer in time, or has no such tool.
    pub async fn call(&self, tool: &str, arguments: Value) -> Result<String> {
        let Value::Object(arguments) = arguments else { bail!("the arguments are no object") };
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let peer = self.peer().await?;
        let result = tokio::time::timeout(PATIENCE_CALL, peer.call_tool(params)).await;
        let result = result.map_err(|_| anyhow!("it gave no result within {} seconds", PATIENCE_CALL.as_secs()))?;
        let result = result.context("the call failed")?;
        let is_error = result.is_error.unwrap_or(false);
        let text = text(result);
        Ok(if is_error { format!("Error: {text}") } else { text })
    }

    /// What is shown of it.
    pub fn shown(&self) -> ToolSource {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        ToolSource { name: self.name.clone(), tools: seen.tools.clone(), trouble: seen.trouble.clone() }
    }

    async fn peer(&self) -> Result<Peer<RoleClient>> {
        let mut connection = self.connection.lock().await;
        if let Some(running) =
            connection.as_ref().filter(|running| !running.is_closed() && !running.is_transport_closed())
        {
            return Ok(running.peer().clone());
        }
        *connection = None;
        let running = worker::connect(&self.recipe).await?;
        let peer = running.peer().clone();
        *connection = Some(running);
        Ok(peer)
    }
}

fn n_bytes(tool: &Tool) -> usize {
    tool.name.len() + tool.description.as_ref().map_or(0, String::len) + tool.parameters.to_string().len()
}

/// What a model reads of a result.
fn text(result: CallToolResult) -> String {
    let block = |block: &ContentBlock| match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Resource(resource) => match &resource.resource {
            ResourceContents::TextResourceContents { text, .. } => text.clone(),
            _ => "[data that is no text]".to_owned(),
        },
        _ => "[content that is no text]".to_owned(),
    };
    let text = result.content.iter().map(block).collect::<Vec<_>>().join("\n");
    match result.structured_content {
        Some(value) if text.is_empty() => value.to_string(),
        _ => text,
    }
}
