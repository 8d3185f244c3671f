//! Apple's icon file: a list of PNG images, one for each size.

use anyhow::{Context, ensure};

/// Image kinds by their width and height in pixels.
const KINDS: &[(u32, &[u8; 4])] =
    &[(16, b"icp4"), (32, b"icp5"), (64, b"icp6"), (128, b"ic07"), (256, b"ic08"), (512, b"ic09"), (1024, b"ic10")];
/// Smaller than this the Finder shows a blur.
const MIN_LARGEST: u32 = 512;

/// The icon file of these PNG images; sizes that Macs have no use for are left out.
pub fn pack(images: &[Vec<u8>]) -> anyhow::Result<Vec<u8>> {
    let mut parts: Vec<(u32, &[u8; 4], &[u8])> = Vec::new();
    for image in images {
        let size = size(image)?;
        if let Some((_, kind)) = KINDS.iter().find(|(width, _)| *width == size) {
            parts.push((size, kind, image));
        }
    }
    parts.sort_by_key(|(size, _, _)| *size);
    parts.dedup_by_key(|(size, _, _)| *size);
    let largest = parts.last().map_or(0, |(size, _, _)| *size);
    ensure!(largest >= MIN_LARGEST, "the largest icon has {largest} pixels; a Mac wants {MIN_LARGEST} or 1024");
    let body: Vec<u8> = parts.iter().flat_map(|(_, kind, image)| block(kind, image)).collect();
    Ok(block(b"icns", &body))
}

/// A kind, the length with these eight bytes, and the bytes.
fn block(kind: &[u8; 4], bytes: &[u8]) -> Vec<u8> {
    let length = (bytes.len() as u32 + 8).to_be_bytes();
    [&kind[..], &length, bytes].concat()
}

/// Width of a square PNG image.
fn size(png: &[u8]) -> anyhow::Result<u32> {
    ensure!(png.starts_with(b"\x89PNG\r\n\x1a\n"), "an icon is no PNG image");
    let word = |at: usize| png.get(at..).and_then(|rest| rest.first_chunk::<4>()).map(|word| u32::from_be_bytes(*word));
    let (width, height) = word(16).zip(word(20)).context("an icon's PNG image ends too early")?;
    ensure!(width == height, "an icon of {width} x {height} pixels is not square");
    Ok(width)
}

#[cfg(test)]
#[path = "icns_tests.rs"]
mod tests;
