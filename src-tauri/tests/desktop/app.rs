//! The app as a child of the test.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use crate::desk::Desk;
use crate::panel::wait;

pub struct App {
    child: Child,
}

impl App {
    pub fn start(desk: &Desk, args: &[&str]) -> Self {
        let program = std::env::var_os("TOKBAR_DESKTOP").unwrap_or_else(|| env!("CARGO_BIN_EXE_tokbar-desktop").into());
        Self::of(desk, Command::new(program), args)
    }

    /// Another program as the app.
    pub fn of(desk: &Desk, mut command: Command, args: &[&str]) -> Self {
        // A group of its own, so that whatever it starts can be found.
        let child = desk.seat(&mut command).args(args).process_group(0).spawn().expect("the app starts");
        Self { child }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.id()).expect("a pid fits"))
    }

    pub fn signal(&self, signal: Signal) {
        kill(self.pid(), signal).expect("the app is there");
    }

    pub fn kill(mut self) {
        self.child.kill().expect("the app is there");
        self.child.wait().expect("the app ends");
    }

    /// Kills whatever it started that outlived it, such as itself after an update.
    pub fn kill_group(&self) {
        killpg(self.pid(), Signal::SIGKILL).expect("something is there");
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("the app can be asked").is_none()
    }

    /// How it ended, and how long that took.
    pub fn wait(&mut self) -> (ExitStatus, Duration) {
        let start = Instant::now();
        let status = wait("the end", || self.child.try_wait().expect("the app can be asked")).expect("the app ends");
        (status, start.elapsed())
    }

    /// Whether anything that it started is still there.
    pub fn left_children(&self) -> bool {
        killpg(self.pid(), None::<Signal>).is_ok()
    }
}

impl Drop for App {
    fn drop(&mut self) {
        if self.left_children() {
            self.kill_group();
        }
        self.child.wait().expect("the app ends");
    }
}
