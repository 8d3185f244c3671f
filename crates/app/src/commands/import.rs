//! `tokbar import`.

use std::ops::ControlFlow;

use anyhow::Result;
use futures::FutureExt;
use tokbar_hub::gguf::{Existing, ImportOptions};

use crate::cli::ImportArgs;
use crate::{say, sources, wiring};

/// Imports the file and says what came of it.
pub fn run(args: &ImportArgs) -> Result<()> {
    let folder = args.folder.clone().unwrap_or_else(|| args.file.with_extension(""));
    let existing = if args.force { Existing::Replace } else { Existing::ReplaceOurs };
    let options = ImportOptions { quantize: args.quantize.map(u32::from), existing, ..ImportOptions::default() };
    // The handler of Ctrl-C stays for the whole process, so only a command that ends with the import takes it.
    let report = wiring::block_on(async {
        let mut stop = std::pin::pin!(wiring::stop_signal(1)?);
        sources::import(&args.file, &folder, &options, &mut || match stop.as_mut().now_or_never() {
            None => ControlFlow::Continue(()),
            Some(()) => ControlFlow::Break(()),
        })
    })?;
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
