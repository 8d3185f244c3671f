//! XTC ("exclude top choices", by p-e-w): now and then all likely tokens but the least likely of them are left out.

use super::Place;
use crate::mx::{self, Array, Result};

/// No probability reaches it.
const NEVER: f32 = 2.0;

/// `[N, V]` probabilities, 0 where a place leaves a token out. With one likely token, or none, nothing is left out.
pub(super) fn apply(probs: &Array, places: &[Place<'_>]) -> Result<Array> {
    let thresholds: Vec<f32> =
        places.iter().map(|place| if is_on(place) { place.options.xtc_threshold } else { NEVER }).collect();
    if thresholds.iter().all(|threshold| *threshold == NEVER) {
        return Ok(probs.clone());
    }
    let threshold = Array::from_slice(&thresholds, &[places.len() as i32, 1]);
    let likely = mx::select(&mx::greater_equal(probs, &threshold)?, probs, &mx::scalar(f32::INFINITY))?;
    let least = mx::min(&likely, -1)?;
    mx::select(&mx::greater(probs, &least)?, &mx::scalar(0.0), probs)
}

fn is_on(place: &Place<'_>) -> bool {
    !place.options.is_greedy() && second_uniform(place.draw.uniform) < place.options.xtc_probability
}

/// A number in `[0, 1)` from the draw's own, as good as independent of it: a draft is verified with the same numbers.
pub(super) fn second_uniform(uniform: f32) -> f32 {
    let mut bits = u64::from(uniform.to_bits()).wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^= bits >> 31;
    (bits >> 40) as f32 / (1_u32 << 24) as f32
}
