//! One app per user and settings folder. Whoever starts second tells the first what it wants shown, and ends; so may any
//! program of this user, such as the command line.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use tokbar_app::knock::{self, DONE, N_BYTES_MAX, PATIENCE, knock};

/// Tells the first app's own listener to end.
const END: &str = "end";

/// What became of the start.
#[derive(Debug)]
pub enum Start {
    /// This is the one.
    First(First),
    /// Another runs, and has been told.
    Second,
}

/// Holds the place; given up when dropped.
#[derive(Debug)]
pub struct First {
    path: PathBuf,
    listener: UnixListener,
    _lock: File,
}

/// Takes the place in `config`, or has whoever holds it show `wish`: a route of the window, empty for the window itself.
///
/// # Errors
/// When the folder cannot be written, or whoever holds the place does not answer.
pub fn start(config: &Path, wish: &str) -> io::Result<Start> {
    fs::create_dir_all(config)?;
    let path = knock::place(config);
    let lock = File::options().write(true).create(true).truncate(false).open(config.join("desktop.lock"))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return knock(&path, wish).map(|()| Start::Second),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    // Whoever left this behind holds no lock any more.
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    Ok(Start::First(First { listener: UnixListener::bind(&path)?, path, _lock: lock }))
}

impl First {
    /// What ends [`listen`](Self::listen).
    pub fn ender(&self) -> impl FnOnce() + Send + 'static {
        let path = self.path.clone();
        move || {
            if let Err(error) = knock(&path, END) {
                tracing::debug!(%error, "the listener for other starts ended by itself");
            }
        }
    }

    /// Calls `show` for every wish, until the end is wished.
    pub fn listen(self, show: impl Fn(&str)) {
        for stream in self.listener.incoming() {
            let wish = stream.and_then(|mut stream| {
                stream.set_read_timeout(Some(PATIENCE))?;
                let mut wish = String::new();
                (&mut stream).take(N_BYTES_MAX).read_to_string(&mut wish)?;
                stream.write_all(DONE)?;
                Ok(wish)
            });
            match wish {
                Ok(wish) if wish == END => return,
                Ok(wish) => show(&wish),
                Err(error) => tracing::debug!(%error, "a wish was not understood"),
            }
        }
    }
}

impl Drop for First {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::debug!(%error, "the socket for other starts stays");
        }
    }
}

#[cfg(test)]
#[path = "instance_tests.rs"]
mod tests;
