//! A backend without a model, for tests: the next token is a hash of the stored prefix.
//!
//! Content-addressed, so that any wrong reuse, lost row or cross-talk changes the output. It also checks that every row
//! starts where its cache ends, and says what it holds, so that tests can assert that nothing is left.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use crate::draw::{splitmix64, uniform};
use crate::{
    Backend, ModelInfo, Opening, Request, Row, RowInput, RowOutput, RowResult, SamplingOptions, SequenceId, Step,
    StepError, StepOutput, TokenId, TokenScore,
};

mod probe;

pub use probe::{Probe, Seen};

/// How a fake backend behaves.
#[derive(Clone, Debug)]
pub struct FakeOptions {
    /// Facts it claims.
    pub info: ModelInfo,
    /// Answers every prompt with these tokens and then EOS, in place of hashes.
    pub reply: Option<Vec<TokenId>>,
    /// Positions that fit; a step or sequence beyond them is out of memory.
    pub n_tokens_max: Option<usize>,
    /// What goes wrong.
    pub faults: Vec<Fault>,
}

impl Default for FakeOptions {
    fn default() -> Self {
        let info = ModelInfo {
            n_vocab: 1000,
            n_context: 4096,
            eos: vec![0],
            kv_bytes_per_token: 16,
            weight_bytes: 1 << 20,
            ..ModelInfo::default()
        };
        Self { info, reply: None, n_tokens_max: None, faults: Vec::new() }
    }
}

/// One thing that goes wrong.
#[derive(Clone, Debug)]
pub struct Fault {
    /// In which call.
    pub call: Call,
    /// In the how manieth of those calls, from 0.
    pub nth: usize,
    /// What happens.
    pub effect: Effect,
}

/// A call of the backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// [`Backend::open`].
    Open,
    /// [`Backend::submit`].
    Submit,
    /// [`Backend::collect`].
    Collect,
}

/// What a fault does.
#[derive(Clone, Debug)]
pub enum Effect {
    /// The call fails.
    Fail(StepError),
    /// The call panics with this text.
    Panic(String),
}

/// See the module.
#[derive(Debug)]
pub struct FakeBackend {
    options: FakeOptions,
    sequences: HashMap<SequenceId, Stored>,
    in_flight: VecDeque<Vec<RowResult>>,
    probe: Arc<Probe>,
}

/// What a sequence's cache holds.
#[derive(Debug)]
struct Stored {
    sampling: Arc<SamplingOptions>,
    n_prompt: usize,
    n_tokens: usize,
    prefix: Prefix,
    /// The newest sampled token: the only one that may come next.
    sampled: Option<TokenId>,
    is_lost: bool,
}

/// Stands for the stored tokens and for the counts that penalties use.
#[derive(Clone, Copy, Debug, Default)]
struct Prefix {
    hash: u64,
    counts: u64,
}

impl FakeBackend {
    /// An idle backend.
    pub fn new(options: FakeOptions) -> Self {
        let (sequences, in_flight) = (HashMap::new(), VecDeque::new());
        Self { options, sequences, in_flight, probe: Arc::default() }
    }

    /// What a test holds on to when the backend moves to its thread.
    pub fn probe(&self) -> Arc<Probe> {
        Arc::clone(&self.probe)
    }

    fn meet_faults(&self, call: Call, nth: usize) -> Result<(), StepError> {
        match self.options.faults.iter().find(|fault| fault.call == call && fault.nth == nth).map(|fault| &fault.effect)
        {
            Some(Effect::Fail(error)) => Err(error.clone()),
            Some(Effect::Panic(text)) => panic!("{text}"),
            None => Ok(()),
        }
    }

    fn check_memory(&self, n_more: usize) -> Result<(), StepError> {
        let n_tokens = self.probe.seen().n_tokens + n_more;
        match self.options.n_tokens_max {
            Some(n_max) if n_tokens > n_max => {
                Err(StepError::OutOfMemory { detail: format!("{n_tokens} positions, {n_max} fit") })
            }
            _ => Ok(()),
        }
    }

