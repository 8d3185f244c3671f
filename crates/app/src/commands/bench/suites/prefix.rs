//! A prompt that comes again: the same, longer, branched off, edited. Only the new part should cost time.

use anyhow::Result;
use serde_json::Value;

use super::{Plan, TTFT_OF_COLD, intake, probe, some};
use crate::commands::bench::client::{Answer, Endpoint};
use crate::commands::bench::prompts::{self, Draw};
use crate::commands::bench::results::{Better, Metric, Sample};

/// What a user's next words or a small tool result add.
const N_EXTENSION_TOKENS: usize = 64;
const N_EDITED_WORDS: usize = 4;
/// So many that what a call costs by itself hardly counts.
const N_MANY_TOKENS: usize = 512;
/// A token late in a prompt costs more than one of a short prompt, as it attends to all before it: what the extension is held
/// against are as many tokens at the same depth, of an extension that is mostly computing.
const TTFT_OF_SHARE: Metric = Metric { name: "TTFT of as many of 512 tokens more", unit: "", better: Better::Neither };

/// A conversation that is asked again in other forms.
struct Base {
    opening: String,
    words: String,
}

impl Base {
    fn chat(&self, words: &str) -> Value {
        prompts::chat(&self.opening, words)
    }

    /// What stands before and after the middle.
    fn halves(&self) -> (String, String) {
        let words: Vec<&str> = self.words.split(' ').collect();
        let (first, second) = words.split_at(words.len() / 2);
        (first.join(" "), second.join(" "))
    }
}

/// Every form once, each against the cold prompt of its own run.
pub async fn run(endpoint: &Endpoint, plan: &Plan, mut draw: Draw) -> Result<Vec<Sample>> {
    let n_words = plan.calibration.n_words(plan.n_prompt());
    let base = Base { opening: prompts::opening(&mut draw), words: draw.words(n_words) };
    let [extension, more] = [N_EXTENSION_TOKENS, N_MANY_TOKENS].map(|n| draw.words(plan.calibration.n_extra_words(n)));
    let alone = plan.fresh(&mut draw, N_EXTENSION_TOKENS);

    let cold = endpoint.ask(&probe(base.chat(&base.words))).await?;
    let exact = endpoint.ask(&probe(base.chat(&base.words))).await?;
    let extended = endpoint.ask(&probe(base.chat(&format!("{} {extension}", base.words)))).await?;
    let alone = endpoint.ask(&probe(alone)).await?;
    let more = endpoint.ask(&probe(base.chat(&format!("{} {more}", base.words)))).await?;
    let (branch, edit) = (branched(&base, &mut draw), edited(&base, &mut draw));
    let branch = endpoint.ask(&probe(branch)).await?;
    let edit = endpoint.ask(&probe(edit)).await?;

    let mut samples = intake("cold", &cold);
    samples.extend(against("exact", &exact, &cold));
    samples.extend(intake("64 tokens, cold", &alone));
    samples.extend(against("64 tokens more", &extended, &alone));
    samples.extend(some("64 tokens more", TTFT_OF_SHARE, of_share(&cold, &extended, &more)));
    samples.extend(against("512 tokens more", &more, &cold));
    samples.extend(against("branch at the middle", &branch, &cold));
    samples.extend(against("edit at the middle", &edit, &cold));
    Ok(samples)
}

/// The same first half, then other words.
fn branched(base: &Base, draw: &mut Draw) -> Value {
    let (first, second) = base.halves();
    base.chat(&format!("{first} {}", draw.words(second.split(' ').count())))
}

/// A few words put in at the middle; all others stay.
fn edited(base: &Base, draw: &mut Draw) -> Value {
    let (first, second) = base.halves();
    base.chat(&format!("{first} {} {second}", draw.words(N_EDITED_WORDS)))
}

/// The time of an extension over that of as many tokens of a long one.
fn of_share(cold: &Answer, extended: &Answer, more: &Answer) -> Option<f64> {
    let n_more_than_cold = |answer: &Answer| Some(answer.usage.n_prompt?.checked_sub(cold.usage.n_prompt?)? as f64);
    let share_s = more.ttft_s() * n_more_than_cold(extended)? / n_more_than_cold(more).filter(|n| *n > 0.0)?;
    (share_s > 0.0).then(|| extended.ttft_s() / share_s)
}

fn against(case: &str, answer: &Answer, cold: &Answer) -> Vec<Sample> {
    let mut samples = intake(case, answer);
    samples.extend(some(case, TTFT_OF_COLD, (cold.ttft_s() > 0.0).then(|| answer.ttft_s() / cold.ttft_s())));
    samples
}
