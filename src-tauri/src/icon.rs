//! The icon in the menu bar, whose shape tells the state. It is black on nothing, which systems tint for light and dark bars.

use tauri::image::Image;
use tauri::include_image;

use crate::menu::{Live, Phase, Trouble};

/// What the icon tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Nothing is loaded.
    Stopped,
    /// A model comes.
    Loading,
    /// A model waits for calls.
    Serving,
    /// Calls run.
    Busy,
    /// Something needs care.
    Attention,
}

impl Shape {
    /// Of what is the case.
    pub fn of(live: &Live) -> Self {
        match (&live.trouble, live.main().map(|model| model.phase)) {
            (Some(Trouble::NotServing(_)), _) | (Some(_), None) => Self::Attention,
            (_, None | Some(Phase::Leaving)) => Self::Stopped,
            (_, Some(Phase::Loading { .. })) => Self::Loading,
            (_, Some(Phase::Ready)) => Self::Serving,
            (_, Some(Phase::Prefill { .. } | Phase::Decode { .. })) => Self::Busy,
        }
    }
}

/// 18 points, in pixels of 2 for each.
pub fn template(shape: Shape) -> Image<'static> {
    match shape {
        Shape::Stopped => include_image!("../assets/tray/stopped@2x.png"),
        Shape::Loading => include_image!("../assets/tray/loading@2x.png"),
        Shape::Serving => include_image!("../assets/tray/serving@2x.png"),
        Shape::Busy => include_image!("../assets/tray/busy@2x.png"),
        Shape::Attention => include_image!("../assets/tray/attention@2x.png"),
    }
}

#[cfg(test)]
#[path = "icon_tests.rs"]
mod tests;
