//! What goes wrong in a fake backend, and when.

use crate::StepError;

/// One thing that goes wrong.
#[derive(Clone, Debug)]
pub struct Fault {
    /// In which call.
    pub call: Call,
    /// In the how manieth of those calls, from 0.
    pub nth: usize,
    /// What happens.
    pub effect: Effect,
}

/// A call of the backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// [`Backend::open`](crate::Backend::open).
    Open,
    /// [`Backend::submit`](crate::Backend::submit).
    Submit,
    /// [`Backend::collect`](crate::Backend::collect).
    Collect,
    /// [`Backend::keep`](crate::Backend::keep).
    Keep,
    /// [`Backend::snapshot`](crate::Backend::snapshot).
    Snapshot,
}

/// What a fault does.
#[derive(Clone, Debug)]
pub enum Effect {
    /// The call fails.
    Fail(StepError),
    /// The call panics with this text.
    Panic(String),
}
