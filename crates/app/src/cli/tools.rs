//! Options of tools that the server calls for models.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::AskArgs;

/// MCP servers whose tools models may call.
#[derive(Clone, Debug, Default, Args)]
pub struct McpArgs {
    /// Let models call tools of the MCP servers in this file, where a call asks for them with the header x-tokbar-tools.
    #[arg(long, value_name = "FILE")]
    pub mcp_config: Option<PathBuf>,

    /// Tool that may be called without asking, such as files__read or files__*; may be given several times. Others wait for
    /// a person's word.
    #[arg(long, value_name = "TOOL", requires = "mcp_config")]
    pub mcp_allow: Vec<String>,
}

/// Options of `tools`.
#[derive(Debug, Args)]
pub struct ToolsArgs {
    /// What to do; without it tools are listed, and calls that wait.
    #[command(subcommand)]
    pub action: Option<ToolsAction>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub key: AskArgs,

    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// A word on a call that waits.
#[derive(Debug, Subcommand)]
pub enum ToolsAction {
    /// Let a call that waits run.
    Allow {
        /// Its number.
        id: u64,

        /// And all later calls of the same tool, until the server ends.
        #[arg(long)]
        always: bool,

        #[command(flatten)]
        #[allow(missing_docs)]
        key: AskArgs,
    },
    /// Do not let a call that waits run; the model is told.
    Deny {
        /// Its number.
        id: u64,

        #[command(flatten)]
        #[allow(missing_docs)]
        key: AskArgs,
    },
}
