use std::collections::BTreeMap;
use std::sync::Arc;

use tokbar_engine::{Draw, SamplingOptions, Terms, TokenBits};

use super::exclude::second_uniform;
use super::{Counts, SampleRow, UNIFORM_MAX, sample, score};
use crate::fixtures::uniforms;
use crate::flight::HostScores;
use crate::mx::{self, Array};

/// The slow obvious sampler, in f64. `None` where rounding may decide: a filter's or the draw's border is too near.
fn reference(logits: &[f32], options: &SamplingOptions, draw_of_row: &Draw, seen: &Seen) -> Option<u32> {
    let allowed = |token: usize| draw_of_row.mask().is_none_or(|mask| mask.holds(token as u32));
    let uniform = draw_of_row.uniform;
    let mask = |(token, &logit): (usize, &f32)| if allowed(token) { f64::from(logit) } else { f64::NEG_INFINITY };
    let mut logits: Vec<f64> = logits.iter().enumerate().map(mask).collect();
    for (&token, &bias) in &options.logit_bias {
        logits[token as usize] += f64::from(bias);
    }
    for (token, logit) in logits.iter_mut().enumerate() {
        let n_output = seen.output.iter().filter(|&&t| t as usize == token).count();
        if n_output > 0 || seen.prompt.contains(&(token as u32)) {
            let penalty = f64::from(options.repetition_penalty);
            *logit = if *logit > 0.0 { *logit / penalty } else { *logit * penalty };
        }
        if n_output > 0 {
            *logit -= f64::from(options.presence_penalty);
        }
        *logit -= f64::from(options.frequency_penalty) * n_output as f64;
    }
    for (token, bias) in draw_of_row.bias() {
        logits[*token as usize] += f64::from(*bias);
    }
    let mut order: Vec<usize> = (0..logits.len()).collect();
    order.sort_by(|&a, &b| logits[b].total_cmp(&logits[a]).then(a.cmp(&b)));
    if options.temperature == 0.0 {
        return (logits[order[0]] - logits[order[1]] > 1e-5).then_some(order[0] as u32);
    }
    logits.iter_mut().for_each(|logit| *logit /= f64::from(options.temperature));
    let kept = filter(&logits, &order, options)?;
    let kept = exclude(&logits, kept, options, uniform)?;
    draw(&logits, &kept, f64::from(uniform.min(UNIFORM_MAX)))
}

/// Tokens that top-k, top-p and min-p keep.
fn filter(logits: &[f64], order: &[usize], options: &SamplingOptions) -> Option<Vec<usize>> {
    let mut n_kept = if options.top_k == 0 { order.len() } else { options.top_k.min(order.len()) };
    let gap = |n: usize| {
        n == order.len() || logits[order[n]] == f64::NEG_INFINITY || logits[order[n - 1]] - logits[order[n]] > 1e-5
    };
    if !gap(n_kept) {
        return None;
    }
    if options.top_p < 1.0 {
        let weights: Vec<f64> = order[..n_kept].iter().map(|&token| (logits[token] - logits[order[0]]).exp()).collect();
        let total: f64 = weights.iter().sum();
        let mut sum = 0.0;
        let mut n_nucleus = 0;
        for weight in weights {
            if n_nucleus > 0 && (sum - f64::from(options.top_p)).abs() < 1e-5 {
                return None;
            }
            if n_nucleus > 0 && sum >= f64::from(options.top_p) {
                break;
            }
            sum += weight / total;
            n_nucleus += 1;
        }
        n_kept = n_nucleus;
    }
    let floor = logits[order[0]] + f64::from(options.min_p).ln();
    if order[..n_kept].iter().any(|&token| (logits[token] - floor).abs() < 1e-5) && n_kept > 1 && options.min_p < 1.0 {
        return None;
    }
    n_kept = order[..n_kept].iter().filter(|&&token| logits[token] >= floor).count().max(1);
    gap(n_kept).then(|| order[..n_kept].to_vec())
}

