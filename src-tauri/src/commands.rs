//! What the window may ask of the shell: only what a browser cannot do. Everything else goes to the server over HTTP.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tauri::{AppHandle, Runtime, State};

use crate::glue;
use crate::glue::login_item::{LoginItem, State as LoginState};
use crate::glue::sight::Sight;

/// What the app is, for the window.
#[derive(Debug, Serialize)]
pub struct About {
    version: &'static str,
    os: &'static str,
    /// Whether the icon is where people can see it.
    is_icon_seen: bool,
}

/// What is to become of the login item.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wanted {
    /// Start at login.
    On,
    /// Do not.
    Off,
}

/// What the app is.
#[tauri::command]
pub fn about(sight: State<'_, Sight>) -> About {
    About { version: env!("CARGO_PKG_VERSION"), os: std::env::consts::OS, is_icon_seen: sight.is_seen() }
}

/// Whether the app starts at login, as the system has it.
#[tauri::command]
pub fn login_item(item: State<'_, Box<dyn LoginItem>>) -> LoginState {
    item.state()
}

/// Asks the system, and tells what it says then.
#[tauri::command]
pub fn set_login_item(item: State<'_, Box<dyn LoginItem>>, wanted: Wanted) -> Result<LoginState, String> {
    let outcome = match wanted {
        Wanted::On => item.enable(),
        Wanted::Off => item.disable(),
    };
    outcome.map(|()| item.state()).map_err(|error| tokbar_app::say::cause(&error))
}

/// Shows a file or folder.
#[tauri::command]
pub fn reveal(path: PathBuf) -> Result<(), String> {
    glue::reveal(&path).map_err(|error| tokbar_app::say::cause(&error))
}

/// Ends the app.
#[tauri::command]
pub fn quit<R: Runtime>(app: AppHandle<R>) {
    app.exit(0);
}
