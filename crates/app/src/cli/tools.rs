//! Options of tools that the server calls for models.

use std::path::PathBuf;

use clap::Args;

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