/// Tokens that XTC leaves; `kept` is in falling order.
fn exclude(logits: &[f64], kept: Vec<usize>, options: &SamplingOptions, uniform: f32) -> Option<Vec<usize>> {
    if second_uniform(uniform) >= options.xtc_probability {
        return Some(kept);
    }
    let weights: Vec<f64> = kept.iter().map(|&token| (logits[token] - logits[kept[0]]).exp()).collect();
    let total: f64 = weights.iter().sum();
    let is_near = |weight: &f64| (weight / total - f64::from(options.xtc_threshold)).abs() < 1e-5;
    if weights.iter().any(is_near) {
        return None;
    }
    let n_likely = weights.iter().filter(|&&weight| weight / total >= f64::from(options.xtc_threshold)).count();
    let n_out = n_likely.saturating_sub(1);
    if n_out > 0 && (weights[n_out - 1] - weights[n_out]).abs() < 1e-5 * total {
        return None;
    }
    Some(kept[n_out..].to_vec())
}

/// Inverse of the running sum, in the order of ids.
fn draw(logits: &[f64], kept: &[usize], uniform: f64) -> Option<u32> {
    let mut kept = kept.to_vec();
    kept.sort_unstable();
    let best = kept.iter().map(|&token| logits[token]).fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = kept.iter().map(|&token| (logits[token] - best).exp()).collect();
    let target = uniform * weights.iter().sum::<f64>();
    let mut sum = 0.0;
    for (&token, weight) in kept.iter().zip(&weights) {
        sum += weight;
        if (sum - target).abs() < 1e-5 * weights.iter().sum::<f64>() {
            return None;
        }
        if sum > target {
            return Some(token as u32);
        }
    }
    None
}

#[derive(Clone, Default)]
struct Seen {
    prompt: Vec<u32>,
    output: Vec<u32>,
}

fn pick<T: Clone>(numbers: &mut impl Iterator<Item = f32>, from: &[T]) -> T {
    from[(numbers.next().unwrap() * from.len() as f32) as usize].clone()
}

fn random_options(numbers: &mut impl Iterator<Item = f32>, n_vocab: usize) -> SamplingOptions {
    let token = |numbers: &mut dyn Iterator<Item = f32>| (numbers.next().unwrap() * n_vocab as f32) as u32;
    let n_bias = pick(numbers, &[0, 0, 3]);
    SamplingOptions {
        temperature: pick(numbers, &[0.0, 0.3, 0.7, 1.0, 2.5]),
        top_k: pick(numbers, &[0, 0, 1, 5, 40, 100_000]),
        top_p: pick(numbers, &[1.0, 1.0, 0.95, 0.5, 0.0]),
        min_p: pick(numbers, &[0.0, 0.0, 0.05, 0.5, 1.0]),
        repetition_penalty: pick(numbers, &[1.0, 1.0, 1.3, 0.8]),
        presence_penalty: pick(numbers, &[0.0, 0.0, 0.7, -0.4]),
        frequency_penalty: pick(numbers, &[0.0, 0.0, 0.5]),
        logit_bias: (0..n_bias).map(|_| (token(numbers), pick(numbers, &[-100.0, -1.0, 2.0, 100.0]))).collect(),
        xtc_probability: pick(numbers, &[0.0, 0.0, 0.5, 1.0]),
        xtc_threshold: pick(numbers, &[0.1, 0.02, 0.3, 0.7]),
        ..SamplingOptions::default()
    }
}

/// A row's inputs.
struct Row {
    options: SamplingOptions,
    draws: Vec<Draw>,
    drafts: Vec<u32>,
    seen: Seen,
    /// Of all draws.
    logits: Vec<f32>,
}

fn random_row(numbers: &mut impl Iterator<Item = f32>, n_vocab: usize) -> Row {
    let options = random_options(numbers, n_vocab);
    let spread = pick(numbers, &[1.0, 8.0, 30.0]);
    let token = |numbers: &mut dyn Iterator<Item = f32>| (numbers.next().unwrap() * n_vocab as f32) as u32;
    let mut tokens = |n: usize| -> Vec<u32> { (0..n).map(|_| token(numbers)).collect() };
    let seen = if options.has_penalties() { Seen { prompt: tokens(20), output: tokens(30) } } else { Seen::default() };
    let n_draws = pick(numbers, &[1, 1, 1, 2, 5]);
    let drafts = (1..n_draws).map(|_| token(numbers)).collect();
    let draws = (0..n_draws).map(|_| random_draw(numbers, n_vocab)).collect();
    let logits = (0..n_vocab * n_draws).map(|_| (numbers.next().unwrap() - 0.5) * spread).collect();
    Row { options, draws, drafts, seen, logits }
}

