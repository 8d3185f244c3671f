//! Connections to MCP servers: a process that this starts ends with its connection.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::{Context, Result};
use rmcp::service::RunningService;
use rmcp::transport::TokioChildProcess;
use rmcp::transport::streamable_http_client::{StreamableHttpClientTransport, StreamableHttpClientTransportConfig};
use rmcp::{RoleClient, ServiceExt};
use tokio::process::Command;

use super::config::Recipe;

/// A server that runs.
pub type Connection = RunningService<RoleClient, ()>;

/// Longest time for a server to start and say what it is.
const PATIENCE: Duration = Duration::from_secs(30);
/// Most bytes of one message over HTTP.
const N_BYTES_MAX: usize = 4 << 20;

/// Starts or reaches a server.
///
/// # Errors
/// When it cannot be started or reached, or does not speak MCP.
pub async fn connect(recipe: &Recipe) -> Result<Connection> {
    let connected = async {
        match recipe {
            Recipe::Program { command, args, env, cwd } => {
                let mut program = Command::new(command);
                program.args(args).envs(env).kill_on_drop(true);
                if let Some(dir) = cwd {
                    program.current_dir(dir);
                }
                let process =
                    TokioChildProcess::new(program).with_context(|| format!("{command} cannot be started"))?;
                ().serve(process).await.context("it does not speak MCP")
            }
            Recipe::Http { url, headers } => {
                let headers = headers.iter().map(|(name, value)| Ok((name.parse()?, value.parse()?)));
                let headers: HashMap<_, _> = headers.collect::<Result<_>>().context("a header is none")?;
                let config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
                    .custom_headers(headers)
                    .max_sse_event_size(N_BYTES_MAX)
                    .max_json_response_size(N_BYTES_MAX);
                // Whoever was first has chosen the same.
                if rustls::crypto::ring::default_provider().install_default().is_err() {
                    tracing::trace!("TLS has its cipher suites already");
                }
                let transport = StreamableHttpClientTransport::from_config(config);
                ().serve(transport).await.context("it cannot be reached, or does not speak MCP")
            }
        }
    };
    tokio::time::timeout(PATIENCE, connected)
        .await
        .with_context(|| format!("it did not answer within {} seconds", PATIENCE.as_secs()))?
}
