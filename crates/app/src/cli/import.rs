//! Options of `import`.

use std::path::PathBuf;

use clap::Args;

/// Options of `import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// The GGUF file.
    pub file: PathBuf,

    /// Where the folder goes; beside the file by default.
    pub folder: Option<PathBuf>,

    /// Quantize weights that the file does not hold in a form MLX can take over, to this many bits.
    #[arg(long, value_name = "BITS", value_parser = clap::value_parser!(u8).range(2..=8))]
    pub quantize: Option<u8>,

    /// Replace the folder if it is there.
    #[arg(long)]
    pub force: bool,
}
