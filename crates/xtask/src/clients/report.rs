//! `docs/clients.md`: what came of it.

use std::fmt;

use super::table::{Row, Source};

/// What became of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Right,
    Wrong,
    NotAsked,
}

/// What became of a client.
#[derive(Clone, Debug)]
pub struct Tried {
    pub row: &'static Row,
    pub plain: Outcome,
    pub tools: Outcome,
    pub real: Outcome,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Right => "yes",
            Self::Wrong => "**no**",
            Self::NotAsked => "",
        })
    }
}

impl Tried {
    /// Whether nothing went wrong.
    pub fn is_right(&self) -> bool {
        ![self.plain, self.tools, self.real].contains(&Outcome::Wrong)
    }
}

const HEAD: &str = "# Clients

Made by `cargo xtask clients --all`, which installs the clients below and runs each against a server of ours, in a network
namespace in which only this machine can be reached.

    tokbar connect                     # list clients, and where their settings are
    tokbar connect codex --dry-run     # what would change
    tokbar connect codex               # show it, ask, change it
    tokbar connect codex --remove      # put everything back, byte for byte where nobody changed it since
    tokbar launch codex [ARGUMENT...]  # run it with settings of its own that are gone afterwards

Only fields that are Tokbar's are changed; comments and all else stay. What was there before is kept in Tokbar's settings. A file
that is broken, read-only, or written in a way that cannot be edited safely is left as it is, with a word on why.

\"Plain\" and \"tools\" are answers of a scripted model with Qwen3's tokenizer and template, behind the real server: a greeting,
and a call of a tool whose result comes back in the answer. \"SmolLM2\" is an answer of the real SmolLM2-135M-Instruct, for clients
whose prompts its context of 8,192 tokens holds. Programs are configured by `tokbar launch`, which writes what `tokbar connect`
writes; SDKs run the code that `tokbar connect` prints.

| client | from | version | plain | tools | SmolLM2 | notes |
|---|---|---|---|---|---|---|
";

const TAIL: &str = "
`tokbar connect` also knows others, which are not run here: Cursor (its servers call the model, which takes an account and a
tunnel), Goose (its program is on neither npm nor PyPI), Open WebUI (its container is in no package registry; its package on PyPI brings
261 others, PyTorch for CUDA among them) and Zed (a desktop program, in no package registry).
";

/// The page.
pub fn page(tried: &[Tried]) -> String {
    let line = |tried: &Tried| {
        let Tried { row, plain, tools, real } = tried;
        let from = match row.source {
            Source::Npm { .. } => "npm",
            Source::Pip { .. } => "PyPI",
        };
        format!("| {} | {from} | {} | {plain} | {tools} | {real} | {} |\n", row.name, row.version(), row.note)
    };
    format!("{HEAD}{}{TAIL}", tried.iter().map(line).collect::<String>())
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
