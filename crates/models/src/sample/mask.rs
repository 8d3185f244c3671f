//! Grammar masks: tokens that may not be drawn get a logit of minus infinity, before everything else.

use tokbar_engine::TokenBits;

use super::Place;
use crate::mx::{self, Array, Cut, Result};

/// Bits of a mask's word.
const N_WORD_BITS: usize = 32;

/// Words that hold a bit for each of `n_vocab` tokens.
pub fn n_mask_words(n_vocab: usize) -> usize {
    n_vocab.div_ceil(N_WORD_BITS)
}

/// `[N, V]` logits, minus infinity where a place's mask has no bit. Masks travel packed and are unpacked on the device.
pub(super) fn apply(logits: &Array, places: &[Place<'_>]) -> Result<Array> {
    if places.iter().all(|place| place.draw.mask().is_none()) {
        return Ok(logits.clone());
    }
    let n_vocab = logits.dim(-1);
    let (n_places, n_words) = (places.len() as i32, n_mask_words(n_vocab as usize));
    let mut words = Vec::with_capacity(places.len() * n_words);
    for place in places {
        extend(&mut words, place.draw.mask(), n_words);
    }
    let words = Array::from_slice(&words, &[n_places, n_words as i32, 1]);
    let bits: Vec<u32> = (0..N_WORD_BITS as u32).map(|bit| 1 << bit).collect();
    let bits = mx::bitwise_and(&words, &Array::from_slice(&bits, &[1, 1, N_WORD_BITS as i32]))?;
    let bits = mx::reshape(&bits, &[n_places, (n_words * N_WORD_BITS) as i32])?;
    let bits = mx::slice(&bits, &[Cut { axis: 1, start: 0, stop: n_vocab }])?;
    let is_allowed = mx::greater(&bits, &Array::from_slice(&[0_u32], &[1]))?;
    let nothing = mx::cast(&mx::scalar(f32::NEG_INFINITY), logits.dtype())?;
    mx::select(&is_allowed, logits, &nothing)
}

/// Adds `n_words` words: those of the mask, or all ones where there is none. Words that a mask lacks allow nothing.
fn extend(words: &mut Vec<u32>, mask: Option<&TokenBits>, n_words: usize) {
    let n_before = words.len();
    match mask {
        Some(mask) => words.extend(mask.words.iter().take(n_words)),
        None => words.resize(n_before + n_words, u32::MAX),
    }
    words.resize(n_before + n_words, 0);
}
