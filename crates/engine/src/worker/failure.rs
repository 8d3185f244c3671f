//! What is told of a worker that failed.

use std::any::Any;
use std::thread::JoinHandle;

use crate::StartError;

/// Why a worker ended before it was ready.
pub(super) fn start_error(thread: JoinHandle<Result<(), StartError>>) -> StartError {
    match thread.join() {
        Ok(Err(error)) => error,
        Ok(Ok(())) => StartError::Panicked { detail: "it ended early".to_owned() },
        Err(panic) => StartError::Panicked { detail: panic_text(panic.as_ref()).to_owned() },
    }
}

/// What a panic said.
pub(super) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("panic without a message")
}
