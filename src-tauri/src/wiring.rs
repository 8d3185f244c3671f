//! The app's own threads: the beat of the tray, other starts that knock, and signals to end. All end within a moment.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tauri::{AppHandle, Manager};
use tokbar_app::host::Host;
use tokbar_app::wiring::Adopting;
use tokio::sync::oneshot;

use crate::instance::First;
use crate::shell::{Beat, Pulse, Shell};

/// Between two looks that nothing asked for.
const BEAT: Duration = Duration::from_secs(1);
/// How long the end may take; what is not done by then ends with the process.
const PATIENCE: Duration = Duration::from_millis(1700);
/// Between two looks whether a thread has ended.
const LOOK: Duration = Duration::from_millis(5);
/// A start that knocks with this wants nothing shown.
pub const NOTHING: &str = "-";

/// The threads that run.
pub struct Background {
    threads: Vec<JoinHandle<()>>,
    enders: Vec<Box<dyn FnOnce() + Send>>,
    adopting: Adopting,
}

impl Background {
    /// Starts them.
    ///
    /// # Errors
    /// When the system gives no threads or takes no signal handlers.
    pub fn start(app: &AppHandle, beats: Receiver<Beat>, (first, adopting): (First, Adopting)) -> Result<Self> {
        let mut threads = vec![thread("beat", {
            let app = app.clone();
            move || keep_beating(&app, &beats)
        })?];
        let ender = first.ender();
        threads.push(thread("starts", {
            let app = app.clone();
            move || {
                first.listen(|wish| {
                    if wish != NOTHING {
                        app.state::<Shell>().open(&app, wish);
                    }
                });
            }
        })?);
        let (stop, stopped) = oneshot::channel();
        threads.push(thread("signals", {
            let app = app.clone();
            move || {
                if let Err(error) = end_by_signal(&app, stopped) {
                    tracing::warn!(%error, "signals end the app at once");
                }
            }
        })?);
        let unsignal = move || drop::<oneshot::Sender<()>>(stop);
        Ok(Self { threads, enders: vec![Box::new(ender), Box::new(unsignal)], adopting })
    }

    /// Ends them and stops `host`, within [`PATIENCE`].
    pub fn end(self, host: Option<Host>) {
        let start = Instant::now();
        let (done, stopped) = channel();
        host.iter().for_each(Host::forget_mark);
        let stopping = thread("stop", move || {
            host.into_iter().for_each(Host::stop);
            if done.send(()).is_err() {
                tracing::debug!("the end did not wait");
            }
        });
        self.enders.into_iter().for_each(|end| end());
        drop(self.adopting);
        let is_stopped = stopping.is_ok() && stopped.recv_timeout(PATIENCE).is_ok();
        if !is_stopped {
            tracing::warn!("the server did not end in time; it ends with the process");
        }
        for thread in self.threads {
            while !thread.is_finished() && start.elapsed() < PATIENCE {
                std::thread::sleep(LOOK);
            }
            if thread.is_finished() && thread.join().is_err() {
                tracing::error!("a thread of the app panicked");
            }
        }
    }
}

fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    Builder::new().name(name.to_owned()).spawn(work).context("cannot start a thread")
}

fn keep_beating(app: &AppHandle, beats: &Receiver<Beat>) {
    let mut pulse = Pulse::new();
    let mut beat = Beat::Now;
    while beat != Beat::End {
        app.state::<Shell>().beat(app, &mut pulse, beat);
        beat = match beats.recv_timeout(BEAT) {
            Ok(beat) => beat,
            Err(RecvTimeoutError::Timeout) => Beat::Now,
            Err(RecvTimeoutError::Disconnected) => Beat::End,
        };
    }
}

/// Ends the app at the first signal to end, as Quit would.
fn end_by_signal(app: &AppHandle, stopped: oneshot::Receiver<()>) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        tokio::select! {
            () = tokbar_app::wiring::stop_signal(1)? => app.exit(0),
            _ = stopped => {}
        }
        Ok(())
    })
}
