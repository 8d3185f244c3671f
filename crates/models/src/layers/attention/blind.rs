//! For measurements: attention without scores, so that what is timed is everything else.

use std::cell::Cell;

thread_local! {
    static IS_ON: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f` with queries in place of what they would read.
pub fn blind<T>(f: impl FnOnce() -> T) -> T {
    IS_ON.set(true);
    let out = f();
    IS_ON.set(false);
    out
}

pub fn is_on() -> bool {
    IS_ON.get()
}
