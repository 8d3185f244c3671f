//! Whether the Dock, and with it the list of apps that one switches between, has the app. Linux knows windows only, which their
//! lists show by themselves.

use std::sync::{Mutex, PoisonError};

use tauri::AppHandle;

/// What that hangs on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Whether the window is shown.
    pub has_window: bool,
    /// Whether a person wants it there at all times.
    pub is_wanted: bool,
    /// Whether the icon in the menu bar was looked for, and not seen: then the Dock is the way back.
    pub is_icon_missed: bool,
}

/// How the system treats the app.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// As a program with windows.
    Regular,
    /// As an icon in the menu bar.
    Accessory,
}

impl Facts {
    /// What follows from them.
    pub fn policy(self) -> Policy {
        let Self { has_window, is_wanted, is_icon_missed } = self;
        if has_window || is_wanted || is_icon_missed { Policy::Regular } else { Policy::Accessory }
    }
}

/// The facts as they are; a change of what follows is told to the system.
#[derive(Debug, Default)]
pub struct Dock {
    facts: Mutex<Facts>,
}

impl Dock {
    /// As they are now.
    pub fn facts(&self) -> Facts {
        *self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes them.
    pub fn change(&self, app: &AppHandle, change: impl FnOnce(&mut Facts)) {
        if let Some(policy) = self.changed(change) {
            apply(app, policy);
        }
    }

    /// Changes them, and tells what is to follow, if that is something else than before.
    fn changed(&self, change: impl FnOnce(&mut Facts)) -> Option<Policy> {
        let mut facts = self.facts.lock().unwrap_or_else(PoisonError::into_inner);
        let before = facts.policy();
        change(&mut facts);
        (facts.policy() != before).then(|| facts.policy())
    }
}

#[cfg(target_os = "macos")]
fn apply(app: &AppHandle, policy: Policy) {
    let policy = match policy {
        Policy::Regular => tauri::ActivationPolicy::Regular,
        Policy::Accessory => tauri::ActivationPolicy::Accessory,
    };
    if let Err(error) = app.set_activation_policy(policy) {
        tracing::warn!(%error, "the Dock icon stays as it is");
    }
}

#[cfg(not(target_os = "macos"))]
fn apply(_app: &AppHandle, policy: Policy) {
    tracing::debug!(?policy, "there is no Dock");
}

#[cfg(test)]
#[path = "dock_tests.rs"]
mod tests;
