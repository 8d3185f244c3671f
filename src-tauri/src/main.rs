//! The desktop app's program.

use std::process::ExitCode;

use tokbar_desktop::{Options, run};

fn main() -> ExitCode {
    run(&Options::parse(std::env::args().skip(1)))
}
