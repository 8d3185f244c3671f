//! Versions that have to fit one another. To raise MLX, change these together with `mlx-rs` and `mlx-sys` in the root
//! `Cargo.toml`; set-up checks that mlx-c asks for the same MLX.

use crate::python::Wheel;

/// The MLX that `mlx-sys` wraps; the wheel has the same number.
pub const MLX_VERSION: &str = "0.32.2";
/// The wheel with `libmlx.so`, headers and CMake files (CPU backend).
pub const MLX_WHEEL: Wheel = Wheel {
    requirement: "mlx-cpu==0.32.2",
    sha256: &["fc5d31b90fc4f457b2f9614ed45651a567d22a6a11a03d114a90a4e10bdd8878"],
};
/// Apple's own build for the Mac: `libmlx.dylib`, `mlx.metallib` and headers, for macOS 14 and later.
pub const MLX_METAL_WHEEL: Wheel = Wheel {
    requirement: "mlx-metal==0.32.2",
    sha256: &["3825fff379dbc107dd3413e564a06caeaa24819910ec49c0439e454c06a1b9b8"],
};
/// The platform that the wheel is for, as pip writes it.
pub const MLX_METAL_PLATFORM: &str = "macosx_14_0_arm64";
/// Rises when the Mac's folder is laid out in another way.
pub const MAC_LAYOUT: u32 = 1;
/// Rises when set-up lays out the folder in another way, or with other options.
pub const LAYOUT: u32 = 1;
