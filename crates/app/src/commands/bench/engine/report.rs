//! From token times to the figures people compare.

use std::time::Duration;

use serde::Serialize;

use super::measure::{Pair, Run, Stream, Workload};

/// Medians over the measured runs.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Prompt length in tokens.
    pub n_prompt: usize,
    /// Tokens generated per stream.
    pub n_output: usize,
    /// Streams at once.
    pub n_streams: usize,
    /// Measured runs.
    pub n_runs: usize,
    /// Start of loading to ready, seconds.
    pub load_s: f64,
    /// Submit to first token, seconds.
    pub ttft_s: f64,
    /// Prompt tokens over TTFT, all streams together, tokens a second.
    pub prefill_tps: f64,
    /// Tokens after the first over the time they took, all streams together, tokens a second.
    pub decode_tps: f64,
    /// Inter-token latency, median, milliseconds.
    pub itl_p50_ms: f64,
    /// Inter-token latency, 95th percentile, milliseconds.
    pub itl_p95_ms: f64,
    /// Most memory the process held, bytes.
    pub peak_rss_bytes: u64,
    /// Decode throughput of the runs held to a form, if there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<Held>,
}

/// What holding the output to a form costs.
#[derive(Debug, Serialize)]
pub struct Held {
    /// As of the free runs, tokens a second.
    pub decode_tps: f64,
    /// Median of its ratio to the free run just before; below 1 is slower.
    pub ratio: f64,
}

impl Report {
    /// Sums up the runs.
    pub fn new(workload: &Workload, pairs: &[Pair], load: Duration, peak_rss_bytes: u64) -> Self {
        let runs: Vec<&Run> = pairs.iter().map(|pair| &pair.free).collect();
        let itls: Vec<f64> = runs.iter().flat_map(|run| &run.streams).flat_map(itls_ms).collect();
        Self {
            n_prompt: workload.prompt.len(),
            n_output: workload.n_output,
            n_streams: workload.n_streams,
            n_runs: runs.len(),
            load_s: load.as_secs_f64(),
            ttft_s: median(runs.iter().copied().map(ttft_s).collect()),
            prefill_tps: median(runs.iter().map(|run| prefill_tps(workload, run)).collect()),
            decode_tps: median(runs.iter().copied().map(decode_tps).collect()),
            itl_p50_ms: percentile(itls.clone(), 0.50),
            itl_p95_ms: percentile(itls, 0.95),
            peak_rss_bytes,
            held: Held::of(pairs),
        }
    }

    /// For people.
    pub fn table(&self) -> String {
        let held = self.held.as_ref().map_or(String::new(), |Held { decode_tps, ratio }| {
            format!("held       {decode_tps:>10.1} tok/s, {:.1} % of free\n", ratio * 100.0)
        });
        let gib = self.peak_rss_bytes as f64 / (1u64 << 30) as f64;
        format!(
            "{} prompt tokens, {} output tokens, {} stream(s), median of {} run(s)\n\
             load       {:>10.2} s\n\
             TTFT       {:>10.3} s\n\
             prefill    {:>10.1} tok/s\n\
             decode     {:>10.1} tok/s\n\
             ITL p50    {:>10.2} ms\n\
             ITL p95    {:>10.2} ms\n\
             peak RSS   {:>10.2} GiB\n{held}",
            self.n_prompt,
            self.n_output,
            self.n_streams,
            self.n_runs,
            self.load_s,
            self.ttft_s,
            self.prefill_tps,
            self.decode_tps,
            self.itl_p50_ms,
            self.itl_p95_ms,
            gib
        )
    }
}

impl Held {
    fn of(pairs: &[Pair]) -> Option<Self> {
        let of_pair = |pair: &Pair| {
            let held = decode_tps(pair.held.as_ref()?);
            Some((held, held / decode_tps(&pair.free)))
        };
        let (tps, ratios): (Vec<f64>, Vec<f64>) = pairs.iter().filter_map(of_pair).unzip();
        (!tps.is_empty()).then(|| Self { decode_tps: median(tps), ratio: median(ratios) })
    }
}

fn first(stream: &Stream) -> f64 {
    stream.token_times.first().map_or(0.0, Duration::as_secs_f64)
}

fn last(stream: &Stream) -> f64 {
    stream.token_times.last().map_or(0.0, Duration::as_secs_f64)
}

fn ttft_s(run: &Run) -> f64 {
    median(run.streams.iter().map(first).collect())
}

fn prefill_tps(workload: &Workload, run: &Run) -> f64 {
    let all_prefilled = run.streams.iter().map(first).fold(0.0, f64::max);
    rate(workload.prompt.len() * run.streams.len(), all_prefilled)
}

fn decode_tps(run: &Run) -> f64 {
    let from = run.streams.iter().map(first).fold(f64::INFINITY, f64::min);
    let to = run.streams.iter().map(last).fold(0.0, f64::max);
    rate(run.streams.iter().map(|stream| stream.token_times.len() - 1).sum(), to - from)
}

fn rate(n_tokens: usize, seconds: f64) -> f64 {
    if seconds > 0.0 { n_tokens as f64 / seconds } else { 0.0 }
}

fn itls_ms(stream: &Stream) -> impl Iterator<Item = f64> + '_ {
    stream.token_times.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64() * 1e3)
}

fn median(values: Vec<f64>) -> f64 {
    percentile(values, 0.5)
}

/// The value that the fraction `q` of `values` does not exceed (nearest rank); 0 when there are none.
fn percentile(mut values: Vec<f64>, q: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let rank = (q * values.len() as f64).ceil() as usize;
    values.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
