//! Runs a workload on the engine and notes when each token came.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use tokbar_engine::{Engine, FinishReason, MaskSource, Output, Request, SamplingOptions};

/// What one run does.
#[derive(Clone)]
pub struct Workload {
    /// Token ids.
    pub prompt: Vec<u32>,
    /// Tokens to generate per stream.
    pub n_output: usize,
    /// Streams at once.
    pub n_streams: usize,
    /// What the output is held to.
    pub mask: Option<MaskSource>,
}

/// A run, and the same run held to a form.
pub struct Pair {
    /// Held to nothing.
    pub free: Run,
    /// If there is a form.
    pub held: Option<Run>,
}

/// When the tokens of one run came.
pub struct Run {
    /// One per stream.
    pub streams: Vec<Stream>,
}

/// When one stream's tokens came, from the moment the request went in.
pub struct Stream {
    /// At least one.
    pub token_times: Vec<Duration>,
}

/// Token ids that look like text to a cache: no repeats worth speaking of, the same on every run.
pub fn made_up_prompt(n_tokens: usize, n_vocab: usize) -> Vec<u32> {
    let n_vocab = n_vocab.max(1) as u64;
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    (0..n_tokens)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % n_vocab) as u32
        })
        .collect()
}

/// Runs the workload once. Streams of different runs have no prefix in common, so that none finds its prompt computed.
///
/// # Errors
/// When the engine refuses the prompt or a stream fails.
pub fn once(engine: &Engine, workload: &Workload, run_idx: usize) -> Result<Run> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().context("cannot start the async runtime")?;
    let streams =
        (0..workload.n_streams).map(|stream_idx| stream(engine, workload, run_idx * workload.n_streams + stream_idx));
    let streams = runtime.block_on(futures::future::try_join_all(streams))?;
    Ok(Run { streams })
}

async fn stream(engine: &Engine, workload: &Workload, nth: usize) -> Result<Stream> {
    let started = Instant::now();
    let mut outputs = engine.submit(request(workload, nth))?;
    let mut token_times = Vec::with_capacity(workload.n_output);
    while let Some(output) = outputs.next().await {
        match output {
            Output::Token(_) => token_times.push(started.elapsed()),
            Output::Finish { reason: FinishReason::Failed(why), .. } => bail!("the engine failed: {why}"),
            Output::Prefill { .. } | Output::Prompt(_) | Output::Finish { .. } => {}
        }
    }
    ensure!(!token_times.is_empty(), "the engine made no token");
    Ok(Stream { token_times })
}

fn request(workload: &Workload, nth: usize) -> Request {
    let mut prompt = workload.prompt.clone();
    prompt.rotate_left(nth % workload.prompt.len());
    Request {
        prompt,
        sampling: SamplingOptions::default(),
        max_tokens: workload.n_output,
        stop_tokens: Vec::new(),
        ignore_eos: true,
        score_prompt: false,
        mask: workload.mask.clone(),
        ..Request::default()
    }
}
