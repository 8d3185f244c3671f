//! The icon in the menu bar, whose shape tells the state, and the dots in the menu. The icon is black on nothing, which systems
//! tint for light and dark bars.

use tauri::image::Image;
use tauri::include_image;

use crate::menu::{Dot, Live, Phase, Trouble};

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
        Shape::Stopped => include_image!("./icons/tray/stopped.png"),
        Shape::Loading => include_image!("./icons/tray/loading.png"),
        Shape::Serving => include_image!("./icons/tray/serving.png"),
        Shape::Busy => include_image!("./icons/tray/busy.png"),
        Shape::Attention => include_image!("./icons/tray/attention.png"),
    }
}

/// Pixels of a dot's side.
const DOT_SIDE: u32 = 24;

/// A round dot with a soft edge.
pub fn dot(dot: Dot) -> Image<'static> {
    let [r, g, b] = match dot {
        Dot::Green => [0x2f, 0xa8, 0x4f],
        Dot::Amber => [0xe6, 0x9a, 0x1c],
        Dot::Red => [0xd9, 0x3a, 0x36],
        Dot::Grey => [0x8e, 0x8e, 0x93],
    };
    let centre = f64::from(DOT_SIDE - 1) / 2.0;
    let radius = f64::from(DOT_SIDE) / 4.0;
    let pixel = |idx: u32| {
        let (x, y) = (f64::from(idx % DOT_SIDE) - centre, f64::from(idx / DOT_SIDE) - centre);
        let cover = (radius + 0.5 - x.hypot(y)).clamp(0.0, 1.0);
        [r, g, b, (cover * 255.0) as u8]
    };
    Image::new_owned((0..DOT_SIDE * DOT_SIDE).flat_map(pixel).collect(), DOT_SIDE, DOT_SIDE)
}

#[cfg(test)]
#[path = "icon_tests.rs"]
mod tests;
