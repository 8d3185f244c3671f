//! The command line as data.

mod ask;
mod bench;
mod cache;
mod cloud;
mod connect;
mod generate;
mod import;
mod info;
mod inspect;
mod keep;
mod quantize;
mod shelf;
mod tools;

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use ask::{AskArgs, DoctorArgs, OpenArgs, PsArgs, StopArgs};
pub use bench::{
    BenchArgs, BenchCommand, CompareArgs, EngineArgs, OutputArgs, ParserArgs, SizeArgs, SuiteArg, SuitesArgs,
    TargetArgs,
};
pub use cache::{CacheAction, CacheArgs};
pub use cloud::{CloudArgs, CloudDialectArg};
pub use connect::{ConnectArgs, LaunchArgs, TargetModelArgs};
pub use generate::GenerateArgs;
pub use import::ImportArgs;
pub use info::InfoArgs;
pub use inspect::{ParseArgs, RenderArgs};
pub use keep::KeepArgs;
pub use quantize::{ModeArg, QuantizeArgs};
pub use shelf::{LsArgs, ModelsArgs, PullArgs, RmArgs, SearchArgs};
pub use tools::{McpArgs, ToolsAction, ToolsArgs};

use crate::size;

/// A fast local LLM server.
#[derive(Debug, Parser)]
#[command(name = "tokbar", version, about, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,

    /// Log more: once for progress of requests, twice for details.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve a model, or the models that calls name, over HTTP until Ctrl-C.
    Serve(Box<ServeArgs>),
    /// Chat with a model in the terminal, or answer one prompt.
    Run(RunArgs),
    /// Turn a GGUF file into a model folder.
    Import(ImportArgs),
    /// Pack a model's weights into fewer bits.
    Quantize(QuantizeArgs),
    /// Show what a model is and what it needs.
    Info(InfoArgs),
    /// List the models on this machine, with what is wrong with those that cannot be loaded.
    Ls(LsArgs),
    /// Download a model, or what is missing of it.
    Pull(PullArgs),
    /// Look for MLX models on the Hugging Face Hub.
    Search(SearchArgs),
    /// List models that have short names, with which of them fit this machine.
    Models(ModelsArgs),
    /// Remove a model from the disk.
    Rm(RmArgs),
    /// Show what running servers have in memory.
    Ps(PsArgs),
    /// Unload a model of a running server, or stop the server.
    Stop(StopArgs),
    /// List tools that models may call on running servers, and let calls run that wait for a word, or not.
    Tools(ToolsArgs),
    /// Show the window of the app that runs.
    Open(OpenArgs),
    /// Point another program, such as an editor or a coding agent, at a running server.
    Connect(ConnectArgs),
    /// Run another program against a running server, with settings of its own that are gone afterwards.
    Launch(LaunchArgs),
    /// Look for what is wrong on this machine, and say what fixes it.
    Doctor(DoctorArgs),
    /// Make, list and remove API keys.
    #[command(subcommand)]
    Key(KeyCommand),
    /// Show what the parser makes of a model's output, read from standard input.
    Parse(ParseArgs),
    /// Show the prompt that a conversation becomes.
    Render(RenderArgs),
    /// Measure the engine, or any OpenAI endpoints side by side.
    Bench(BenchArgs),
    /// Show, clear or move the KV cache on disk.
    Cache(CacheArgs),
    /// Write completions for shells and the manual pages into a folder.
    #[command(hide = true)]
    Generate(GenerateArgs),
}

impl Command {
    /// Whether it may need MLX: the others work in a damaged app, too.
    #[must_use]
    pub fn computes(&self) -> bool {
        matches!(self, Self::Serve(_) | Self::Run(_) | Self::Import(_) | Self::Bench(_))
    }
}

/// How a model writes tool calls and reasoning, where its chat template does not tell.
#[derive(Clone, Debug, Default, Args)]
pub struct FormatArgs {
    /// Format of tool calls, instead of the one that the chat template shows; `none` for none.
    #[arg(long, value_name = "NAME")]
    pub tool_call_parser: Option<String>,

    /// Format of reasoning, instead of the one that the chat template shows; `none` for none.
    #[arg(long, value_name = "NAME")]
    pub reasoning_parser: Option<String>,
}

/// Which model, and how to hold it.
#[derive(Clone, Debug, Args)]
pub struct ModelArgs {
    /// A model folder, a .gguf file, or the id of a model on the Hugging Face Hub (org/name).
    pub model: String,

    /// How weights are held.
    #[arg(long, value_enum, default_value_t = PrecisionArg::Auto)]
    pub precision: PrecisionArg,

    /// Most memory for the experts of a mixture of experts, such as 20GB: those picked most often are in it, others are read when
    /// they are picked. All are in memory by default.
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub expert_memory: Option<u64>,

    /// Most sequences that run at once.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub max_rows: u16,

    /// Most tokens of a sequence, prompt and answer together; what the model was made for by default.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(256..))]
    pub max_context: Option<u32>,

    /// Keep KV in this many bits, so that more of it fits; costs speed and a little exactness.
    #[arg(long, value_enum, value_name = "BITS")]
    pub kv_bits: Option<KvBitsArg>,

    /// First position whose KV is kept in `--kv-bits`; what comes before stays as computed, at least the first, which
    /// every token attends to.
    #[arg(long, value_name = "N", default_value_t = 256, requires = "kv_bits", value_parser = clap::value_parser!(u32).range(1..))]
    pub kv_bits_from: u32,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub format: FormatArgs,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub draft: DraftArgs,
}

impl ModelArgs {
    /// That model, held as usual.
    pub fn named(model: &str) -> Self {
        #[derive(Parser)]
        struct Only {
            #[command(flatten)]
            model: ModelArgs,
        }
        let mut only = Only::parse_from(["tokbar", "-"]).model;
        model.clone_into(&mut only.model);
        only
    }
}

