//! What goes into the engine and what comes out, per request.

use crate::{MaskSource, PromptScores, SamplingOptions, TokenId, TokenScore};

/// One sequence to generate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// At least one token.
    pub prompt: Vec<TokenId>,
    /// How tokens are chosen.
    pub sampling: SamplingOptions,
    /// Most tokens to generate; 0 scores the prompt only.
    pub max_tokens: usize,
    /// Tokens that end the output, besides the model's EOS.
    pub stop_tokens: Vec<TokenId>,
    /// Go on past EOS (benchmarks).
    pub ignore_eos: bool,
    /// Report the log-probability of each prompt token after the first.
    pub score_prompt: bool,
    /// Positions of the prompt at which a message ends, ascending: where a later prompt is likeliest to part from this one.
    pub boundaries: Vec<usize>,
    /// Who goes first when not all can.
    pub priority: Priority,
    /// What the output is expected to be like: drafts are looked up in it, too. Empty = no idea.
    pub prediction: Vec<TokenId>,
    /// What the output is held to.
    pub mask: Option<MaskSource>,
}

/// Who goes first when not all can.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// Someone waits for it.
    #[default]
    Interactive,
    /// May wait while interactive requests run.
    Background,
}

/// What a request's channel carries, in this order: scores, tokens, one finish.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Fraction of prefill done; sent at the start when kept blocks hold a part, and between chunks of long prompts.
    Prefill {
        /// Prompt tokens computed so far, cached ones included.
        n_computed: usize,
        /// Prompt tokens in all.
        n_prompt: usize,
        /// Prompt tokens taken from the KV cache of earlier requests.
        n_cached: usize,
    },
    /// Scores of the prompt's tokens from the second on.
    Prompt(PromptScores),
    /// The next token. Stop tokens and EOS are reported too, just before the finish.
    Token(TokenScore),
    /// The last item.
    Finish {
        /// Why it ended.
        reason: FinishReason,
        /// What it took.
        usage: Usage,
    },
}

/// Why a sequence ended.
#[derive(Clone, Debug, PartialEq)]
pub enum FinishReason {
    /// EOS or a stop token.
    Stop,
    /// `max_tokens` or the context is full.
    Length,
    /// The receiver went away or asked for it.
    Cancelled,
    /// The device failed; the text says how.
    Failed(String),
}

/// Counts of a finished sequence.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Usage {
    /// Prompt tokens, cached ones included.
    pub n_prompt: usize,
    /// Prompt tokens taken from the KV cache of earlier requests.
    pub n_cached: usize,
    /// Tokens generated, the stop token included.
    pub n_output: usize,
    /// Drafts that were verified, and those that were right: these are part of the output.
    pub n_drafted: usize,
    /// See `n_drafted`.
    pub n_accepted: usize,
}
