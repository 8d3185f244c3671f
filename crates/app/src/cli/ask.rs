//! Options of the commands that ask a running server.

use clap::{Args, ValueEnum};

/// Options of `ps`.
#[derive(Debug, Args)]
pub struct PsArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub key: AskArgs,

    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Options of `stop`.
#[derive(Debug, Args)]
pub struct StopArgs {
    /// The model to unload; without it the server itself is stopped.
    pub model: Option<String>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub key: AskArgs,

    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Which server, and how it lets us in.
#[derive(Clone, Debug, Default, Args)]
pub struct AskArgs {
    /// Address of the server, such as 127.0.0.1:8000; by default those that run on this machine.
    #[arg(long, value_name = "HOST:PORT")]
    pub server: Option<String>,

    /// Key with the scope to manage, where the server asks for one.
    #[arg(long, env = "TOKBAR_API_KEY", hide_env_values = true)]
    pub api_key: Option<String>,
}

/// Options of `doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Also write what was found to this file, without keys, prompts or the name of this user, to send to others.
    #[arg(long, value_name = "FILE")]
    pub bundle: Option<std::path::PathBuf>,

    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// What of the app's window is shown.
#[derive(Args, Clone, Copy, Debug)]
pub struct OpenArgs {
    /// Its page; wherever it is without.
    pub page: Option<PageArg>,
}

/// A page of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PageArg {
    /// What goes on.
    Now,
    /// The models.
    Models,
    /// The chat.
    Chat,
    /// The clients.
    Connect,
    /// The benchmarks.
    Bench,
    /// The log.
    Logs,
    /// The settings.
    Settings,
    /// Version and updates.
    About,
}
