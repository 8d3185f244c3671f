//! A conversation that grows: the answer as it came, a tool's result, and the next answer.

use anyhow::Result;
use serde_json::{Value, json};

use super::{CACHED, OUTPUT, Plan, TIME, TTFT, intake, sample, some};
use crate::commands::bench::client::{Answer, Call};
use crate::commands::bench::prompts::{self, Draw};
use crate::commands::bench::results::Sample;
use crate::commands::bench::statistics;
use crate::commands::bench::target::Target;

/// Parts of a prompt's length: what a system message has, and what a tool's result has.
const SYSTEM: usize = 2;
const RESULT: usize = 16;
/// Part of an answer's length that a turn has.
const TURN: usize = 2;

/// Turns in order; the figures of all but the first are what an agent waits for.
pub async fn run(target: &mut Target, plan: &Plan, mut draw: Draw) -> Result<Vec<Sample>> {
    let mut conversation = Conversation::new(plan, &mut draw);
    let mut answers = Vec::new();
    for turn in 0..plan.sizes.turns {
        let answer = match target.endpoint.ask(&conversation.call(plan)).await {
            Err(error) if turn == 1 => {
                target.note(format!("its tool results are sent as user messages, since it refuses others: {error:#}"));
                conversation.speak_plainly();
                target.endpoint.ask(&conversation.call(plan)).await?
            }
            answer => answer?,
        };
        conversation.extend(&answer, &draw.words(plan.calibration.n_extra_words(plan.n_prompt() / RESULT)));
        answers.push(answer);
    }
    Ok(summary(&answers))
}

fn summary(answers: &[Answer]) -> Vec<Sample> {
    let mut samples = Vec::new();
    for (idx, answer) in answers.iter().enumerate() {
        samples.extend(intake(&format!("turn {}", idx + 1), answer));
    }
    let later: Vec<f64> = answers.iter().skip(1).map(|answer| answer.ttft_s() * 1e3).collect();
    let n_cached = answers.iter().skip(1).map(|answer| answer.usage.n_cached).sum::<Option<usize>>();
    samples.extend(some("turns after the first", TTFT, statistics::median(&later)));
    samples.extend(some("turns after the first", CACHED, n_cached.map(|n| n as f64)));
    samples.push(sample("conversation", OUTPUT, answers.iter().map(Answer::n_tokens).sum::<usize>() as f64));
    samples.push(sample("conversation", TIME, answers.iter().map(Answer::total_s).sum()));
    samples
}

struct Conversation {
    messages: Vec<Value>,
    tools: Value,
    is_plain: bool,
}

impl Conversation {
    fn new(plan: &Plan, draw: &mut Draw) -> Self {
        let opening = prompts::opening(draw);
        let rules = draw.words(plan.calibration.n_extra_words(plan.n_prompt() / SYSTEM));
        let system = format!("{opening}. You work on a project with these parts: {rules}");
        let messages = vec![
            json!({"role": "system", "content": system}),
            json!({"role": "user", "content": "Read the files one by one and tell a long story about each of them."}),
        ];
        Self { messages, tools: tools(), is_plain: false }
    }

    fn call(&self, plan: &Plan) -> Call {
        let max_tokens = (plan.n_output() / TURN).max(2);
        Call { tools: self.tools.clone(), ..Call::new(Value::Array(self.messages.clone()), max_tokens) }
    }

    fn extend(&mut self, answer: &Answer, result: &str) {
        let id = format!("call_{}", self.messages.len());
        self.messages.push(if self.is_plain {
            json!({"role": "assistant", "content": answer.content})
        } else {
            let function = json!({"name": "read_file", "arguments": r#"{"path": "notes.txt"}"#});
            let calls = json!([{"id": id, "type": "function", "function": function}]);
            json!({"role": "assistant", "content": answer.content, "tool_calls": calls})
        });
        self.messages.push(if self.is_plain {
            json!({"role": "user", "content": result})
        } else {
            json!({"role": "tool", "tool_call_id": id, "content": result})
        });
    }

    /// For servers and templates that know no tools.
    fn speak_plainly(&mut self) {
        self.is_plain = true;
        self.tools = Value::Null;
        for message in &mut self.messages {
            if message["role"] == "tool" {
                *message = json!({"role": "user", "content": message["content"]});
            } else if let Some(fields) = message.as_object_mut() {
                fields.remove("tool_calls");
            }
        }
    }
}

fn tools() -> Value {
    let path = json!({"type": "string", "description": "Where the file is, from the project's root."});
    let parameters = json!({"type": "object", "properties": {"path": path}, "required": ["path"]});
    let function =
        json!({"name": "read_file", "description": "Reads a text file of the project.", "parameters": parameters});
    json!([{"type": "function", "function": function}])
}

#[cfg(test)]
#[path = "agent_tests.rs"]
mod tests;