fn random_draw(numbers: &mut impl Iterator<Item = f32>, n_vocab: usize) -> Draw {
    let uniform = pick(numbers, &[0.0, 0.999_999_94, 0.3, 0.8, 0.123]);
    let part = pick(numbers, &[2.0, 2.0, 0.5, 0.0]);
    let n_biased = pick(numbers, &[0, 0, 2]);
    let mut bias: BTreeMap<u32, f32> = BTreeMap::new();
    for _ in 0..n_biased {
        let token = (numbers.next().unwrap() * n_vocab as f32) as u32;
        bias.insert(token, pick(numbers, &[-1.5, -100.0]));
    }
    let bias = bias.into_iter().collect();
    if part > 1.0 {
        return Draw::on(uniform, Terms { mask: None, bias });
    }
    let mut words = vec![0; n_vocab.div_ceil(32)];
    let lone = (numbers.next().unwrap() * n_vocab as f32) as usize;
    for token in (0..n_vocab).filter(|&token| token == lone || numbers.next().unwrap() < part) {
        words[token / 32] |= 1 << (token % 32);
    }
    Draw::on(uniform, Terms { mask: Some(Arc::new(TokenBits { words })), bias })
}

/// Draws for the rows at once, in order.
fn sample_rows(rows: &[Row], counts: &mut [Counts], n_vocab: usize) -> Vec<u32> {
    let mut samples: Vec<_> = rows
        .iter()
        .zip(counts)
        .map(|(row, counts)| SampleRow {
            options: &row.options,
            draws: &row.draws,
            drafts: &row.drafts,
            counts: row.options.has_penalties().then_some(counts),
        })
        .collect();
    let logits: Vec<f32> = rows.iter().flat_map(|row| row.logits.clone()).collect();
    let logits = Array::from_slice(&logits, &[(logits.len() / n_vocab) as i32, n_vocab as i32]);
    mx::to_u32(&sample(&logits, &mut samples).unwrap().tokens).unwrap()
}

#[test]
fn draws_equal_the_slow_samplers() {
    let mut numbers = uniforms("sampler");
    let (mut n_checked, mut n_draws) = (0, 0);
    for round in 0..700 {
        let n_vocab = pick(&mut numbers, &[5, 67, 512]);
        let rows: Vec<Row> = (0..1 + round % 5).map(|_| random_row(&mut numbers, n_vocab)).collect();
        let mut counts: Vec<_> =
            rows.iter().map(|row| Counts::new(&row.seen.prompt, &row.seen.output, n_vocab)).collect();
        let mut tokens = sample_rows(&rows, &mut counts, n_vocab).into_iter();
        for (row, counts) in rows.iter().zip(&counts) {
            let mut seen = row.seen.clone();
            for (at, (draw, logits)) in row.draws.iter().zip(row.logits.chunks(n_vocab)).enumerate() {
                let token = tokens.next().unwrap();
                n_draws += 1;
                seen.output.extend(at.checked_sub(1).map(|before| row.drafts[before]));
                if let Some(expected) = reference(logits, &row.options, draw, &seen) {
                    assert_eq!(token, expected, "round {round}: {:?} with {draw:?}", row.options);
                    n_checked += 1;
                }
                if row.options.has_penalties() {
                    let n_before = row.seen.output.iter().filter(|&&seen| seen == token).count() as f32;
                    let n_more = if row.draws.len() == 1 { 1.0 } else { 0.0 };
                    let counted = mx::to_f32(counts.array()).unwrap()[token as usize];
                    assert_eq!(counted, n_before + n_more, "a lone draw is counted");
                }
            }
        }
    }
    assert!(n_checked * 10 > n_draws * 8, "{n_checked} of {n_draws} draws were decidable");
}

