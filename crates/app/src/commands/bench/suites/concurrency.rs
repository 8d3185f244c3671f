//! Many clients at once, none of which asks for as much as another.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Instant;

use anyhow::Result;

use super::{AGGREGATE, ITL_P50, ITL_P95, OUTPUT, Plan, TTFT, TTFT_P95, arrival, some};
use crate::commands::bench::client::{Answer, Call, Endpoint};
use crate::commands::bench::prompts::Draw;
use crate::commands::bench::results::Sample;
use crate::commands::bench::statistics;

/// Calls that each stream makes, one after the other.
const N_CALLS: usize = 2;

/// Ragged streams at every number of them, then a long prompt that arrives while some stream.
pub async fn run(endpoint: &Endpoint, plan: &Plan, mut draw: Draw) -> Result<Vec<Sample>> {
    let mut samples = Vec::new();
    for &n_streams in &plan.sizes.streams {
        samples.extend(ragged(endpoint, plan, &mut draw, usize::from(n_streams)).await?);
    }
    if plan.sizes.long_prompt_tokens > 0 {
        samples.extend(arrival::run(endpoint, plan, draw).await?);
    }
    Ok(samples)
}

async fn ragged(endpoint: &Endpoint, plan: &Plan, draw: &mut Draw, n_streams: usize) -> Result<Vec<Sample>> {
    let calls: VecDeque<Call> = (0..n_streams * N_CALLS).map(|_| ragged_call(plan, draw)).collect();
    let queue = Mutex::new(calls);
    let started = Instant::now();
    let answers = futures::future::try_join_all((0..n_streams).map(|_| stream(endpoint, &queue))).await?;
    let answers: Vec<Answer> = answers.into_iter().flatten().collect();
    let seconds =
        answers.iter().filter_map(|answer| answer.times.last()).map(|last| last.duration_since(started).as_secs_f64());
    Ok(summary(&format!("{n_streams} streams"), &answers, seconds.fold(0.0, f64::max)))
}

/// An eighth to a whole of a quarter of the prompt; half to a whole of the answer.
fn ragged_call(plan: &Plan, draw: &mut Draw) -> Call {
    let (n_prompt, n_output) = (plan.n_prompt() / 4, plan.n_output());
    let n_prompt = draw.between(n_prompt / 8, n_prompt);
    let n_output = draw.between((n_output / 2).max(1), n_output);
    plan.fresh_story(draw, n_prompt, n_output)
}

/// A client that makes the next call as soon as the last is answered.
async fn stream(endpoint: &Endpoint, queue: &Mutex<VecDeque<Call>>) -> Result<Vec<Answer>> {
    let mut answers = Vec::new();
    loop {
        let Some(call) = queue.lock().ok().and_then(|mut calls| calls.pop_front()) else { return Ok(answers) };
        answers.push(endpoint.ask(&call).await?);
    }
}

fn summary(case: &str, answers: &[Answer], seconds: f64) -> Vec<Sample> {
    let n_tokens: usize = answers.iter().map(Answer::n_tokens).sum();
    let ttfts: Vec<f64> = answers.iter().map(|answer| answer.ttft_s() * 1e3).collect();
    let itls: Vec<f64> = answers.iter().flat_map(Answer::itls_ms).collect();
    let samples = [
        some(case, AGGREGATE, statistics::rate(n_tokens, seconds)),
        some(case, TTFT, statistics::percentile(&ttfts, 0.50)),
        some(case, TTFT_P95, statistics::percentile(&ttfts, 0.95)),
        some(case, ITL_P50, statistics::percentile(&itls, 0.50)),
        some(case, ITL_P95, statistics::percentile(&itls, 0.95)),
        some(case, OUTPUT, Some(n_tokens as f64)),
    ];
    samples.into_iter().flatten().collect()
}
