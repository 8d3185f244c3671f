//! Prompts never seen before: nothing but arithmetic can make them fast.

use anyhow::Result;

use super::{PREFILL, Plan, delivery, intake, some};
use crate::commands::bench::client::Endpoint;
use crate::commands::bench::prompts::Draw;
use crate::commands::bench::results::Sample;

/// A short prompt's part of a long one.
const SHORT: usize = 8;

/// One answer to a short prompt, one to a long one.
pub async fn run(endpoint: &Endpoint, plan: &Plan, mut draw: Draw) -> Result<Vec<Sample>> {
    let mut samples = Vec::new();
    for (case, n_tokens) in [("short prompt", plan.n_prompt() / SHORT), ("long prompt", plan.n_prompt())] {
        let answer = endpoint.ask(&plan.fresh_story(&mut draw, n_tokens, plan.n_output())).await?;
        samples.extend(intake(case, &answer));
        samples.extend(some(case, PREFILL, answer.prefill_tps()));
        samples.extend(delivery(case, &answer));
    }
    Ok(samples)
}
