//! Options of what stays in memory while a server runs.

use std::path::PathBuf;

use clap::Args;

use crate::lifecycle::GOOD_FOR;
use crate::pressure::CALM;
use crate::size;

/// What is loaded and unloaded while the server runs.
#[derive(Clone, Debug, Default, Args)]
pub struct KeepArgs {
    /// Minutes after which a model that nobody uses is unloaded; it is loaded again when a call names it. 0 is never.
    #[arg(long, value_name = "MINUTES", default_value_t = 0.0)]
    pub idle_timeout: f64,

    /// Most memory for all models together, such as 24GB; by default what the machine has free.
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub memory_budget: Option<u64>,

    /// Never unload the model given here to make room for another.
    #[arg(long)]
    pub pin: bool,

    /// Serve only the model given here, whatever others calls name.
    #[arg(long)]
    pub no_switch: bool,

    /// Start as usual even if the last run ended uncleanly. Otherwise one sequence runs at a time until that went well for a while.
    #[arg(long)]
    pub no_safe_mode: bool,

    /// Seconds of good service after which safe mode ends.
    #[arg(long, value_name = "SECONDS", default_value_t = GOOD_FOR.as_secs_f64(), hide = true)]
    pub safe_mode_for: f64,

    /// Read the memory pressure from this file: `normal`, `warning` or `critical`.
    #[arg(long, value_name = "FILE", hide = true)]
    pub pressure_from: Option<PathBuf>,

    /// Seconds of less pressure before anything is given back.
    #[arg(long, value_name = "SECONDS", default_value_t = CALM.as_secs_f64(), hide = true)]
    pub pressure_calm: f64,
}
