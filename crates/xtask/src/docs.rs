//! `cargo xtask docs`: writes the pages that are made of what the code knows.

use anyhow::bail;

use crate::stages::Stages;
use crate::{repo, setup, shell};

/// The test that checks a page also writes it: only the crate of the models knows them.
const MODELS: [&str; 7] = [
    "test",
    "--package",
    "tokbar-models",
    "--lib",
    "--",
    "--exact",
    "families::tests::the_page_of_models_is_up_to_date",
];

/// Writes `docs/models.md`.
pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    if !arguments.is_empty() {
        bail!("`docs` takes no arguments");
    }
    setup::ensure()?;
    let stages = Stages::new("docs");
    stages.run("docs/models.md", || shell::capture(repo::cargo()?.args(MODELS).env("TOKBAR_WRITE_DOCS", "1")).map(drop))
}