    /// Whether the row continues what its cache holds.
    fn check_row(&self, row: &Row) -> Result<(), String> {
        let stored = self.sequences.get(&row.sequence).ok_or("it is not open")?;
        if stored.is_lost {
            return Err("its cache is lost".to_owned());
        }
        if row.start != stored.n_tokens {
            return Err(format!("it starts at {}, the cache holds {}", row.start, stored.n_tokens));
        }
        match &row.input {
            RowInput::Tokens(tokens) => self.check_tokens(stored, tokens)?,
            RowInput::Pending => {
                let is_sampled = |result: &RowResult| result.sequence == row.sequence && !result.tokens.is_empty();
                if !self.in_flight.back().is_some_and(|results| results.iter().any(is_sampled)) {
                    return Err("no step in flight samples its token".to_owned());
                }
            }
        }
        match &row.output {
            RowOutput::Score { targets, .. } if targets.len() > n_input(row) => {
                Err("more targets than inputs".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn check_tokens(&self, stored: &Stored, tokens: &[TokenId]) -> Result<(), String> {
        let n_vocab = self.options.info.n_vocab;
        let Some(first) = tokens.first() else { return Err("it has no tokens".to_owned()) };
        if let Some(token) = tokens.iter().find(|token| **token as usize >= n_vocab) {
            return Err(format!("token {token} does not exist"));
        }
        match stored.sampled {
            Some(sampled) if sampled != *first => Err(format!("token {sampled} was sampled, but {first} comes next")),
            _ => Ok(()),
        }
    }

    fn compute(&mut self, row: &Row) -> Result<RowResult, StepError> {
        let lost = || StepError::Mismatch { detail: format!("{:?} is not open", row.sequence) };
        let stored = self.sequences.get_mut(&row.sequence).ok_or_else(lost)?;
        let tokens = match &row.input {
            RowInput::Tokens(tokens) => tokens.clone(),
            RowInput::Pending => stored.sampled.into_iter().collect(),
        };
        let targets = match &row.output {
            RowOutput::Score { targets, .. } => &targets[..],
            _ => &[],
        };
        let uniform = row.output.draws().last().map(|draw| draw.uniform);
        let mut prompt_scores = Vec::new();
        for (position, token) in tokens.iter().enumerate() {
            stored.prefix.append(*token);
            let n_vocab = self.options.info.n_vocab;
            prompt_scores
                .extend(targets.get(position).map(|target| score(&stored.prefix, *target, &stored.sampling, n_vocab)));
        }
        stored.n_tokens += tokens.len();
        stored.sampled = None;
        let tokens = uniform.map(|uniform| stored.sample(&self.options, uniform)).into_iter().collect();
        Ok(RowResult { sequence: row.sequence, tokens, prompt_scores })
    }
}

impl Backend for FakeBackend {
    fn info(&self) -> &ModelInfo {
        &self.options.info
    }

    fn open(&mut self, id: SequenceId, opening: &Opening<'_>) -> Result<(), StepError> {
        let nth = self.probe.count(|seen| &mut seen.n_opens);
        self.meet_faults(Call::Open, nth)?;
        let prefix = Prefix { hash: 0, counts: counts_of(opening.prompt, opening.output) };
        let stored = Stored {
            sampling: Arc::clone(&opening.sampling),
            n_prompt: opening.prompt.len(),
            n_tokens: 0,
            prefix,
            sampled: None,
            is_lost: false,
        };
        if self.sequences.insert(id, stored).is_some() {
            return Err(StepError::Mismatch { detail: format!("{id:?} is open already") });
        }
        self.probe.update(|seen| seen.n_open += 1);
        Ok(())
    }

    fn submit(&mut self, step: &Step) -> Result<(), StepError> {
        let nth = self.probe.count(|seen| &mut seen.n_submits);
        self.meet_faults(Call::Submit, nth)?;
        let ids: HashSet<_> = step.rows.iter().map(|row| row.sequence).collect();
        if step.rows.is_empty() || ids.len() < step.rows.len() || self.in_flight.len() >= 2 {
            let detail =
                format!("{} rows of {} sequences, {} in flight", step.rows.len(), ids.len(), self.in_flight.len());
            return Err(StepError::Mismatch { detail });
        }
        for row in &step.rows {
            self.check_row(row)
                .map_err(|why| StepError::Mismatch { detail: format!("row of {:?}: {why}", row.sequence) })?;
        }
        let n_tokens = step.rows.iter().map(n_input).sum();
        self.check_memory(n_tokens)?;
        let results = step.rows.iter().map(|row| self.compute(row)).collect::<Result<_, _>>()?;
        self.in_flight.push_back(results);
        self.probe.update(|seen| {
            seen.n_tokens += n_tokens;
            seen.n_computed += n_tokens;
            seen.n_tokens_max = seen.n_tokens_max.max(seen.n_tokens);
            seen.n_rows_max = seen.n_rows_max.max(step.rows.len());
            seen.n_step_tokens_max = seen.n_step_tokens_max.max(n_tokens);
        });
        Ok(())
    }

    fn collect(&mut self) -> Result<StepOutput, StepError> {
        let nth = self.probe.count(|seen| &mut seen.n_collects);
        self.probe.pass();
        let Some(rows) = self.in_flight.pop_front() else {
            return Err(StepError::Mismatch { detail: "no step is in flight".to_owned() });
        };
        if let Err(error) = self.meet_faults(Call::Collect, nth) {
            for row in &rows {
                self.lose(row.sequence);
            }
            return Err(error);
        }
        Ok(StepOutput { rows })
    }

    fn close(&mut self, id: SequenceId) {
        let Some(stored) = self.sequences.remove(&id) else { return };
        assert!(!self.in_flight.iter().flatten().any(|row| row.sequence == id), "{id:?} closed with a row in flight");
        self.probe.update(|seen| {
            seen.n_open -= 1;
            seen.n_tokens -= stored.n_tokens;
        });
    }

    fn memory_bytes(&self) -> usize {
        self.options.info.weight_bytes + self.probe.seen().n_tokens * self.options.info.kv_bytes_per_token
    }
}

impl FakeBackend {
    /// Spoils a sequence's cache, and with it the results in flight that were built on it.
    fn lose(&mut self, id: SequenceId) {
        if let Some(stored) = self.sequences.get_mut(&id) {
            stored.is_lost = true;
        }
        for row in self.in_flight.iter_mut().flatten().filter(|row| row.sequence == id) {
            for score in &mut row.tokens {
                score.token = (score.token + 1) % self.options.info.n_vocab as TokenId;
            }
        }
    }
}

impl Drop for FakeBackend {
    fn drop(&mut self) {
        self.probe.update(|seen| seen.is_dropped = true);
    }
}

impl Stored {
    fn sample(&mut self, options: &FakeOptions, uniform: f32) -> TokenScore {
        let token = match &options.reply {
            Some(reply) => {
                let end = options.info.eos.first().copied().unwrap_or(0);
                reply.get(self.n_tokens - self.n_prompt).copied().unwrap_or(end)
            }
            None => next_token(&self.prefix, &self.sampling, uniform, options.info.n_vocab),
        };
        self.sampled = Some(token);
        let token_score = score(&self.prefix, token, &self.sampling, options.info.n_vocab);
        self.prefix.count_output(token);
        token_score
    }
}

impl Prefix {
    fn append(&mut self, token: TokenId) {
        self.hash = splitmix64(self.hash.rotate_left(7) ^ u64::from(token));
    }

    fn count_output(&mut self, token: TokenId) {
        self.counts = self.counts.wrapping_add(splitmix64(u64::from(token) | 1 << 32));
    }
}

/// The tokens that a request alone must yield, computed the obvious way.
pub fn expected_tokens(options: &FakeOptions, request: &Request) -> Vec<TokenId> {
    let info = &options.info;
    let n_limit = request.max_tokens.min(info.n_context - request.prompt.len());
    let mut prefix = Prefix { hash: 0, counts: counts_of(&request.prompt, &[]) };
    request.prompt.iter().for_each(|token| prefix.append(*token));
    let mut output = Vec::new();
    while output.len() < n_limit {
        let position = request.prompt.len() + output.len();
        let token = match &options.reply {
            Some(reply) => reply.get(output.len()).copied().unwrap_or(info.eos.first().copied().unwrap_or(0)),
            None => next_token(&prefix, &request.sampling, uniform(request.sampling.seed, position), info.n_vocab),
        };
        output.push(token);
        prefix.count_output(token);
        prefix.append(token);
        if request.stop_tokens.contains(&token) || (!request.ignore_eos && info.eos.contains(&token)) {
            break;
        }
    }
    output
}

/// The log-probabilities that a request's prompt tokens from the second on must have, computed the obvious way.
pub fn expected_prompt_scores(options: &FakeOptions, request: &Request) -> Vec<TokenScore> {
    let mut prefix = Prefix::default();
    let pairs = request.prompt.iter().zip(request.prompt.iter().skip(1));
    let scores = pairs.map(|(token, target)| {
        prefix.append(*token);
        score(&prefix, *target, &request.sampling, options.info.n_vocab)
    });
    scores.collect()
}

fn n_input(row: &Row) -> usize {
    match &row.input {
        RowInput::Tokens(tokens) => tokens.len(),
        RowInput::Pending => 1,
    }
}

fn counts_of(prompt: &[TokenId], output: &[TokenId]) -> u64 {
    let counts = prompt.iter().fold(0u64, |counts, token| counts.wrapping_add(splitmix64(u64::from(*token))));
    let mut prefix = Prefix { hash: 0, counts };
    output.iter().for_each(|token| prefix.count_output(*token));
    prefix.counts
}

/// Depends on the draw when there is a temperature, and on the counts when there are penalties.
fn next_token(prefix: &Prefix, sampling: &SamplingOptions, uniform: f32, n_vocab: usize) -> TokenId {
    let draw = if sampling.is_greedy() { 0 } else { uniform.to_bits() };
    let counts = if sampling.has_penalties() { prefix.counts } else { 0 };
    (splitmix64(prefix.hash ^ splitmix64(counts ^ u64::from(draw))) % n_vocab as u64) as TokenId
}

fn score(prefix: &Prefix, token: TokenId, sampling: &SamplingOptions, n_vocab: usize) -> TokenScore {
    let Some(n_top) = sampling.n_logprobs else { return TokenScore { token, logprob: f32::NAN, top: Vec::new() } };
    let logprob = |token: TokenId| -((splitmix64(prefix.hash ^ u64::from(token)) % 100_000) as f32) / 10_000.0;
    let mut top: Vec<_> = (0..n_vocab as TokenId).map(|token| (token, logprob(token))).collect();
    top.sort_by(|a, b| b.1.total_cmp(&a.1));
    top.truncate(n_top);
    TokenScore { token, logprob: logprob(token), top }
}

#[cfg(test)]
#[path = "fake_tests.rs"]
mod tests;
