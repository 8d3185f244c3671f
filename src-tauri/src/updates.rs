//! What is known of updates of the app.

use std::sync::{Mutex, PoisonError};

use tokbar_app::update::{Hold, Work};

/// What is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Standing {
    /// Nobody has looked yet.
    #[default]
    Unknown,
    /// It is being looked for.
    Looking,
    /// There is none.
    UpToDate,
    /// There is one that cannot be installed now, and why.
    Waiting {
        /// Of the update.
        version: String,
        /// What to do, or what ends by itself.
        why: String,
    },
    /// There is one, and it can be installed.
    Ready {
        /// Of the update.
        version: String,
        /// What is new.
        notes: String,
    },
    /// It could not be looked for or installed, and why.
    Failed(String),
}

/// Whether a person wants it to look by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// They do.
    Yes,
    /// They do not.
    No,
}

/// See the module.
#[derive(Default)]
pub struct Updates {
    standing: Mutex<Standing>,
}

impl Updates {
    /// What is known now.
    pub fn standing(&self) -> Standing {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A person asks: looks now.
    pub fn look(&self) {
        *self.standing.lock().unwrap_or_else(PoisonError::into_inner) = Standing::Failed(Hold::Loose.to_string());
    }

    /// To be called now and then: looks when it is time, if that is wanted.
    pub fn beat(&self, _wanted: Wanted, _work: Work) {}

    /// Installs what is ready, and starts the app again.
    pub fn install(&self) {}
}
