//! A long prompt that arrives while others stream: how long do they stand still?

use std::cell::Cell;
use std::pin::pin;
use std::time::Instant;

use anyhow::Result;
use futures::future::{Either, select, try_join_all};

use super::{ITL_MAX, ITL_P50, ITL_P95, Plan, TTFT, probe, some};
use crate::commands::bench::client::{Call, Endpoint, Stream};
use crate::commands::bench::prompts::Draw;
use crate::commands::bench::results::{Better, Metric, Sample};
use crate::commands::bench::statistics;

/// A server that lets the streams go on takes longer for the long prompt, which pays for these.
const MEANWHILE: Metric = Metric { name: "streamed meanwhile", unit: "tokens", better: Better::Neither };
const N_STREAMS: usize = 4;
const N_SHORT_PROMPT_TOKENS: usize = 64;
/// Tokens that each stream has before the long prompt comes.
const N_LEAD_TOKENS: usize = 8;
/// More than a server should need for the long prompt; the rest is not taken.
const N_OUTPUT_TOKENS: usize = 2048;

/// Waits of the streams between the arrival of the long prompt and its first token.
pub async fn run(endpoint: &Endpoint, plan: &Plan, mut draw: Draw) -> Result<Vec<Sample>> {
    let calls: Vec<Call> =
        (0..N_STREAMS).map(|_| plan.fresh_story(&mut draw, N_SHORT_PROMPT_TOKENS, N_OUTPUT_TOKENS)).collect();
    let long = probe(plan.fresh(&mut draw, plan.sizes.long_prompt_tokens as usize));
    let mut streams = try_join_all(calls.iter().map(|call| endpoint.open(call))).await?;
    let n_behind = Cell::new(N_STREAMS);
    try_join_all(streams.iter_mut().map(|stream| lead(stream, &n_behind))).await?;

    let arrived = {
        let arrival = pin!(endpoint.ask(&long));
        let others = pin!(try_join_all(streams.iter_mut().map(|stream| advance(stream, usize::MAX))));
        match select(arrival, others).await {
            Either::Left((answer, _)) => answer?,
            Either::Right((others, arrival)) => {
                others?;
                arrival.await?
            }
        }
    };
    // Whoever stood still until now has its wait only with the next token.
    try_join_all(streams.iter_mut().map(|stream| advance(stream, 1))).await?;
    let (from, to) = (arrived.sent, arrived.times.first().copied().unwrap_or(arrived.sent));
    let itls: Vec<f64> = streams.iter().flat_map(|stream| waits_within(&stream.so_far().times, from, to)).collect();
    let case = format!("{} tokens arrive at {N_STREAMS} streams", plan.sizes.long_prompt_tokens);
    let samples = [
        some(&case, TTFT, Some(arrived.ttft_s() * 1e3)),
        some(&case, ITL_P50, statistics::percentile(&itls, 0.50)),
        some(&case, ITL_P95, statistics::percentile(&itls, 0.95)),
        some(&case, ITL_MAX, statistics::percentile(&itls, 1.0)),
        some(&case, MEANWHILE, Some(itls.len() as f64)),
    ];
    Ok(samples.into_iter().flatten().collect())
}

/// Reads a stream until all have their lead. One that is ahead is read on: a server would have to hold back what nobody takes.
async fn lead(stream: &mut Stream, n_behind: &Cell<usize>) -> Result<()> {
    advance(stream, N_LEAD_TOKENS).await?;
    n_behind.set(n_behind.get() - 1);
    while n_behind.get() > 0 && stream.next().await?.is_some() {}
    Ok(())
}

async fn advance(stream: &mut Stream, n_tokens: usize) -> Result<()> {
    for _ in 0..n_tokens {
        if stream.next().await?.is_none() {
            break;
        }
    }
    Ok(())
}

/// Milliseconds between tokens, where any of the wait lies between `from` and `to`.
fn waits_within(times: &[Instant], from: Instant, to: Instant) -> Vec<f64> {
    let touches = |pair: &&[Instant]| pair[1] > from && pair[0] < to;
    times.windows(2).filter(touches).map(|pair| pair[1].duration_since(pair[0]).as_secs_f64() * 1e3).collect()
}

#[cfg(test)]
#[path = "arrival_tests.rs"]
mod tests;
