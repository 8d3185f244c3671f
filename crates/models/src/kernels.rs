//! MLX's Metal kernels inside the Mac app: found from the program that runs, wherever the app was moved to, and looked at
//! before MLX wants them, so that a damaged app says so.
//!
//! Outside an app there is nothing to do: MLX looks beside its own library.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::mx;

/// Where the app's bundler puts them, seen from `Contents`.
const PLACE: &str = "Resources/mlx.metallib";
/// The first bytes of a Metal library.
const MAGIC: &[u8; 4] = b"MTLB";

/// The kernels cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KernelsError {
    /// The system does not say where the program is.
    #[error("the system does not say where this program is: {0}")]
    Program(#[source] std::io::Error),
    /// The app is incomplete.
    #[error(
        "{} cannot be read ({source}). The app is damaged: install it again, for example with `brew reinstall --cask tokbar`",
        path.display()
    )]
    Read {
        /// Where the kernels have to be.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The app has something else in that place.
    #[error(
        "{} holds no Metal kernels. The app is damaged: install it again, for example with `brew reinstall --cask tokbar`",
        path.display()
    )]
    Damaged {
        /// Where the kernels have to be.
        path: PathBuf,
    },
    /// MLX does not take the path.
    #[error("MLX: {0}")]
    Mlx(#[from] mx::Error),
}

/// Tells MLX where the running app has its kernels, and says where that is; nothing outside an app. Before any array is made.
///
/// # Errors
/// When the app is damaged.
pub fn use_those_of_the_app() -> Result<Option<PathBuf>, KernelsError> {
    // Homebrew links the program for the terminal into a folder of its own: what counts is where the link leads.
    let program = std::env::current_exe().and_then(|path| path.canonicalize()).map_err(KernelsError::Program)?;
    let Some(path) = in_app(&program) else { return Ok(None) };
    check(&path)?;
    mx::set_metallib(&path)?;
    Ok(Some(path))
}

/// Where an app has its kernels, if the program is one of the two in it.
fn in_app(program: &Path) -> Option<PathBuf> {
    let folder = program.parent()?;
    let contents = folder.parent()?;
    let is_app = contents.ends_with("Contents") && contents.parent()?.extension().is_some_and(|ending| ending == "app");
    let is_of_programs = folder.ends_with("MacOS") || folder.ends_with("Helpers");
    (is_app && is_of_programs).then(|| contents.join(PLACE))
}

fn check(path: &Path) -> Result<(), KernelsError> {
    let mut start = [0; MAGIC.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
    match read {
        Ok(()) if start == *MAGIC => Ok(()),
        Err(source) if source.kind() != std::io::ErrorKind::UnexpectedEof => {
            Err(KernelsError::Read { path: path.to_owned(), source })
        }
        _ => Err(KernelsError::Damaged { path: path.to_owned() }),
    }
}

#[cfg(test)]
#[path = "kernels_tests.rs"]
mod tests;
