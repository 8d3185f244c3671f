//! Logging, the async runtime and stop signals.

use std::ffi::OsString;
use std::future::Future;
use std::io::{IsTerminal, Read, Seek};
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use crate::environment::{self, LoginShell};
use crate::logbook::{self, ToBook};

/// Longest wait for a login shell, and most that it may say.
const SHELL_PATIENCE: Duration = Duration::from_secs(5);
const N_SHELL_BYTES_MAX: u64 = 1 << 20;

/// What the log in memory keeps.
const KEPT: &str = "warn,tokbar=debug,tokbar_app=debug,tokbar_server=debug,tokbar_engine=info,tokbar_hub=info";

/// Logs to standard error, and into memory; `TOKBAR_LOG` overrides what `-v` asks for.
pub fn start_logging(verbosity: u8) {
    let level = match verbosity {
        0 => "warn,tokbar=info,tokbar_app=info",
        1 => "info,tokbar=debug,tokbar_app=debug,tokbar_server=debug,tokbar_engine=debug",
        _ => "debug",
    };
    let filter = EnvFilter::try_from_env("TOKBAR_LOG").unwrap_or_else(|_| EnvFilter::new(level));
    // Colours are for people: a file or another program gets none.
    let has_colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let lines = tracing_subscriber::fmt::layer().with_ansi(has_colours);
    let shown = lines.with_writer(std::io::stderr).with_target(false).with_filter(filter);
    let kept = ToBook(logbook::book()).with_filter(EnvFilter::new(KEPT));
    tracing_subscriber::registry().with(shown).with(kept).init();
}

/// Runs `work` on a runtime with all its threads joined at the end.
///
/// # Errors
/// When the system gives no threads, or `work` fails.
pub fn block_on<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("cannot start the async runtime")?;
    runtime.block_on(work)
}

/// Runs `work`, which takes long, on a thread of its own, and yields its result. A caller that is gone by then leaves the
/// thread to the end of the program: what it does cannot be broken off.
///
/// # Errors
/// When the system gives no thread.
pub fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<impl Future<Output = Result<T>>> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let run = move || {
        if sender.send(work()).is_err() {
            tracing::debug!("nobody waits for the result");
        }
    };
    let thread = std::thread::Builder::new().name("load".to_owned()).spawn(run).context("cannot start a thread")?;
    Ok(async move {
        let result = receiver.await;
        // The thread has sent its result, or dropped the sender in a panic: it ends now.
        thread.join().map_err(|_| anyhow!("loading panicked; the lines above have the cause"))?;
        result.context("loading ended without a result")
    })
}

/// Completes at the `n`-th Ctrl-C or polite kill from now on.
///
/// # Errors
/// When the system takes no signal handlers.
pub fn stop_signal(n: usize) -> Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for Ctrl-C")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for a stop signal")?;
    Ok(async move {
        for _ in 0..n {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        }
    })
}

/// Runs a program of the terminal to its end. Ctrl-C is its business meanwhile, not ours.
///
/// # Errors
/// When it cannot be started.
pub fn run_program(command: std::process::Command) -> Result<std::process::ExitStatus> {
    block_on(async {
        let _caught = stop_signal(usize::MAX)?;
        Ok(tokio::process::Command::from(command).status().await?)
    })
}

/// Starts what keeps a Mac from falling asleep by itself until it is killed or this program ends.
///
/// # Errors
/// When the system has no such program.
#[cfg(target_os = "macos")]
pub fn start_caffeinate() -> std::io::Result<std::process::Child> {
    let pid = std::process::id().to_string();
    std::process::Command::new("/usr/bin/caffeinate").args(["-i", "-w", &pid]).spawn()
}

/// Asks this user's login shell for what a program of the desktop lacks, beside everything else: shells take their time.
///
/// # Errors
/// When the system gives no thread.
pub fn adopt_environment() -> Result<Adopting> {
    environment::expect();
    let shell = UserShell::default();
    let asked = shell.clone();
    let ask = move || environment::adopt(&asked);
    let thread = std::thread::Builder::new().name("shell".to_owned()).spawn(ask).inspect_err(|_| {
        shell.give_up();
        environment::adopt(&shell);
    });
    Ok(Adopting { shell, thread: Some(thread.context("cannot start a thread")?) })
}

/// A shell that is asked; when dropped, it is waited for no longer.
pub struct Adopting {
    shell: UserShell,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Adopting {
    fn drop(&mut self) {
        self.shell.give_up();
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("asking the login shell panicked");
        }
    }
}

/// This user's own shell, as a login starts it.
#[derive(Clone, Debug)]
pub struct UserShell {
    program: OsString,
    is_given_up: Arc<AtomicBool>,
}

impl Default for UserShell {
    fn default() -> Self {
        Self::at(std::env::var_os("SHELL").unwrap_or_else(|| "/bin/sh".into()))
    }
}

impl UserShell {
    /// The shell `program`.
    pub fn at(program: OsString) -> Self {
        Self { program, is_given_up: Arc::default() }
    }

    /// Nobody waits for it any more.
    pub fn give_up(&self) {
        self.is_given_up.store(true, Ordering::Release);
    }

    fn is_waited_for(&self, start: Instant) -> bool {
        start.elapsed() < SHELL_PATIENCE && !self.is_given_up.load(Ordering::Acquire)
    }
}

impl LoginShell for UserShell {
    fn variables(&self) -> Option<String> {
        let start = Instant::now();
        if !self.is_waited_for(start) {
            return None;
        }
        // No pipe: what a profile leaves running would hold its other end.
        let mut out = tempfile::tempfile().ok()?;
        let mut command = std::process::Command::new(&self.program);
        command.args(["-l", "-c", "env"]).stdin(Stdio::null()).stdout(out.try_clone().ok()?).stderr(Stdio::null());
        let mut child = command.process_group(0).spawn().ok()?;
        let ended = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status.success(),
                Ok(None) if self.is_waited_for(start) => std::thread::park_timeout(Duration::from_millis(10)),
                _ => break false,
            }
        };
        if !ended {
            end_group(child);
            return None;
        }
        let mut lines = Vec::new();
        out.rewind().ok()?;
        out.take(N_SHELL_BYTES_MAX).read_to_end(&mut lines).ok()?;
        Some(String::from_utf8_lossy(&lines).into_owned())
    }
}

/// Kills a shell with whatever it waits for.
fn end_group(mut shell: Child) {
    let group = i32::try_from(shell.id()).map(Pid::from_raw);
    let ended = group.map(|group| killpg(group, Signal::SIGKILL)).map(|_| shell.wait());
    if let Ok(Err(error)) = ended {
        tracing::debug!(%error, "a shell stays");
    }
}
