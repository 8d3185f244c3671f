//! How programs of this user ask the desktop app, which runs once per settings folder, to show its window: a socket in that
//! folder takes a short wish, and answers once it is understood.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A wish is a short line.
pub const N_BYTES_MAX: u64 = 512;
/// A running app answers soon.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// What it answers.
pub const DONE: &[u8] = b"done";

/// Where the app listens, in the folder of this user's settings.
pub fn place(config: &Path) -> PathBuf {
    config.join("desktop.sock")
}

/// Tells the app that listens at `path` to show `wish`: a route of its window such as `/models`, empty for the window itself.
///
/// # Errors
/// When nobody listens there, or whoever does is silent.
pub fn knock(path: &Path, wish: &str) -> io::Result<()> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(wish.as_bytes())?;
    stream.shutdown(std::net::Shutdown::Write)?;
    let mut answer = Vec::new();
    stream.take(N_BYTES_MAX).read_to_end(&mut answer)?;
    if answer == DONE { Ok(()) } else { Err(io::Error::other("the app that runs does not answer")) }
}
