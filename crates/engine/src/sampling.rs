//! Sampling options of one request.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::TokenId;

/// Most log-probabilities reported per token.
pub const N_LOGPROBS_MAX: usize = 128;

/// Below this temperature the likeliest token is certain, and scaled logits would leave what an f32 holds.
const TEMPERATURE_GREEDY: f32 = 1e-5;

/// How the next token is chosen from the logits. Order: logit bias, penalties, DRY, temperature, top-k, top-p,
/// min-p, XTC, draw.
#[derive(Clone, Debug, PartialEq)]
pub struct SamplingOptions {
    /// 0, or so little that an f32 cannot hold the scaled logits, = greedy.
    pub temperature: f32,
    /// Keep the `top_k` likeliest tokens; 0 = all.
    pub top_k: usize,
    /// Keep the smallest set of likeliest tokens whose probabilities sum to at least `top_p`; 1 = all.
    pub top_p: f32,
    /// Drop tokens less likely than `min_p` times the likeliest; 0 = none.
    pub min_p: f32,
    /// How often XTC leaves out the likely tokens but the least likely of them; 0 = never.
    pub xtc_probability: f32,
    /// Tokens at least this likely count as likely to XTC.
    pub xtc_threshold: f32,
    /// Divides positive and multiplies negative logits of tokens seen in prompt or output (Keskar et al. 2019); 1 = off.
    pub repetition_penalty: f32,
    /// Subtracted once from the logits of tokens seen in the output (OpenAI); 0 = off.
    pub presence_penalty: f32,
    /// Subtracted per occurrence in the output (OpenAI); 0 = off.
    pub frequency_penalty: f32,
    /// Penalises what would make a repetition longer; `None` = off.
    pub dry: Option<Dry>,
    /// Added to the logits of single tokens.
    pub logit_bias: BTreeMap<TokenId, f32>,
    /// Source of every draw of this request.
    pub seed: u64,
    /// Report the log-probability of each token and of the `n` likeliest, at most [`N_LOGPROBS_MAX`]; `None` = report
    /// nothing.
    pub n_logprobs: Option<usize>,
}

/// DRY ("don't repeat yourself", by p-e-w): a token that would make a repetition of `n` tokens longer loses
/// `multiplier * base ^ (n - allowed_length)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Dry {
    /// Of all penalties.
    pub multiplier: f32,
    /// How much dearer each further token is.
    pub base: f32,
    /// Shortest repetition that costs.
    pub allowed_length: usize,
    /// Tokens at the end that are looked at; `None` = prompt and output.
    pub last_n: Option<usize>,
    /// Tokens that no repetition goes over, ascending.
    pub breakers: Arc<[TokenId]>,
}

impl Default for SamplingOptions {
    fn default() -> Self {
        Self {
            temperature: 0.0,
            top_k: 0,
            top_p: 1.0,
            min_p: 0.0,
            xtc_probability: 0.0,
            xtc_threshold: 0.1,
            repetition_penalty: 1.0,
            presence_penalty: 0.0,
            frequency_penalty: 0.0,
            dry: None,
            logit_bias: BTreeMap::new(),
            seed: 0,
            n_logprobs: None,
        }
    }
}

impl SamplingOptions {
    /// Checks every option's range.
    ///
    /// # Errors
    /// Names the first option out of range, its value and the range.
    pub fn validate(&self, n_vocab: usize) -> Result<(), SamplingError> {
        let ranges = [
            ("temperature", self.temperature, 0.0, 100.0),
            ("top_p", self.top_p, 0.0, 1.0),
            ("min_p", self.min_p, 0.0, 1.0),
            ("xtc_probability", self.xtc_probability, 0.0, 1.0),
            ("xtc_threshold", self.xtc_threshold, 0.0, 1.0),
            ("repetition_penalty", self.repetition_penalty, 0.01, 100.0),
            ("presence_penalty", self.presence_penalty, -100.0, 100.0),
            ("frequency_penalty", self.frequency_penalty, -100.0, 100.0),
        ];
        let dry = self
            .dry
            .iter()
            .flat_map(|dry| [("dry_multiplier", dry.multiplier, 0.0, 100.0), ("dry_base", dry.base, 1.0, 100.0)]);
        for (name, value, low, high) in ranges.into_iter().chain(dry) {
            if !(low..=high).contains(&value) {
                return Err(SamplingError::OutOfRange { name, value, low, high });
            }
        }
        if let Some(n_logprobs) = self.n_logprobs.filter(|n| *n > N_LOGPROBS_MAX) {
            return Err(SamplingError::TooManyLogprobs { n_logprobs });
        }
        match self.logit_bias.iter().find(|(token, bias)| **token as usize >= n_vocab || !bias.is_finite()) {
            Some((token, bias)) => Err(SamplingError::LogitBias { token: *token, bias: *bias, n_vocab }),
            None => Ok(()),
        }
    }

    /// Whether the likeliest token is taken without a draw.
    pub fn is_greedy(&self) -> bool {
        self.temperature < TEMPERATURE_GREEDY
    }

    /// Whether penalties need the counts of tokens seen.
    pub fn has_penalties(&self) -> bool {
        self.repetition_penalty != 1.0 || self.presence_penalty != 0.0 || self.frequency_penalty != 0.0
    }
}

/// A sampling option that cannot be honoured.
#[derive(Clone, Debug, thiserror::Error, PartialEq)]
pub enum SamplingError {
    /// A number outside its range, or not a number.
    #[error("{name} is {value}, but must be between {low} and {high}")]
    OutOfRange {
        /// The option.
        name: &'static str,
        /// As given.
        value: f32,
        /// Lowest value allowed.
        low: f32,
        /// Highest value allowed.
        high: f32,
    },
    /// A bias for a token that does not exist, or one that is not finite.
    #[error(
        "logit_bias of token {token} is {bias}; tokens run from 0 to {n_vocab}, exclusive, and biases must be finite"
    )]
    LogitBias {
        /// The token named.
        token: TokenId,
        /// Its bias.
        bias: f32,
        /// Vocabulary size.
        n_vocab: usize,
    },
    /// More log-probabilities than are worth reporting.
    #[error("{n_logprobs} log-probabilities per token were asked for, but at most {N_LOGPROBS_MAX} are reported")]
    TooManyLogprobs {
        /// As given.
        n_logprobs: usize,
    },
}

#[cfg(test)]
#[path = "sampling_tests.rs"]
mod tests;
