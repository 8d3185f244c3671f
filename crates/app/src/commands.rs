//! One file per subcommand; each has a `run` that takes its options.

pub mod bench;
mod cache;
mod connect;
pub mod doctor;
mod generate;
mod import;
mod info;
mod key;
mod launch;
mod ls;
mod models;
mod open;
mod parse;
mod ps;
mod pull;
mod quantize;
mod render;
mod rm;
mod run;
mod search;
mod serve;
mod stop;
mod tools;

use anyhow::Result;

use crate::cli::{Cli, Command};
use crate::wiring;

/// Runs the command that was asked for.
///
/// # Errors
/// Whatever stopped it, in words for the person at the terminal.
pub fn dispatch(cli: Cli) -> Result<()> {
    wiring::start_logging(cli.verbose);
    if cli.command.computes() {
        tokbar_models::use_those_of_the_app()?;
    }
    match cli.command {
        Command::Serve(args) => serve::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Import(args) => import::run(&args),
        Command::Quantize(args) => quantize::run(&args),
        Command::Info(args) => info::run(&args),
        Command::Ls(args) => ls::run(&args),
        Command::Pull(args) => pull::run(&args),
        Command::Search(args) => search::run(&args),
        Command::Models(args) => models::run(&args),
        Command::Rm(args) => rm::run(&args),
        Command::Ps(args) => ps::run(&args),
        Command::Stop(args) => stop::run(&args),
        Command::Tools(args) => tools::run(&args),
        Command::Open(args) => open::run(&args),
        Command::Connect(args) => connect::run(&args),
        Command::Launch(args) => launch::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Key(command) => key::run(&command),
        Command::Parse(args) => parse::run(&args),
        Command::Render(args) => render::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Cache(args) => cache::run(&args),
        Command::Generate(args) => generate::run(&args),
    }
}
