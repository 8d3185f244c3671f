//! Options of the commands that point other programs at a server.

use clap::Args;

use super::AskArgs;

/// Options of `connect`.
#[derive(Debug, Args)]
pub struct ConnectArgs {
    /// Which client; without it all are listed.
    pub client: Option<String>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub target: TargetModelArgs,

    /// Only show what would change.
    #[arg(long)]
    pub dry_run: bool,

    /// Put the client's settings back as they were.
    #[arg(long, conflicts_with = "dry_run")]
    pub remove: bool,

    /// Do not ask.
    #[arg(short, long)]
    pub yes: bool,

    /// Print the list as JSON.
    #[arg(long, conflicts_with = "client")]
    pub json: bool,
}

/// Options of `launch`.
#[derive(Debug, Args)]
pub struct LaunchArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub target: TargetModelArgs,

    /// Which client.
    pub client: String,

    /// What the client gets.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<String>,
}

/// Which server and model a client is pointed at.
#[derive(Clone, Debug, Default, Args)]
pub struct TargetModelArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub ask: AskArgs,

    /// The model that the client names; the first that the server has loaded by default.
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
}
