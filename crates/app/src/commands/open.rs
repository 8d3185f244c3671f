//! `tokbar open`: shows the window of the desktop app that runs.

use std::io::ErrorKind;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;

use crate::cli::OpenArgs;
use crate::{config_dir, knock};

/// Has the app show its window, at a page if one is named.
pub fn run(args: &OpenArgs) -> Result<()> {
    let name = args.page.and_then(|page| page.to_possible_value()).map(|value| value.get_name().to_owned());
    let page = name.map_or_else(String::new, |name| format!("/{name}"));
    match knock::knock(&knock::place(&config_dir::place()?), &page) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => {
            bail!("the Tokbar app does not run; start it, or use `tokbar serve` and the page that it names")
        }
        outcome => outcome.context("the Tokbar app does not answer; quit it, and start it again"),
    }
}
