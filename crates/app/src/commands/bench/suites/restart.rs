//! A prompt that was known before the server was killed. What it cost once should not be paid twice.

use std::time::Duration;

use anyhow::Result;

use super::{Plan, intake, probe, sample};
use crate::commands::bench::prompts::Draw;
use crate::commands::bench::results::{Better, Metric, Sample};
use crate::commands::bench::target::Target;

/// What a server gets to write down what it knows; `kill -9` may lose the last second.
const SETTLE: Duration = Duration::from_secs(2);

const START: Metric = Metric { name: "start to answer", unit: "s", better: Better::Lower };
const TTFT_OF_WARM: Metric = Metric { name: "TTFT of the warm one's", unit: "", better: Better::Neither };

/// Cold, warm, `kill -9`, start, and the same again.
pub async fn run(target: &mut Target, plan: &Plan, mut draw: Draw) -> Result<Vec<Sample>> {
    let call = probe(plan.fresh(&mut draw, plan.n_prompt()));
    let cold = target.endpoint.ask(&call).await?;
    let warm = target.endpoint.ask(&call).await?;
    tokio::time::sleep(SETTLE).await;
    let start_s = target.restart().await?;
    let restored = target.endpoint.ask(&call).await?;

    let mut samples = intake("cold", &cold);
    samples.extend(intake("warm", &warm));
    samples.extend(intake("after kill -9", &restored));
    if warm.ttft_s() > 0.0 {
        samples.push(sample("after kill -9", TTFT_OF_WARM, restored.ttft_s() / warm.ttft_s()));
    }
    samples.push(sample("after kill -9", START, start_s));
    Ok(samples)
}
