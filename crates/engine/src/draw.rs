//! The only randomness: one uniform number for each position of each request.

/// Uniform in `[0, 1)` for the token at `position` of a sequence sampled with `seed`.
///
/// Depends on nothing else, so a resumed sequence or another batch draws the same numbers. Two rounds of the splitmix64
/// finalizer (Steele, Lea, Flood 2014): the seed is mixed first, so that neighbouring seeds do not share shifted streams.
pub(crate) fn uniform(seed: u64, position: usize) -> f32 {
    let bits = splitmix64(splitmix64(seed).wrapping_add(position as u64));
    // The top 24 bits: exact in an f32, and never 1.
    (bits >> 40) as f32 / (1u32 << 24) as f32
}

/// Advances by the golden-ratio increment and scrambles: a bijection of 64-bit numbers.
pub(crate) fn splitmix64(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
#[path = "draw_tests.rs"]
mod tests;