#[test]
fn tokens_are_drawn_as_often_as_they_are_likely() {
    let logits = Array::from_slice(&[0.5_f32.ln(), 0.3_f32.ln(), 0.2_f32.ln(), f32::NEG_INFINITY], &[1, 4]);
    let options = SamplingOptions { temperature: 1.0, ..SamplingOptions::default() };
    let mut n_drawn = BTreeMap::new();
    for step in 0..1000 {
        let draws = [Draw::free(step as f32 / 1000.0)];
        let mut rows = [SampleRow { options: &options, draws: &draws, drafts: &[], counts: None }];
        let token = mx::to_u32(&sample(&logits, &mut rows).unwrap().tokens).unwrap()[0];
        *n_drawn.entry(token).or_insert(0) += 1;
    }
    for (token, expected) in [(0, 500_i32), (1, 300), (2, 200)] {
        assert!((n_drawn[&token] - expected).abs() <= 1, "{n_drawn:?}");
    }
    assert_eq!(n_drawn.len(), 3);
}

#[test]
fn top_choices_are_left_out_as_often_as_asked() {
    let n_on = (0..1000).filter(|step| second_uniform(*step as f32 / 1000.0) < 0.25).count();
    assert!((200..300).contains(&n_on), "{n_on} of 1000");
    let logits = [0.5_f32.ln(), 0.3_f32.ln(), 0.15_f32.ln(), 0.05_f32.ln()];
    for (threshold, expected) in
        [(0.1, [2, 3].as_slice()), (0.2, &[1, 2, 3]), (0.4, &[0, 1, 2, 3]), (0.9, &[0, 1, 2, 3])]
    {
        let options = SamplingOptions {
            temperature: 1.0,
            xtc_probability: 1.0,
            xtc_threshold: threshold,
            ..SamplingOptions::default()
        };
        let mut drawn: Vec<u32> = (0..100)
            .map(|step| {
                let draws = [Draw::free(step as f32 / 100.0)];
                let mut rows = [SampleRow { options: &options, draws: &draws, drafts: &[], counts: None }];
                mx::to_u32(&sample(&Array::from_slice(&logits, &[1, 4]), &mut rows).unwrap().tokens).unwrap()[0]
            })
            .collect();
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn, expected, "{threshold}");
    }
}

#[test]
fn a_vanishing_temperature_takes_the_likeliest_token() {
    let logits = [1.0_f32, 3.0, 40.0, -1.0];
    for temperature in [1e-6, 1e-38, f32::from_bits(1)] {
        let options = SamplingOptions { temperature, top_p: 0.9, ..SamplingOptions::default() };
        let warm = SamplingOptions { temperature: 1.0, ..SamplingOptions::default() };
        let draws = [Draw::free(0.5)];
        let row = |options| SampleRow { options, draws: &draws, drafts: &[], counts: None };
        let mut rows = [&options, &warm].map(row);
        let logits = Array::from_slice(&[logits, logits].concat(), &[2, 4]);
        assert_eq!(mx::to_u32(&sample(&logits, &mut rows).unwrap().tokens).unwrap(), [2, 2], "{temperature}");
    }
}

#[test]
fn scores_are_log_probabilities_of_the_raw_logits() {
    let logits = [1.0_f32, 3.0, 2.0, -1.0];
    let total = logits.iter().map(|logit| logit.exp()).sum::<f32>().ln();
    let array = Array::from_slice(&logits, &[1, 4]);
    let scores = score(&array, &Array::from_slice(&[2_u32], &[1]), 3).unwrap();
    let score = HostScores::read(&scores).unwrap().at(0, 2, 2);
    assert_eq!(score.token, 2);
    assert!((score.logprob - (2.0 - total)).abs() < 1e-5);
    assert_eq!(score.top.iter().map(|(token, _)| *token).collect::<Vec<_>>(), [1, 2]);
    assert!((score.top[0].1 - (3.0 - total)).abs() < 1e-5);
}
