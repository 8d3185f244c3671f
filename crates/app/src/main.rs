//! The `tokbar` binary.

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = tokbar_app::cli::Cli::parse();
    match tokbar_app::commands::dispatch(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", tokbar_app::say::cause(&error));
            ExitCode::FAILURE
        }
    }
}
