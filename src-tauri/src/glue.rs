//! What only an operating system can do, each behind a trait or a function with a twin for each system.

pub mod ask;
pub mod dock;
pub mod login_item;
pub mod notify;
pub mod sight;

use std::path::Path;

/// Opens a link in the browser: web addresses and mail only.
pub fn open_link(link: &str) {
    let is_link = ["https://", "http://", "mailto:"].iter().any(|scheme| link.starts_with(scheme));
    if !is_link {
        tracing::warn!("a page wanted to open {link}, which is no link");
        return;
    }
    if let Err(error) = tauri_plugin_opener::open_url(link, None::<&str>) {
        tracing::warn!(%error, "{link} cannot be opened");
    }
}

/// Shows a file or folder in the Finder or the file manager.
///
/// # Errors
/// When it is not there, or there is no such program.
pub fn reveal(path: &Path) -> anyhow::Result<()> {
    anyhow::ensure!(path.exists(), "{} is not there any more", path.display());
    Ok(tauri_plugin_opener::reveal_item_in_dir(path)?)
}

/// Opens the system's settings where icons are allowed into the menu bar.
///
/// # Errors
/// When this system has none.
#[cfg(target_os = "macos")]
pub fn open_menu_bar_settings() -> anyhow::Result<()> {
    Ok(tauri_plugin_opener::open_url(
        "x-apple.systempreferences:com.apple.ControlCenter-Settings.extension",
        None::<&str>,
    )?)
}

/// Opens the system's settings where icons are allowed into the menu bar.
///
/// # Errors
/// When this system has none.
#[cfg(not(target_os = "macos"))]
pub fn open_menu_bar_settings() -> anyhow::Result<()> {
    anyhow::bail!("this desktop has no such settings; add a panel that shows icons, such as AppIndicator for GNOME")
}

/// Puts text on the clipboard, where it stays while the app runs.
#[derive(Default)]
pub struct Clipboard(Option<arboard::Clipboard>);

impl Clipboard {
    /// Puts `text` there.
    ///
    /// # Errors
    /// When the system has no clipboard.
    pub fn put(&mut self, text: &str) -> anyhow::Result<()> {
        let clipboard = match &mut self.0 {
            Some(clipboard) => clipboard,
            empty => empty.insert(arboard::Clipboard::new()?),
        };
        Ok(clipboard.set_text(text)?)
    }
}
