//! Tokens for the positions of each row, on the device. The only randomness is the uniform number of each draw.
//!
//! Order: mask, logit bias, penalties, the draw's own bias, temperature, top-k, top-p, min-p, XTC, draw. A filter keeps every token at least as
//! likely as the last one it must keep, and the draw walks the kept tokens in the order of their ids, so that a row's
//! token does not depend on the rows beside it.

use tokbar_engine::{Draw, SamplingOptions, TokenId};

use crate::mx::{self, Array, Cut, Dtype, Result};

mod adjust;
mod exclude;
mod mask;

pub use mask::n_mask_words;

/// Logits whose exponentials are summed at a time.
const N_SUM_BLOCK: i32 = 256;

/// Largest uniform number used: one step below the sum of all probabilities even after rounding.
const UNIFORM_MAX: f32 = 0.999_999_7;

/// A row to sample.
pub struct SampleRow<'a> {
    /// How.
    pub options: &'a SamplingOptions,
    /// One for each of the row's last positions; at least one.
    pub draws: &'a [Draw],
    /// The input tokens at the positions of all draws but the first.
    pub drafts: &'a [TokenId],
    /// What the penalties count before the first draw. A lone draw is added; what drafts come to is known only on the
    /// host, which adds it by [`Counts::add_known`].
    pub counts: Option<&'a mut Counts>,
}

/// One draw with all that decides it.
struct Place<'a> {
    options: &'a SamplingOptions,
    draw: &'a Draw,
    counts: Option<&'a Counts>,
    /// Drafts that are taken for accepted.
    before: &'a [TokenId],
}

/// How often each token was seen, on the device.
#[derive(Clone, Debug)]
pub struct Counts {
    /// `[1, V]`, 1 where the prompt holds the token.
    prompt: Array,
    /// `[1, V]`, occurrences in the output.
    output: Array,
}

/// Sampled tokens and what was asked about them.
pub struct Sampled {
    /// `[N]`, `u32`: the draws of all rows, in order.
    pub tokens: Array,
    /// Log-probabilities, if any row wants them.
    pub scores: Option<Scores>,
}

/// Log-probabilities under the raw logits.
pub struct Scores {
    /// `[N, 1]`.
    pub logprobs: Array,
    /// `[N, n]` ids of the likeliest tokens in no order, and their log-probabilities; `None` for n = 0.
    pub top: Option<(Array, Array)>,
}

impl Counts {
    /// Counts of a sequence that starts with `prompt` and, after a preemption, `output`.
    pub fn new(prompt: &[TokenId], output: &[TokenId], n_vocab: usize) -> Self {
        let (mut seen, mut counts) = (vec![0.0_f32; n_vocab], vec![0.0_f32; n_vocab]);
        prompt.iter().filter(|token| (**token as usize) < n_vocab).for_each(|token| seen[*token as usize] = 1.0);
        output.iter().filter(|token| (**token as usize) < n_vocab).for_each(|token| counts[*token as usize] += 1.0);
        let shape = [1, n_vocab as i32];
        Self { prompt: Array::from_slice(&seen, &shape), output: Array::from_slice(&counts, &shape) }
    }

    /// The array that changes, for evaluation.
    pub fn array(&self) -> &Array {
        &self.output
    }

    /// Counts tokens of the output that the host knows.
    pub fn add_known(&mut self, tokens: &[TokenId]) -> Result<()> {
        if tokens.is_empty() {
            return Ok(());
        }
        let indices: Vec<i32> = tokens.iter().map(|token| *token as i32).collect();
        self.add(&Array::from_slice(&indices, &[1, indices.len() as i32]))
    }

    /// Counts the tokens of `[1, N]`, `i32`.
    fn add(&mut self, indices: &Array) -> Result<()> {
        let ones = Array::from_slice(&vec![1.0_f32; indices.dim(1) as usize], &[1, indices.dim(1)]);
        self.output = mx::scatter_add(&self.output, indices, &ones, 1)?;
        Ok(())
    }
}

