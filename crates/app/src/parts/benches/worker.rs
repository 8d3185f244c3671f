//! The thread of one measurement, with a runtime of its own: what is measured must not feel who measures.

use std::io;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use anyhow::{Context, Result};
use tokbar_server::control::BenchFigure;

use super::Shared;
use crate::cli::{SizeArgs, SuiteArg};
use crate::commands::bench::inside::{Course, Wanted, measure};
use crate::say;

/// What is asked of the server.
pub fn wanted((url, key): &(String, String), model: String, suite: SuiteArg) -> Wanted {
    Wanted { url: url.clone(), key: key.clone(), model, suite, sizes: SizeArgs::brief() }
}

/// Starts it.
///
/// # Errors
/// When the system gives no thread.
pub fn start(shared: Arc<Shared>, wanted: Wanted, course: Arc<Course>) -> io::Result<JoinHandle<()>> {
    Builder::new().name("bench".to_owned()).spawn(move || {
        let outcome = run(&wanted, &course).map_err(|error| say::cause(&error));
        shared.ended(outcome);
    })
}

fn run(wanted: &Wanted, course: &Course) -> Result<Vec<BenchFigure>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start the async runtime")?;
    let figures = runtime.block_on(measure(wanted, course))?;
    let figure = |figure: crate::commands::bench::inside::Figure| BenchFigure {
        name: figure.name,
        unit: figure.unit,
        value: figure.value,
    };
    Ok(figures.into_iter().map(figure).collect())
}
