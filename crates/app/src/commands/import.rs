//! `tokbar import`.

use anyhow::Result;
use tokbar_hub::gguf::Existing;

use crate::cli::ImportArgs;
use crate::{say, sources};

/// Imports the file and says what came of it.
pub fn run(args: &ImportArgs) -> Result<()> {
    let folder = args.folder.clone().unwrap_or_else(|| args.file.with_extension(""));
    let existing = if args.force { Existing::Replace } else { Existing::ReplaceOurs };
    let report = sources::import(&args.file, &folder, args.quantize, existing)?;
    say::line(folder.display())?;
    say::line(format_args!(
        "{} of {:.1} million weights, {:.1} MB: {} tensors taken over without loss, {} quantized anew, {} as floats",
        report.model_type,
        report.n_params as f64 / 1e6,
        report.n_bytes as f64 / 1e6,
        report.n_repacked,
        report.n_quantized,
        report.n_floats
    ))?;
    Ok(())
}