/// Samples a token for every draw of the rows from `[N, V]` logits. All draws go through the same operations, however many
/// there are.
pub fn sample(logits: &Array, rows: &mut [SampleRow<'_>]) -> Result<Sampled> {
    let places = places(rows);
    let wants_scores = places.iter().any(|place| place.options.n_logprobs.is_some());
    let is_raw = places
        .iter()
        .all(|place| place.options.logit_bias.is_empty() && place.counts.is_none() && place.draw.bias().is_empty());
    let is_greedy = places.iter().all(|place| place.options.is_greedy());
    let allowed = mask::apply(logits, &places)?;
    if is_raw && is_greedy && !wants_scores {
        return Ok(Sampled { tokens: mx::argmax(&allowed, -1)?, scores: None });
    }
    let allowed = mx::cast(&allowed, Dtype::Float32)?;
    let adjusted = if is_raw { allowed } else { adjust::apply(&allowed, &places)? };
    let greedy = mx::argmax(&adjusted, -1)?;
    let tokens = if is_greedy { greedy } else { draw(&adjusted, &places, &greedy)? };
    let n_top = places.iter().filter_map(|place| place.options.n_logprobs).max();
    let scores = n_top.map(|n_top| score(logits, &tokens, n_top)).transpose()?;
    drop(places);
    count(rows, &tokens)?;
    Ok(Sampled { tokens, scores })
}

/// Counts the lone draws among `tokens`, `[N]`.
fn count(rows: &mut [SampleRow<'_>], tokens: &Array) -> Result<()> {
    if rows.iter().all(|row| row.counts.is_none()) {
        return Ok(());
    }
    let tokens = mx::reshape(&mx::cast(tokens, Dtype::Int32)?, &[1, tokens.dim(0)])?;
    let mut at = 0;
    for row in rows {
        if let (Some(counts), [_]) = (&mut row.counts, row.draws) {
            counts.add(&mx::slice(&tokens, &[cut(1, at)])?)?;
        }
        at += row.draws.len();
    }
    Ok(())
}

/// The draws of all rows.
fn places<'a>(rows: &'a [SampleRow<'_>]) -> Vec<Place<'a>> {
    let places = rows.iter().flat_map(|row| {
        row.draws.iter().enumerate().map(|(draw_idx, draw)| Place {
            options: row.options,
            draw,
            counts: row.counts.as_deref(),
            before: &row.drafts[..draw_idx.min(row.drafts.len())],
        })
    });
    places.collect()
}

/// Log-probabilities of `tokens` `[N]` and of the `n_top` likeliest tokens under `[N, V]` logits.
pub fn score(logits: &Array, tokens: &Array, n_top: usize) -> Result<Scores> {
    let logits = mx::cast(logits, Dtype::Float32)?;
    let total = log_total(&logits)?;
    let indices = mx::reshape(tokens, &[tokens.dim(0), 1])?;
    let logprobs = mx::subtract(&mx::take_along(&logits, &indices, -1)?, &total)?;
    let n_vocab = logits.dim(-1);
    let n_top = (n_top as i32).clamp(0, n_vocab);
    if n_top == 0 {
        return Ok(Scores { logprobs, top: None });
    }
    let order = mx::argpartition(&logits, n_vocab - n_top)?;
    let ids = mx::slice(&order, &[Cut { axis: 1, start: n_vocab - n_top, stop: n_vocab }])?;
    let values = mx::subtract(&mx::take_along(&logits, &ids, -1)?, &total)?;
    Ok(Scores { logprobs, top: Some((ids, values)) })
}

/// `[N, V]` to `[N, 1]`: the logarithm of the sum of exponentials. Summed in blocks, as a single f32 sum over a large
/// vocabulary loses four digits on a CPU.
fn log_total(logits: &Array) -> Result<Array> {
    let (n_rows, n_vocab) = (logits.dim(0), logits.dim(1));
    let n_even = n_vocab - n_vocab % N_SUM_BLOCK;
    if n_even == 0 {
        return mx::logsumexp(logits, -1);
    }
    let even = mx::slice(logits, &[Cut { axis: 1, start: 0, stop: n_even }])?;
    let blocks = mx::reshape(&even, &[n_rows, n_even / N_SUM_BLOCK, N_SUM_BLOCK])?;
    let mut sums = mx::reshape(&mx::logsumexp(&blocks, -1)?, &[n_rows, n_even / N_SUM_BLOCK])?;
    if n_even < n_vocab {
        let rest = mx::slice(logits, &[Cut { axis: 1, start: n_even, stop: n_vocab }])?;
        sums = mx::concatenate(&[&sums, &mx::logsumexp(&rest, -1)?], 1)?;
    }
    mx::logsumexp(&sums, -1)
}

fn cut(axis: usize, at: usize) -> Cut {
    Cut { axis, start: at as i32, stop: at as i32 + 1 }
}

/// `[N, 1]`: a number of each place.
fn column(places: &[Place<'_>], value: impl Fn(&Place<'_>) -> f32) -> Array {
    Array::from_slice(&places.iter().map(value).collect::<Vec<_>>(), &[places.len() as i32, 1])
}

/// Draws from the filtered distribution; greedy ones keep `greedy`.
fn draw(logits: &Array, places: &[Place<'_>], greedy: &Array) -> Result<Array> {
    let temperature = column(places, |place| if place.options.is_greedy() { 1.0 } else { place.options.temperature });
    let mut scaled = mx::divide(logits, &temperature)?;
    if let Some(threshold) = threshold(&scaled, places)? {
        scaled = mx::select(&mx::greater_equal(&scaled, &threshold)?, &scaled, &mx::scalar(f32::NEG_INFINITY))?;
    }
    let probs = exclude::apply(&mx::softmax(&scaled, -1)?, places)?;
    let sums = mx::cumsum(&probs, -1)?;
    let n_vocab = sums.dim(-1);
    let total = mx::slice(&sums, &[cut(1, n_vocab as usize - 1)])?;
    let target = mx::multiply(&total, &column(places, |place| place.draw.uniform.min(UNIFORM_MAX)))?;
    // A parallel running sum may waver by a rounding error: only tokens that were kept can be drawn.
    let sums = mx::select(&mx::greater(&probs, &mx::scalar(0.0))?, &sums, &mx::scalar(-1.0))?;
    let drawn = mx::argmax(&mx::greater(&sums, &target)?, -1)?;
    if !places.iter().any(|place| place.options.is_greedy()) {
        return Ok(drawn);
    }
    let is_greedy: Vec<bool> = places.iter().map(|place| place.options.is_greedy()).collect();
    mx::select(&Array::from_slice(&is_greedy, &[places.len() as i32]), greedy, &drawn)
}

/// `[N, 1]` least scaled logit that top-k, top-p and min-p keep; `None` when no place filters.
fn threshold(scaled: &Array, places: &[Place<'_>]) -> Result<Option<Array>> {
    let is_open = |place: &Place<'_>| {
        let SamplingOptions { top_k, top_p, min_p, .. } = *place.options;
        place.options.is_greedy() || (top_k == 0 && top_p >= 1.0 && min_p == 0.0)
    };
    if places.iter().all(is_open) {
        return Ok(None);
    }
    let shape = [places.len() as i32, 1];
    let n_vocab = scaled.dim(-1) as usize;
    let likeliest = mx::max(scaled, -1)?;
    let mut threshold = {
        let floors: Vec<f32> = places.iter().map(|place| place.options.min_p.ln()).collect(); // ln 0 = -inf keeps all
        mx::add(&likeliest, &Array::from_slice(&floors, &shape))?
    };
    if places.iter().any(|place| place.options.top_k > 0 || place.options.top_p < 1.0) {
        let sorted = mx::sort(scaled, -1)?;
        let kth: Vec<u32> = places.iter().map(|place| kth(place.options.top_k, n_vocab)).collect();
        let kth = mx::take_along(&sorted, &Array::from_slice(&kth, &shape), -1)?;
        let floor =
            if places.iter().any(|place| place.options.top_p < 1.0) { nucleus(&sorted, &kth, places)? } else { kth };
        threshold = mx::maximum(&threshold, &floor)?;
    }
    // Rounding must never drop the likeliest token.
    Ok(Some(mx::minimum(&threshold, &likeliest)?))
}

/// Index of the `top_k`-th largest in ascending order.
fn kth(top_k: usize, n_vocab: usize) -> u32 {
    if top_k == 0 || top_k >= n_vocab { 0 } else { (n_vocab - top_k) as u32 }
}

/// `[N, 1]` least of the ascending `sorted` logits that top-p keeps among those not below `kth`.
fn nucleus(sorted: &Array, kth: &Array, places: &[Place<'_>]) -> Result<Array> {
    let kept = mx::select(&mx::greater_equal(sorted, kth)?, sorted, &mx::scalar(f32::NEG_INFINITY))?;
    let sums = mx::cumsum(&mx::softmax(&kept, -1)?, -1)?;
    // A token stays while those likelier than it sum to less than top_p: while the sum up to it exceeds 1 - top_p.
    let excess: Vec<f32> =
        places.iter().map(|place| if place.options.top_p < 1.0 { 1.0 - place.options.top_p } else { -1.0 }).collect();
    let stays = mx::greater(&sums, &Array::from_slice(&excess, &[places.len() as i32, 1]))?;
    let floor = mx::min(&mx::select(&stays, &kept, &mx::scalar(f32::INFINITY))?, -1)?;
    mx::maximum(&floor, kth)
}

#[cfg(test)]
#[path = "sample_tests.rs"]
mod tests;
