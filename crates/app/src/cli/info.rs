//! Options of `info`.

use clap::Args;

use super::FormatArgs;

/// Options of `info`.
#[derive(Debug, Args)]
pub struct InfoArgs {
    /// A model folder, a .gguf file, a short name, or the id of a model on the Hugging Face Hub (org/name). Nothing is downloaded.
    pub model: String,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub format: FormatArgs,

    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}
