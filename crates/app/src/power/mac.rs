//! The system's own `caffeinate`, which holds an idle-sleep assertion while it runs and ends with us.

use std::process::Child;

use super::Assertion;
use crate::wiring;

/// Runs while the assertion is held.
#[derive(Default)]
pub struct Caffeinate {
    child: Option<Child>,
}

impl Assertion for Caffeinate {
    fn take(&mut self) {
        match wiring::start_caffeinate() {
            Ok(child) => self.child = Some(child),
            Err(error) => tracing::debug!(%error, "the machine may fall asleep"),
        }
    }

    fn release(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        if let Err(error) = child.kill().and_then(|()| child.wait()) {
            tracing::debug!(%error, "caffeinate was gone");
        }
    }
}
