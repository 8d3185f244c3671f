//! The thread of one transfer.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use tokbar_hub::download::Present;
use tokbar_hub::gguf::ImportOptions;

use super::Shared;
use super::list::Job;
use crate::{hub, say, sources};

/// Starts it.
///
/// # Errors
/// When the system gives no thread.
pub fn start(shared: Arc<Shared>, job: &Arc<Job>) -> io::Result<JoinHandle<()>> {
    let (job, turn) = (Arc::clone(job), job.turn());
    Builder::new().name("transfer".to_owned()).spawn(move || {
        let outcome = if job.wanted.is_import { import(&job, turn) } else { download(&job, turn) };
        if let Err(error) = &outcome
            && turn == job.turn()
        {
            tracing::warn!(model = job.wanted.model, error, "a model did not come");
        }
        job.ended(turn, outcome);
        shared.ended();
    })
}

/// Goes on unless somebody changed their mind.
fn go_on(job: &Job, turn: u64) -> ControlFlow<()> {
    if turn == job.turn() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
}

fn download(job: &Job, turn: u64) -> Result<String, String> {
    let mut options = hub::options().map_err(|error| say::cause(&error))?;
    options.revision.clone_from(&job.wanted.revision);
    if job.wanted.is_repair {
        options.present = Present::Verified;
    }
    let pulled = hub::pull(&job.wanted.model, &options, &mut |shown| {
        let counts = (shown.progress.n_bytes_done, shown.progress.n_bytes);
        job.came(turn, counts, (shown.bytes_per_s, shown.left.map(|left| left.as_secs_f64())));
        go_on(job, turn)
    });
    pulled.map(|dir| dir.display().to_string()).map_err(|error| error.to_string())
}

fn import(job: &Job, turn: u64) -> Result<String, String> {
    let file = Path::new(&job.wanted.model);
    let options = ImportOptions { quantize: job.wanted.bits.map(u32::from), ..ImportOptions::default() };
    let folder = file.with_extension("");
    let done = sources::import_watched(file, &folder, &options, &mut |n_done, n_bytes| {
        job.came(turn, (n_done, n_bytes), (None, None));
        go_on(job, turn)
    });
    done.map(|_| folder.display().to_string()).map_err(|error| say::cause(&error))
}
