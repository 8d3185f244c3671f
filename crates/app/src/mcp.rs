//! Tools of MCP servers, which models may call over this server: each call runs only if it is allowed, once for all by the
//! command line or one by one by a person. Must not know how answers are printed.

mod approval;
mod broken;
mod config;
mod source;
mod worker;

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use tokbar_chat::{Tool, ToolCall};
use tokbar_server::control::{McpSettings, ToolCensus, Toolbox, Word};
use tokbar_server::{ApiError, Later};

use crate::cli::McpArgs;
use approval::Approvals;
use source::Source;

/// Between the name of a source and that of its tool.
const BETWEEN: &str = "__";
/// Longest name that models are told.
const N_NAME_MAX: usize = 64;

/// The tools of all sources of a file.
pub struct McpToolbox {
    inner: Arc<Inner>,
}

struct Inner {
    sources: Vec<Arc<Source>>,
    approvals: Approvals,
}

/// What the command line asks for, or else the settings; `None` where neither names a file.
///
/// # Errors
/// When the file of the command line is broken, or allows tools of no source.
pub fn toolbox(args: &McpArgs, settings: &McpSettings) -> Result<Option<Arc<dyn Toolbox>>> {
    let Some(path) = &args.mcp_config else { return Ok(of_settings(settings)) };
    Ok(Some(Arc::new(open(path, &args.mcp_allow)?)))
}

/// What the settings ask for. A server starts without tools rather than not at all: who asks for them hears why.
pub fn of_settings(settings: &McpSettings) -> Option<Arc<dyn Toolbox>> {
    let path = settings.config.as_deref().filter(|path| !path.is_empty())?;
    Some(match open(Path::new(path), &settings.allow) {
        Ok(toolbox) => Arc::new(toolbox),
        Err(error) => {
            let why = format!("{error:#}");
            tracing::warn!("no tools: {why}");
            Arc::new(broken::Broken { why })
        }
    })
}

fn open(path: &Path, allowed: &[String]) -> Result<McpToolbox> {
    read(path, allowed).with_context(|| format!("{} cannot be used", path.display()))
}

fn read(path: &Path, allowed: &[String]) -> Result<McpToolbox> {
    let sources: Vec<Arc<Source>> = config::read(path)?.into_iter().map(|entry| Arc::new(Source::new(entry))).collect();
    for pattern in allowed {
        let of_source = |source: &&Arc<Source>| pattern == "*" || pattern.starts_with(&prefix(&source.name));
        if !sources.iter().any(|source| of_source(&source)) {
            bail!(
                "{pattern:?}, which is to be allowed, fits no tool; tools are named SOURCE__TOOL, and SOURCE__* is all of a source"
            );
        }
    }
    Ok(McpToolbox { inner: Arc::new(Inner { sources, approvals: Approvals::new(allowed.to_vec()) }) })
}

/// How the names of a source's tools begin, as models are told them.
fn prefix(source: &str) -> String {
    format!("{source}{BETWEEN}")
}

impl Inner {
    async fn tools(&self, wish: &str) -> Result<Vec<Tool>, ApiError> {
        let mut tools = Vec::new();
        for source in self.wished(wish)? {
            let own = source.tools().await.map_err(|error| refusal(&source.name, &error))?;
            tools.extend(own.into_iter().filter_map(|tool| named(&source.name, tool)));
        }
        Ok(tools)
    }

    fn wished(&self, wish: &str) -> Result<Vec<&Arc<Source>>, ApiError> {
        if wish.trim() == "*" {
            return Ok(self.sources.iter().collect());
        }
        let names = wish.split(',').map(str::trim).filter(|name| !name.is_empty());
        let find = |name: &str| {
            let known = || self.sources.iter().map(|source| source.name.as_str()).collect::<Vec<_>>().join(", ");
            let found = self.sources.iter().find(|source| source.name == name);
            let detail = || format!("names {name:?}, which is no source of tools; there are {}", known());
            found.ok_or_else(|| ApiError::invalid("x-tokbar-tools", detail()))
        };
        names.map(find).collect()
    }

    async fn call(&self, call: ToolCall) -> String {
        let known = self.sources.iter().find_map(|source| {
            let tool = call.name.strip_prefix(&prefix(&source.name))?;
            Some((source, tool.to_owned()))
        });
        let Some((source, tool)) = known else { return format!("Error: there is no tool {}.", call.name) };
        if !self.approvals.is_allowed(&call).await {
            return "Error: the user does not allow this call.".to_owned();
        }
        match source.call(&tool, call.arguments).await {
            Ok(text) => text,
            Err(error) => format!("Error: {error:#}"),
        }
    }
}

/// The tool under the name that models are told; one that no model could name is left out.
fn named(source: &str, tool: Tool) -> Option<Tool> {
    let name = format!("{}{}", prefix(source), tool.name);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    if name.len() > N_NAME_MAX || !name.chars().all(is_plain) {
        tracing::warn!("the tool {name:?} is left out: its name is too long, or holds signs that models do not write");
        return None;
    }
    Some(Tool { name, ..tool })
}

fn refusal(source: &str, error: &anyhow::Error) -> ApiError {
    ApiError::invalid("x-tokbar-tools", format!("names the tools of {source}, which cannot be had: {error:#}"))
}

impl Toolbox for McpToolbox {
    fn tools(&self, wish: &str) -> Later<Vec<Tool>> {
        let (inner, wish) = (self.inner.clone(), wish.to_owned());
        Box::pin(async move { inner.tools(&wish).await })
    }

    fn call(&self, call: ToolCall) -> Later<String> {
        let inner = self.inner.clone();
        Box::pin(async move { Ok(inner.call(call).await) })
    }

    fn census(&self) -> ToolCensus {
        let sources = self.inner.sources.iter().map(|source| source.shown()).collect();
        ToolCensus { sources, waiting: self.inner.approvals.waiting() }
    }

    fn decide(&self, id: u64, word: Word) -> Result<(), ApiError> {
        self.inner.approvals.decide(id, word)
    }
}

#[cfg(test)]
#[path = "mcp_tests.rs"]
mod tests;
