//! Few numbers from many.

/// The value that the fraction `q` of `values` does not exceed (nearest rank); `None` of nothing.
pub fn percentile(values: &[f64], q: f64) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let rank = (q * values.len() as f64).ceil() as usize;
    values.get(rank.saturating_sub(1)).copied()
}

/// The middle value, or the mean of both middle ones; `None` of nothing.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let high = values.get(values.len() / 2)?;
    Some(f64::midpoint(values[(values.len() - 1) / 2], *high))
}

/// Median of the ratios of values that were taken in turn; of the medians where the counts differ, and `None` where one
/// side has nothing or a denominator is zero.
pub fn ratio(ours: &[f64], theirs: &[f64]) -> Option<f64> {
    let quotient = |ours: f64, theirs: f64| (theirs != 0.0).then(|| ours / theirs);
    if ours.len() == theirs.len() {
        let pairs = ours.iter().zip(theirs).map(|(&ours, &theirs)| quotient(ours, theirs));
        return median(&pairs.collect::<Option<Vec<f64>>>()?);
    }
    quotient(median(ours)?, median(theirs)?)
}

/// `n` per second; `None` when no time passed.
pub fn rate(n: usize, seconds: f64) -> Option<f64> {
    (seconds > 0.0).then(|| n as f64 / seconds)
}

#[cfg(test)]
#[path = "statistics_tests.rs"]
mod tests;
