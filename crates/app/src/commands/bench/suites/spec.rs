//! Where drafts help and where they cannot: a file given back with one change, records as JSON, free prose.

use std::fmt::Write;

use anyhow::Result;
use serde_json::{Value, json};

use super::{ACCEPTED, PER_STEP, Plan, delivery, some};
use crate::commands::bench::client::{Answer, Call, Endpoint};
use crate::commands::bench::prompts::{self, Draw};
use crate::commands::bench::results::Sample;

/// About what a line of code and a record have in tokens.
const N_LINE_TOKENS: usize = 12;

/// One answer to each task.
pub async fn run(endpoint: &Endpoint, plan: &Plan, mut draw: Draw) -> Result<Vec<Sample>> {
    let mut samples = Vec::new();
    for (case, make) in [("code edit", code as fn(&mut Draw, usize) -> String), ("JSON", records), ("prose", prose)] {
        let opening = prompts::opening(&mut draw);
        let messages = conversation(&opening, &make(&mut draw, plan.n_output()));
        let answer = endpoint.ask(&Call::new(messages, plan.n_output())).await?;
        samples.extend(delivery(case, &answer));
        samples.extend(some(case, ACCEPTED, accepted(&answer)));
        samples.extend(some(case, PER_STEP, per_step(&answer)));
    }
    Ok(samples)
}

fn conversation(opening: &str, task: &str) -> Value {
    json!([{"role": "system", "content": format!("{opening}.")}, {"role": "user", "content": task}])
}

/// Accepted of all drafted tokens, if the server tells.
fn accepted(answer: &Answer) -> Option<f64> {
    let (n_accepted, n_rejected) = (answer.usage.n_accepted?, answer.usage.n_rejected?);
    (n_accepted + n_rejected > 0).then(|| n_accepted as f64 / (n_accepted + n_rejected) as f64)
}

/// Tokens that a step gave on average, if the server tells of drafts: each that was right spared a step.
fn per_step(answer: &Answer) -> Option<f64> {
    let (n_tokens, n_accepted) = (answer.usage.n_output?, answer.usage.n_accepted?);
    let n_steps = n_tokens.checked_sub(n_accepted).filter(|n| *n > 0)?;
    Some(n_tokens as f64 / n_steps as f64)
}

/// A file that is longer than the answer, so that the answer need not end.
fn code(draw: &mut Draw, n_output: usize) -> String {
    let mut file = String::new();
    for _ in 0..n_output / N_LINE_TOKENS + 1 {
        let (name, left, right) = (identifier(draw), draw.words(1), draw.words(1));
        write!(file, "def {name}({left}, {right}):\n    return {left} + {right}\n\n").expect("writing to a string");
    }
    format!(
        "Here is a file:\n\n```python\n{file}```\n\nWrite the whole file again. Change only the first function's name to `total`. Answer with the code alone."
    )
}

fn records(draw: &mut Draw, n_output: usize) -> String {
    let mut lines = String::new();
    for id in 1..=n_output / N_LINE_TOKENS + 1 {
        writeln!(lines, "{id}, {}, {}, {}", draw.words(1), draw.words(1), draw.between(10, 99))
            .expect("writing to a string");
    }
    format!(
        "Turn these lines into a JSON array of objects with the keys \"id\", \"name\", \"place\" and \"count\". Answer with the JSON alone, and with every line.\n\n{lines}"
    )
}

fn prose(draw: &mut Draw, _n_output: usize) -> String {
    format!("Write a very long and detailed story in many chapters. It is about: {}", draw.words(12))
}

fn identifier(draw: &mut Draw) -> String {
    draw.words(2).replace(' ', "_")
}

#[cfg(test)]
#[path = "spec_tests.rs"]
mod tests;
