//! `tokbar bench`: what a client waits for, measured here and at other servers by the same hand.

mod client;
mod compare;
mod engine;
pub mod inside;
mod machine;
mod options;
mod output;
mod parser;
mod plot;
mod prompts;
mod results;
mod run;
mod statistics;
pub mod suites;
mod table;
mod target;
mod worker;

use anyhow::Result;

use crate::cli::{BenchArgs, BenchCommand};

/// Measures what was asked for.
pub fn run(args: &BenchArgs) -> Result<()> {
    match &args.command {
        BenchCommand::Engine(args) => engine::run(args),
        BenchCommand::Run(args) => run::run(args),
        BenchCommand::Compare(args) => compare::run(args),
        BenchCommand::Parser(args) => parser::run(args),
    }
}
