//! What the window may ask of the shell: only what a browser cannot do. Everything else goes to the server over HTTP.

use std::path::PathBuf;

use serde::Serialize;
use tauri::{AppHandle, Manager, Runtime, State};

use crate::glue;
use crate::glue::dock::Dock;
use crate::glue::login_item::{LoginItem, State as LoginState};
use crate::shell::Shell;
use crate::updates::{Standing, Updates};

/// What the app is, for the window.
#[derive(Debug, Serialize)]
pub struct About {
    version: &'static str,
    os: &'static str,
    /// Whether the icon is where people can see it.
    is_icon_seen: bool,
}

/// What the app is.
#[tauri::command]
pub fn about(dock: State<'_, Dock>) -> About {
    let is_icon_seen = !dock.facts().is_icon_missed;
    About { version: env!("CARGO_PKG_VERSION"), os: std::env::consts::OS, is_icon_seen }
}

/// Whether the app starts at login, as the system has it.
#[tauri::command]
pub fn login_item(item: State<'_, Box<dyn LoginItem>>) -> bool {
    item.state() == LoginState::On
}

/// Asks the system, and tells whether it does then.
#[tauri::command]
pub fn set_login_item(item: State<'_, Box<dyn LoginItem>>, on: bool) -> Result<bool, String> {
    let outcome = if on { item.enable() } else { item.disable() };
    outcome.map_err(|error| tokbar_app::say::cause(&error))?;
    match item.state() {
        LoginState::NeedsApproval => Err("allow Tokbar in the system's settings for login items".to_owned()),
        LoginState::Unavailable => Err("move Tokbar to the folder of applications first".to_owned()),
        state => Ok(state == LoginState::On),
    }
}

/// Shows a file or folder.
#[tauri::command]
pub fn reveal(path: PathBuf) -> Result<(), String> {
    glue::reveal(&path).map_err(|error| tokbar_app::say::cause(&error))
}

/// Opens the system's settings where the icon is allowed into the menu bar.
#[tauri::command]
pub fn open_menu_bar_settings() -> Result<(), String> {
    glue::open_menu_bar_settings().map_err(|error| tokbar_app::say::cause(&error))
}

/// What is known of updates, for the window.
#[derive(Debug, PartialEq, Serialize)]
pub struct Update {
    /// In a sentence; nothing before anybody has looked.
    words: String,
    /// Whether somebody looks, or fetches what was found.
    is_looking: bool,
    /// What can be installed now.
    ready: Option<Release>,
}

/// A version that is here and checked.
#[derive(Debug, PartialEq, Serialize)]
pub struct Release {
    version: String,
    /// What its makers say about it, as plain text.
    notes: String,
}

impl Update {
    /// With the words of a person's language.
    #[must_use]
    pub fn of(standing: Standing, words: String) -> Self {
        let is_looking = standing == Standing::Looking;
        let words = if standing == Standing::Unknown { String::new() } else { words };
        let ready = match standing {
            Standing::Ready { version, notes } => Some(Release { version, notes }),
            _ => None,
        };
        Self { words, is_looking, ready }
    }

    fn now(app: &AppHandle) -> Self {
        let standing = app.state::<Updates>().standing();
        let words = app.state::<Shell>().about_updates(&standing);
        Self::of(standing, words)
    }
}

/// What is known of updates.
#[tauri::command]
pub fn update(app: AppHandle) -> Update {
    Update::now(&app)
}

/// Installs the update that is ready, as soon as the app is idle; the app then starts anew.
#[tauri::command]
pub fn install_update(app: AppHandle) {
    app.state::<Updates>().install();
}

/// Looks for an update, and tells what came of it.
#[tauri::command]
pub async fn check_for_updates(app: AppHandle) -> Update {
    let looked = app.state::<Updates>().look();
    // Whoever drops the order is busy with one before, of which the standing tells.
    if looked.await.is_err() {
        tracing::debug!("one look for updates at a time");
    }
    Update::now(&app)
}

/// Ends the app.
#[tauri::command]
pub fn quit<R: Runtime>(app: AppHandle<R>) {
    app.exit(0);
}

#[cfg(test)]
#[path = "commands_tests.rs"]
mod tests;
