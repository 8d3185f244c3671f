//! Options of `tokbar bench`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::ModelArgs;

/// Options of `bench`.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// What to measure.
    #[command(subcommand)]
    pub command: BenchCommand,
}

/// What to measure.
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// The engine alone, in this process, without HTTP.
    Engine(EngineArgs),
    /// One or several OpenAI endpoints, as a client sees them.
    Run(SuitesArgs),
    /// Put saved results side by side.
    Compare(CompareArgs),
    /// How fast the output of each format is parsed.
    Parser(ParserArgs),
}

/// Options of `bench engine`.
#[derive(Debug, Args)]
pub struct EngineArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub model: ModelArgs,

    /// Length of the made-up prompt in tokens.
    #[arg(long, value_name = "N", default_value_t = 512)]
    pub prompt_tokens: usize,

    /// A JSON array of token ids to use as the prompt instead.
    #[arg(long, value_name = "FILE", conflicts_with = "prompt_tokens")]
    pub prompt_ids: Option<PathBuf>,

    /// Tokens to generate per run.
    #[arg(long, value_name = "N", default_value_t = 128)]
    pub output_tokens: usize,

    /// Measured runs, after one warm-up.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    pub runs: u16,

    /// Streams at once.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub streams: u16,

    /// After each run, run the same with the output held to this regular expression, and tell what that costs.
    #[arg(long, value_name = "PATTERN")]
    pub regex: Option<String>,

    /// As --regex, with a JSON schema.
    #[arg(long, value_name = "FILE", conflicts_with = "regex")]
    pub schema: Option<PathBuf>,

    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// A group of cases that answer one question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum SuiteArg {
    /// TTFT, prefill and decode throughput of prompts never seen before.
    Cold,
    /// TTFT when a prompt comes again: the same, longer, branched, edited.
    Prefix,
    /// TTFT of a known prompt after `kill -9` and a new start.
    Restart,
    /// Aggregate throughput of ragged streams, and ITL while a long prompt arrives.
    Concurrency,
    /// A conversation that grows by tool results.
    Agent,
    /// Code edit, JSON and prose: where drafts help and where they cannot.
    Spec,
}

/// Options of `bench run`.
#[derive(Debug, Args)]
pub struct SuitesArgs {
    /// Suites to run; all that the targets allow if none is named.
    #[arg(value_enum, value_name = "SUITE")]
    pub suites: Vec<SuiteArg>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub targets: TargetArgs,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub sizes: SizeArgs,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub output: OutputArgs,
}

/// Which servers are measured.
#[derive(Debug, Args)]
pub struct TargetArgs {
    /// With --url or --serve-command: the name to send, the first that the server lists by default. Alone: the model that
    /// a Tokbar server of the benchmark's own serves.
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,

    /// A running server, such as http://localhost:8000/v1.
    #[arg(long, conflicts_with = "serve_command")]
    pub url: Option<String>,

    /// Shell command that starts a server in the foreground; {port} stands for its port.
    #[arg(long, value_name = "COMMAND")]
    pub serve_command: Option<String>,

    /// One of several servers: NAME=URL, or NAME=COMMAND with {port} in it. The first is what the others are compared to.
    #[arg(long = "target", value_name = "NAME=URL", conflicts_with_all = ["url", "serve_command"])]
    pub targets: Vec<String>,

    /// Model name to send to one of several servers: NAME=MODEL.
    #[arg(long = "target-model", value_name = "NAME=MODEL", requires = "targets")]
    pub target_models: Vec<String>,

    /// Bearer token to send.
    #[arg(long, env = "TOKBAR_BENCH_API_KEY", hide_env_values = true)]
    pub api_key: Option<String>,

    /// Longest wait for a server to start, and for one request, in seconds.
    #[arg(long, value_name = "S", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub timeout: u64,
}

/// How much is done.
#[derive(Clone, Debug, Args)]
pub struct SizeArgs {
    /// Length of prompts in tokens.
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(64..=10_000_000))]
    pub prompt_tokens: u32,

    /// Length of answers in tokens.
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    pub output_tokens: u32,

    /// Length of the prompt that arrives while others stream; 0 leaves the case out.
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(0..=10_000_000))]
    pub long_prompt_tokens: u32,

    /// Measured runs, after a warm-up.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub runs: u16,

    /// Numbers of streams at once.
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_values_t = [1, 2, 4, 8, 16, 32], value_parser = clap::value_parser!(u16).range(1..=256))]
    pub streams: Vec<u16>,

    /// Turns of the agent's conversation.
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u16).range(2..=100))]
    pub turns: u16,

    /// Makes the prompts; a new one each time if absent, so that no cache knows them.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

impl SizeArgs {
    /// As usual, but little: for a person who waits.
    pub fn brief() -> Self {
        let (prompt_tokens, output_tokens, long_prompt_tokens) = (1000, 64, 2000);
        Self { prompt_tokens, output_tokens, long_prompt_tokens, runs: 2, streams: vec![1, 4], turns: 4, seed: None }
    }
}

/// Where results go besides the terminal.
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// Write the results to a file that `bench compare` reads.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Draw the results.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

/// Options of `bench parser`.
#[derive(Debug, Args)]
pub struct ParserArgs {
    /// Output of each format, in bytes.
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub bytes: u32,
}

/// Options of `bench compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Results that `bench run --json` wrote; the first target of the first file is what the others are compared to.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub output: OutputArgs,
}
