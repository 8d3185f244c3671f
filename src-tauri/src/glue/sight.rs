//! Whether the icon can be seen: menu bars drop icons that do not fit or are not allowed, without a word.

/// How far below a screen's upper edge an icon in its bar begins at most, in its own heights: bars beside a camera are tall.
const N_HEIGHTS_MAX: f64 = 2.0;

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

/// Whether an icon with these edges is in the menu bar of any of these screens with its whole width. One that has no place in
/// a bar keeps its size, and lies in a lower corner.
pub fn is_in_bar(icon: Option<Area>, screens: &[Area]) -> bool {
    let Some(icon) = icon.filter(|icon| icon.width >= 1.0 && icon.height >= 1.0) else { return false };
    let inside = |screen: &Area| {
        icon.x >= screen.x
            && icon.x + icon.width <= screen.x + screen.width
            && icon.y + icon.height > screen.y
            && icon.y < screen.y + N_HEIGHTS_MAX * icon.height
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