/// Where drafts of the next tokens come from. Output is the same with and without, only faster.
#[derive(Clone, Debug, Args)]
pub struct DraftArgs {
    /// Where drafts of the next tokens come from; the output stays the same.
    #[arg(long, value_enum, value_name = "FROM", default_value_t = SpeculationArg::Auto)]
    pub speculation: SpeculationArg,

    /// A small model with the same tokenizer that drafts: a folder, a .gguf file, or an id (org/name).
    #[arg(long, value_name = "MODEL")]
    pub draft_model: Option<String>,

    /// Most tokens that the draft model drafts at a time.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=16))]
    pub num_draft_tokens: u8,
}

/// Where drafts come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SpeculationArg {
    /// Prompt and output and, if there is one, the draft model, while that is measured to pay.
    Auto,
    /// Nowhere.
    Off,
    /// Prompt and output.
    Ngram,
    /// The draft model.
    Draft,
}

/// Bits of an element of kept KV.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KvBitsArg {
    /// Half of 8 bits.
    #[value(name = "4")]
    Four,
    /// Half of 16-bit KV.
    #[value(name = "8")]
    Eight,
}

/// How weights are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PrecisionArg {
    /// f32 on a CPU, as published on a GPU.
    Auto,
    /// As the checkpoint has them.
    Published,
    /// f32.
    F32,
}

/// Options of `serve`.
#[derive(Debug, Args)]
#[command(mut_arg("model", |model| model.required(false).default_value("").hide_default_value(true).help(
    "A model folder, a .gguf file, or the id of a model on the Hugging Face Hub (org/name); without it models are loaded \
     as calls name them"
)))]
pub struct ServeArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub model: ModelArgs,

    /// Address to listen on; anything but loopback needs an API key or --allow-unauthenticated-lan.
    #[arg(long, default_value = "127.0.0.1")]
    pub host: IpAddr,

    /// Port; without it 8000, or the next free one if that is taken.
    #[arg(long)]
    pub port: Option<u16>,

    /// Another name that clients may use for the model; may be given several times.
    #[arg(long = "name", value_name = "NAME")]
    pub names: Vec<String>,

    /// Key that clients must send as a bearer token or x-api-key.
    #[arg(long, env = "TOKBAR_API_KEY", hide_env_values = true)]
    pub api_key: Option<String>,

    /// Let other machines call without a key when --host is not loopback: everybody on the network can use the model.
    #[arg(long)]
    pub allow_unauthenticated_lan: bool,

    /// Origin of web pages that may call the server, such as https://app.example; may be given several times.
    #[arg(long = "allow-origin", value_name = "ORIGIN")]
    pub allow_origins: Vec<String>,

    /// Most calls of one client in a minute; 0 is no limit.
    #[arg(long, value_name = "N", default_value_t = 6000)]
    pub rate_limit: u32,

    /// Most seconds that an answer may take; without it as long as it takes.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub timeout: Option<u64>,

    /// Host names, besides localhost, under which clients may reach the server; may be given several times.
    #[arg(long = "allow-host", value_name = "HOST")]
    pub allow_hosts: Vec<String>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub kv: KvArgs,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub keep: KeepArgs,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub cloud: CloudArgs,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub mcp: McpArgs,
}

/// Where the KV cache on disk is.
#[derive(Clone, Debug, Default, Args)]
pub struct CacheDirArgs {
    /// Folder of the KV cache on disk; in this user's cache folder by default.
    #[arg(long, value_name = "DIR", env = "TOKBAR_CACHE_DIR")]
    pub cache_dir: Option<PathBuf>,

    /// Most that the KV cache takes of the disk, such as 20GB; a tenth of the disk, at most 32GiB, by default.
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub cache_size: Option<u64>,

    /// Disk space that the KV cache leaves free, such as 2GB; 5GiB, or a twentieth of a smaller disk, by default.
    #[arg(long, value_name = "SIZE", value_parser = size::parse_or_zero, env = "TOKBAR_CACHE_RESERVE")]
    pub cache_reserve: Option<u64>,
}

/// How much KV is kept, and where.
#[derive(Clone, Debug, Default, Args)]
pub struct KvArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub dir: CacheDirArgs,

    /// Keep no KV on disk: prompts are computed anew after a restart.
    #[arg(long)]
    pub no_disk_cache: bool,

    /// Most memory for KV, such as 8GB; half of what is free beside the weights by default.
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub kv_budget: Option<u64>,
}

/// What to do with API keys.
#[derive(Debug, Subcommand)]
pub enum KeyCommand {
    /// Make a key and print it, once; from then on servers ask for a key.
    Add {
        /// What to call it.
        name: String,

        /// What it lets its holder do.
        #[arg(long, value_enum, default_value_t = ScopeArg::Inference)]
        scope: ScopeArg,
    },
    /// List the keys' names, scopes and dates.
    List,
    /// Remove a key.
    Remove {
        /// Which one.
        name: String,
    },
}

/// What a key lets its holder do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ScopeArg {
    /// Use the models.
    Inference,
    /// Use the models, and manage the server.
    Manage,
}

/// Options of `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub model: ModelArgs,

    /// One prompt to answer; without it a chat starts.
    pub prompt: Option<String>,

    /// System message.
    #[arg(long)]
    pub system: Option<String>,

    /// Most tokens per answer.
    #[arg(long, value_name = "N", default_value_t = 1024)]
    pub max_tokens: usize,

    /// Sampling temperature; 0 is greedy.
    #[arg(long, value_name = "T", default_value_t = 0.7)]
    pub temperature: f32,
}
