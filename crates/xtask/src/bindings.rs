//! `cargo xtask bindings`: writes the types of the control API for the page.

use anyhow::bail;

use crate::stages::Stages;
use crate::{repo, setup, shell};

/// The test that checks the file also writes it: only the server knows the types.
const TYPES: [&str; 8] = [
    "test",
    "--package",
    "tokbar-server",
    "--test",
    "server",
    "--",
    "--exact",
    "bindings::the_types_of_the_page_are_up_to_date",
];

/// Writes `ui/src/lib/control.ts`.
pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    if !arguments.is_empty() {
        bail!("`bindings` takes no arguments");
    }
    setup::ensure()?;
    let stages = Stages::new("bindings");
    let write = || shell::capture(repo::cargo()?.args(TYPES).env("TOKBAR_WRITE_BINDINGS", "1")).map(drop);
    stages.run("ui/src/lib/control.ts", write)
}
