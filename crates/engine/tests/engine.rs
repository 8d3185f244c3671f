//! The engine on its real thread, with a backend whose every wrong row shows in the output.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use tokbar_engine::fake::{FakeBackend, FakeOptions, Probe, expected_tokens};
use tokbar_engine::{
    Engine, EngineOptions, FinishReason, ModelInfo, Output, Outputs, Request, SamplingOptions, StartError, Usage,
};

#[path = "engine/concurrency.rs"]
mod concurrency;
#[path = "engine/disk.rs"]
mod disk;
#[path = "engine/failures.rs"]
mod failures;
#[path = "engine/hold.rs"]
mod hold;
#[path = "engine/limits.rs"]
mod limits;
#[path = "engine/masked.rs"]
mod masked;
#[path = "engine/receivers.rs"]
mod receivers;
#[path = "engine/shutdown.rs"]
mod shutdown;

/// A running engine and all there is to check it by.
struct Bench {
    engine: Engine,
    probe: Arc<Probe>,
    fake: FakeOptions,
}

impl Bench {
    fn start(fake: FakeOptions, options: EngineOptions) -> Self {
        Self::try_start(fake, options).unwrap()
    }

    fn try_start(fake: FakeOptions, options: EngineOptions) -> Result<Self, StartError> {
        let (probe, is_probe) = std::sync::mpsc::channel();
        let for_backend = fake.clone();
        let load = move || {
            let backend = FakeBackend::new(for_backend);
            probe.send(backend.probe())?;
            Ok(Box::new(backend) as _)
        };
        let engine = Engine::start(load, options)?;
        Ok(Self { engine, probe: is_probe.recv().unwrap(), fake })
    }

    fn submit(&self, request: &Request) -> Outputs {
        self.engine.submit(request.clone()).unwrap()
    }

    /// Reads to the end and checks that all of what the request alone yields came.
    fn check_whole(&self, request: &Request, mut outputs: Outputs) {
        let (tokens, reason, usage) = drain(&mut outputs);
        assert_eq!(tokens, expected_tokens(&self.fake, request));
        assert!(matches!(reason, FinishReason::Stop | FinishReason::Length), "{reason:?}");
        assert_eq!((usage.n_prompt, usage.n_output), (request.prompt.len(), tokens.len()));
        assert_eq!(*outputs.usage(), usage);
        assert_eq!(outputs.blocking_next(), None);
    }

    /// Waits until the backend holds nothing, then shuts down and checks that the backend is gone.
    fn check_nothing_left(self) {
        self.probe.wait_until(|seen| seen.n_open == 0 && seen.n_tokens == 0);
        self.engine.shutdown();
        let seen = self.probe.seen();
        assert!(seen.is_dropped);
        assert_eq!((seen.n_live, seen.n_blocks, seen.n_snapshots), (0, 0, 0));
        let stats = self.engine.stats();
        assert_eq!((stats.n_running, stats.n_waiting, stats.n_kv_tokens), (0, 0, 0));
        assert_eq!(stats.memory_bytes, self.fake.info.weight_bytes);
    }
}

fn fake() -> FakeOptions {
    let info = ModelInfo {
        n_vocab: 500,
        n_context: 2000,
        eos: vec![0],
        kv_bytes_per_token: 4,
        weight_bytes: 1000,
        ..ModelInfo::default()
    };
    FakeOptions { info, ..FakeOptions::default() }
}

fn options() -> EngineOptions {
    EngineOptions { token_budget: 64, n_rows_max: 8, n_waiting_max: 64, ..EngineOptions::default() }
}

/// A request whose tokens differ from those of other `n`s, and which ends by its limit alone.
fn request(n: u32, max_tokens: usize) -> Request {
    Request {
        prompt: (0..10 + n % 90).map(|i| (i * 31 + n) % 500).collect(),
        sampling: SamplingOptions { seed: n.into(), temperature: 1.0, ..SamplingOptions::default() },
        max_tokens,
        stop_tokens: Vec::new(),
        ignore_eos: true,
        score_prompt: false,
        ..Request::default()
    }
}

fn drain(outputs: &mut Outputs) -> (Vec<u32>, FinishReason, Usage) {
    let mut tokens = Vec::new();
    while let Some(output) = outputs.blocking_next() {
        match output {
            Output::Token(score) => tokens.push(score.token),
            Output::Finish { reason, usage } => return (tokens, reason, usage),
            Output::Prefill { .. } | Output::Prompt(_) => {}
        }
    }
    panic!("no finish");
}

fn next_token(outputs: &mut Outputs) -> u32 {
    loop {
        match outputs.blocking_next() {
            Some(Output::Token(score)) => return score.token,
            Some(Output::Prefill { .. } | Output::Prompt(_)) => {}
            other => panic!("no token but {other:?}"),
        }
    }
}
