//! Processes of servers under measurement: each has a process group of its own and is gone when its value is.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::process::Child;

/// Most bytes of a log that a message shows.
const N_TAIL_BYTES: u64 = 2000;
/// Looks at a server that was told to end or killed, a few seconds in all.
const N_LOOKS: usize = 1000;
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A running server.
pub struct Server {
    child: Child,
    group: Pid,
    log: File,
}

impl Server {
    /// Starts it with its output going to a file without a name.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub fn start(mut command: Command) -> Result<Self> {
        let log = tempfile::tempfile().context("cannot make a file for the server's output")?;
        let output = |log: &File| Ok::<_, std::io::Error>(Stdio::from(log.try_clone()?));
        command.stdin(Stdio::null()).stdout(output(&log)?).stderr(output(&log)?).process_group(0);
        let child =
            tokio::process::Command::from(command).kill_on_drop(true).spawn().context("cannot start the server")?;
        let pid = child.id().and_then(|id| i32::try_from(id).ok()).context("the server ended at once")?;
        Ok(Self { child, group: Pid::from_raw(pid), log })
    }

    /// How it ended, if it did.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// The end of what it printed.
    pub fn log_tail(&self) -> String {
        // By place, not by cursor: the server writes with the same cursor.
        let read = || -> std::io::Result<Vec<u8>> {
            let n_bytes = self.log.metadata()?.len();
            let start = n_bytes.saturating_sub(N_TAIL_BYTES);
            let mut tail = vec![0; (n_bytes - start) as usize];
            self.log.read_exact_at(&mut tail, start)?;
            Ok(tail)
        };
        match read() {
            Ok(tail) => String::from_utf8_lossy(&tail).trim().to_owned(),
            Err(error) => format!("(its output cannot be read: {error})"),
        }
    }

    /// `kill -9`, and waits until it is gone. Returns the number that the process had.
    ///
    /// # Errors
    /// When the system cannot say how it ended.
    pub async fn kill(mut self) -> Result<u32> {
        self.signal(Signal::SIGKILL);
        self.child.wait().await.context("cannot wait for the server")?;
        Ok(self.group.as_raw().unsigned_abs())
    }

    fn signal(&self, signal: Signal) {
        // The group may be gone already.
        if let Err(error) = killpg(self.group, signal) {
            tracing::debug!(%error, "no server to end");
        }
    }

    /// Whether all that it started has ended after a few seconds at most. A shell may end before its program.
    fn ends(&mut self) -> bool {
        (0..N_LOOKS).any(|_| {
            // Processes that have ended are gone only once somebody has asked how they ended.
            let is_running = matches!(self.child.try_wait(), Ok(None)) || killpg(self.group, None::<Signal>).is_ok();
            if is_running {
                std::thread::sleep(LOOK_EVERY);
            }
            !is_running
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.signal(Signal::SIGTERM);
        if !self.ends() {
            self.signal(Signal::SIGKILL);
            if !self.ends() {
                tracing::warn!("a server does not end");
            }
        }
    }
}
