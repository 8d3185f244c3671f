//! Whether the icon can be seen: menu bars drop icons that do not fit or are not allowed, without a word.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the icon was seen when that was last looked at; it is taken for seen until then.
#[derive(Debug, Default)]
pub struct Sight {
    is_missed: AtomicBool,
}

impl Sight {
    /// It was looked for, and not seen.
    pub fn miss(&self) {
        self.is_missed.store(true, Ordering::Release);
    }

    /// See the type.
    pub fn is_seen(&self) -> bool {
        !self.is_missed.load(Ordering::Acquire)
    }
}

/// A rectangle in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    /// Left edge.
    pub x: f64,
    /// Upper edge.
    pub y: f64,
    /// Width.
    pub width: f64,
    /// Height.
    pub height: f64,
}

/// Whether an icon with these edges is on any of these screens with its whole width.
pub fn is_on_screen(icon: Option<Area>, screens: &[Area]) -> bool {
    let Some(icon) = icon.filter(|icon| icon.width >= 1.0 && icon.height >= 1.0) else { return false };
    let inside = |screen: &Area| {
        icon.x >= screen.x
            && icon.x + icon.width <= screen.x + screen.width
            && icon.y + icon.height > screen.y
            && icon.y < screen.y + screen.height
    };
    screens.iter().any(inside)
}

/// Whether anything on the desktop's bus shows icons.
#[cfg(target_os = "linux")]
pub fn has_tray() -> bool {
    let ask = || -> zbus::Result<bool> {
        let bus = zbus::blocking::Connection::session()?;
        let name = "org.kde.StatusNotifierWatcher";
        let watcher = zbus::blocking::Proxy::new(&bus, name, "/StatusNotifierWatcher", name)?;
        watcher.get_property("IsStatusNotifierHostRegistered")
    };
    ask().unwrap_or_else(|error| {
        tracing::debug!(%error, "no tray answers");
        false
    })
}

#[cfg(test)]
#[path = "sight_tests.rs"]
mod tests;
