//! Progress of a chore: one line when a stage starts, one with its time when it ends.

use std::time::Instant;

/// Prints stages to standard error, so that standard output stays for results.
pub struct Stages {
    chore: &'static str,
    started: Instant,
}

impl Stages {
    pub fn new(chore: &'static str) -> Stages {
        Stages { chore, started: Instant::now() }
    }

    /// Runs one stage between its two lines.
    pub fn run<T>(&self, stage: &str, work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
        eprintln!("[{}] {stage} ...", self.chore);
        let stage_started = Instant::now();
        let result = work();
        let verdict = if result.is_ok() { "done" } else { "FAILED" };
        eprintln!("[{}] {stage}: {verdict} in {:.1} s", self.chore, stage_started.elapsed().as_secs_f64());
        result
    }

    pub fn note(&self, text: &str) {
        eprintln!("[{}] {text}", self.chore);
    }

    pub fn finish(self) {
        eprintln!("[{}] ready in {:.1} s", self.chore, self.started.elapsed().as_secs_f64());
    }
}
