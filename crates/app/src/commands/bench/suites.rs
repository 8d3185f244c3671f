//! The questions that `bench run` asks a server.

mod agent;
mod arrival;
mod cold;
mod concurrency;
mod prefix;
mod restart;
mod spec;

use anyhow::{Context, Result};

use super::client::{Answer, Call, Ending};
use super::prompts::{self, Calibration, Draw};
use super::results::{Better, Metric, Sample};
use super::statistics;
use super::target::Target;
use crate::cli::{SizeArgs, SuiteArg};

/// Enough tokens for an answer of which only the first matters.
const N_PROBE_TOKENS: usize = 4;

const TTFT: Metric = Metric { name: "TTFT", unit: "ms", better: Better::Lower };
const TTFT_P95: Metric = Metric { name: "TTFT p95", unit: "ms", better: Better::Lower };
/// Of the same server: one whose cold prompts are slow looks good here, so nobody is ahead by it.
const TTFT_OF_COLD: Metric = Metric { name: "TTFT of the cold one's", unit: "", better: Better::Neither };
const PREFILL: Metric = Metric { name: "prefill", unit: "tok/s", better: Better::Higher };
const DECODE: Metric = Metric { name: "decode", unit: "tok/s", better: Better::Higher };
const AGGREGATE: Metric = Metric { name: "all streams", unit: "tok/s", better: Better::Higher };
const ITL_P50: Metric = Metric { name: "ITL p50", unit: "ms", better: Better::Lower };
const ITL_P95: Metric = Metric { name: "ITL p95", unit: "ms", better: Better::Lower };
const ITL_MAX: Metric = Metric { name: "ITL max", unit: "ms", better: Better::Lower };
const TIME: Metric = Metric { name: "whole time", unit: "s", better: Better::Lower };
const PROMPT: Metric = Metric { name: "prompt", unit: "tokens", better: Better::Neither };
const CACHED: Metric = Metric { name: "of it cached", unit: "tokens", better: Better::Neither };
const OUTPUT: Metric = Metric { name: "answer", unit: "tokens", better: Better::Neither };
const PER_PIECE: Metric = Metric { name: "tokens per event", unit: "", better: Better::Neither };
const ACCEPTED: Metric = Metric { name: "drafts accepted", unit: "share", better: Better::Neither };
const PER_STEP: Metric = Metric { name: "tokens per step", unit: "", better: Better::Neither };

/// What all suites of one benchmark share.
pub struct Plan {
    /// How much is done.
    pub sizes: SizeArgs,
    /// Makes the prompts.
    pub seed: u64,
    /// How long words are in tokens.
    pub calibration: Calibration,
}

impl Plan {
    /// Numbers for one run of one suite; the same for all targets.
    fn draw(&self, suite: SuiteArg, run_idx: u64) -> Draw {
        Draw::new(self.seed, &[suite as u64, run_idx])
    }

    fn n_prompt(&self) -> usize {
        self.sizes.prompt_tokens as usize
    }

    fn n_output(&self) -> usize {
        self.sizes.output_tokens as usize
    }

    /// A call for an answer of so many tokens to a prompt that no cache knows.
    fn fresh_story(&self, draw: &mut Draw, n_prompt: usize, n_output: usize) -> Call {
        let opening = prompts::opening(draw);
        Call::new(prompts::story(&opening, &draw.words(self.calibration.n_words(n_prompt))), n_output)
    }

    /// A conversation of so many tokens that no cache knows.
    fn fresh(&self, draw: &mut Draw, n_tokens: usize) -> serde_json::Value {
        let opening = prompts::opening(draw);
        prompts::chat(&opening, &draw.words(self.calibration.n_words(n_tokens)))
    }
}

/// As the command line has it.
pub fn name(suite: SuiteArg) -> &'static str {
    match suite {
        SuiteArg::Cold => "cold",
        SuiteArg::Prefix => "prefix",
        SuiteArg::Restart => "restart",
        SuiteArg::Concurrency => "concurrency",
        SuiteArg::Agent => "agent",
        SuiteArg::Spec => "spec",
    }
}

/// Runs a suite once on one target.
///
/// # Errors
/// When the server fails or refuses.
pub async fn run(suite: SuiteArg, target: &mut Target, plan: &Plan, run_idx: u64) -> Result<Vec<Sample>> {
    let draw = plan.draw(suite, run_idx);
    match suite {
        SuiteArg::Cold => cold::run(&target.endpoint, plan, draw).await,
        SuiteArg::Prefix => prefix::run(&target.endpoint, plan, draw).await,
        SuiteArg::Restart => restart::run(target, plan, draw).await,
        SuiteArg::Concurrency => concurrency::run(&target.endpoint, plan, draw).await,
        SuiteArg::Agent => agent::run(target, plan, draw).await,
        SuiteArg::Spec => spec::run(&target.endpoint, plan, draw).await,
    }
}

/// Finds out how many tokens words have, from the server's own counts.
///
/// # Errors
/// When the server fails or refuses.
pub async fn calibrate(target: &mut Target, seed: u64) -> Result<Calibration> {
    const N_WORDS: [usize; 2] = [16, 272];
    let mut counts = Vec::new();
    for n_words in N_WORDS {
        let mut draw = Draw::new(seed, &[u64::MAX - 1, n_words as u64]);
        let messages = prompts::chat(&prompts::opening(&mut draw), &draw.words(n_words));
        let n_tokens = target.endpoint.count(&messages).await.context("the server does not count a prompt's tokens")?;
        counts.extend(n_tokens.map(|n_tokens| (n_words, n_tokens)));
    }
    if let [short, long] = counts[..] {
        return Calibration::new(short, long)
            .context("the server's counts of prompt tokens do not grow with the prompt");
    }
    target.note("it sends no usage, so that prompts are sized by words and tokens counted by events".to_owned());
    Ok(Calibration::guess())
}

fn sample(case: &str, metric: Metric, value: f64) -> Sample {
    Sample { case: case.to_owned(), metric, value }
}

fn some(case: &str, metric: Metric, value: Option<f64>) -> Option<Sample> {
    Some(sample(case, metric, value?))
}

/// What shows how a prompt was taken up.
fn intake(case: &str, answer: &Answer) -> Vec<Sample> {
    let count = |n: Option<usize>| n.map(|n| n as f64);
    let samples = [
        some(case, TTFT, Some(answer.ttft_s() * 1e3)),
        some(case, PROMPT, count(answer.usage.n_prompt)),
        some(case, CACHED, count(answer.usage.n_cached)),
    ];
    samples.into_iter().flatten().collect()
}

/// What shows how an answer came.
fn delivery(case: &str, answer: &Answer) -> Vec<Sample> {
    let itls = answer.itls_ms();
    let n_tokens = answer.n_tokens() as f64;
    let samples = [
        some(case, DECODE, answer.decode_tps()),
        some(case, ITL_P50, statistics::percentile(&itls, 0.50)),
        some(case, ITL_P95, statistics::percentile(&itls, 0.95)),
        some(case, OUTPUT, Some(n_tokens)),
        some(case, PER_PIECE, Some(n_tokens / answer.times.len().max(1) as f64)),
    ];
    samples.into_iter().flatten().collect()
}

/// A call of which only the first token matters: it may end where the model ends it, at all servers alike.
fn probe(messages: serde_json::Value) -> Call {
    Call { ending: Ending::Natural, ..Call::new(messages, N_PROBE_TOKENS) }
}
