//! Chores of the repository: `cargo xtask <subcommand>`.
//!
//! Knows the tools a checkout needs and how to call them. Must not know MLX or any crate of ours: its first run is what
//! makes them buildable.

use std::process::ExitCode;

mod app;
mod audit;
mod bench;
mod bindings;
mod bundle;
mod check_macos;
mod clients;
mod dist;
mod docs;
mod files;
mod golden;
mod kit;
mod mac_acceptance;
mod model;
mod npm;
mod packages;
mod python;
mod reference;
mod repo;
mod run;
mod setup;
mod shell;
mod stages;
mod test;
mod tidy;
mod ui;
mod workflows;

/// One row of the subcommand table; each lives in a file of its name.
struct Subcommand {
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
    run: fn(&[String]) -> anyhow::Result<()>,
}

#[rustfmt::skip] // A table: one row per line.
const SUBCOMMANDS: &[Subcommand] = &[
    Subcommand { name: "app", arguments: "[OPTION...]", about: "build the desktop app for development and run it", run: app::run },
    Subcommand { name: "audit", arguments: "APP [--signed]", about: "look for what Macs would refuse in an app", run: audit::run },
    Subcommand { name: "bench", arguments: "[--pairs N] [MODEL...]", about: "measure tokbar and mlx-lm in turn, print paired ratios", run: bench::run },
    Subcommand { name: "bench", arguments: "rivals [SUITE...]", about: "measure the servers of tokbar, mlx-lm and Rapid-MLX in turn", run: bench::run },
    Subcommand { name: "bench", arguments: "hybrids", about: "time long prompts of networks with recurrent layers, write docs/hybrids.md", run: bench::run },
    Subcommand { name: "bindings", arguments: "", about: "write the page's types of the control API", run: bindings::run },
    Subcommand { name: "check-macos", arguments: "[--link] [--bundle]", about: "prove from Linux that the Mac's code builds", run: check_macos::run },
    Subcommand { name: "clients", arguments: "[--all [NAME...]]", about: "install the clients that the tests run; --all runs many more, writes docs/clients.md", run: clients::run },
    Subcommand { name: "dist", arguments: "PRODUCT [ARGUMENT...]", about: "make a part of a release; without PRODUCT, list them", run: dist::run },
    Subcommand { name: "docs", arguments: "", about: "write the pages anew that are made of what the code knows", run: docs::run },
    Subcommand { name: "golden", arguments: "models|chat|real", about: "write what the Python reference says anew", run: golden::run },
    Subcommand { name: "kit", arguments: "", about: "bring what tests read into .testkit: templates, tokenizers, questions", run: kit::run },
    Subcommand { name: "mac-acceptance", arguments: "APP", about: "ask a Mac about an installed app, and print a report", run: mac_acceptance::run },
    Subcommand { name: "model", arguments: "[NAME...]", about: "bring small real models into .testkit: gemma3, smollm2", run: model::run },
    Subcommand { name: "run", arguments: "[MODEL [OPTION...]]", about: "build for release and serve a model; SmolLM2 without MODEL", run: run::run },
    Subcommand { name: "screenshots", arguments: "[--readme]", about: "pictures of every panel of the UI, light and dark, in ui/shots; or the README's", run: ui::screenshots },
    Subcommand { name: "setup", arguments: "", about: "prepare this machine and checkout: packages, MLX, bindings", run: setup::run },
    Subcommand { name: "test", arguments: "[--all]", about: "run every check and test; --all makes the long ones long", run: test::run },
    Subcommand { name: "tidy", arguments: "", about: "check the rules that hold the architecture together", run: tidy::run },
    Subcommand { name: "ui", arguments: "", about: "build the UI into ui/dist, from where the program takes it", run: ui::run },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = arguments.split_first() else {
        print!("{}", usage());
        return ExitCode::SUCCESS;
    };
    if ["help", "--help", "-h"].contains(&name.as_str()) {
        print!("{}", usage());
        return ExitCode::SUCCESS;
    }
    let Some(subcommand) = SUBCOMMANDS.iter().find(|row| row.name == name) else {
        eprint!("error: no subcommand `{name}`\n\n{}", usage());
        return ExitCode::from(2);
    };
    match (subcommand.run)(rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> String {
    let rows = SUBCOMMANDS.iter().map(|row| {
        let call = format!("{} {}", row.name, row.arguments);
        format!("  cargo xtask {call:<28} {}\n", row.about)
    });
    format!("Chores of this repository.\n\n{}", rows.collect::<String>())
}
