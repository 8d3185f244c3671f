//! The handle of a running engine: starts the worker thread, submits requests to it, stops it.

use std::error::Error as StdError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::{mpsc, oneshot};

use crate::hold::Hold;
use crate::outputs::{Bell, Command, N_OUTPUTS_MAX, Shared, Submission};
use crate::tier::TierOptions;
use crate::worker;
use crate::{
    Backend, FinishReason, ModelInfo, Outputs, Request, SamplingError, SequenceId, Speculation, Stats, TokenId,
};

/// Bounds the memory of the command channel, whatever the options say.
const N_LIVE_MAX: usize = 1 << 16;

/// Positions that fit at least when no budget is set.
const N_TOKENS_LEAST: usize = 2048;

/// What is kept beyond running sequences when nobody says what the device has.
const KEPT_BYTES_DEFAULT: usize = 2 << 30;

/// Bounds of an engine.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineOptions {
    /// Most tokens a step computes. More makes prefill faster and delays other sequences' tokens longer.
    pub token_budget: usize,
    /// Most sequences that hold a KV cache at once.
    pub n_rows_max: usize,
    /// Most tokens of a sequence; `None` = what the model was made for.
    pub n_context_max: Option<usize>,
    /// Most sequences that wait for a place.
    pub n_waiting_max: usize,
    /// Most bytes of all KV caches together: running sequences, kept blocks and snapshots. `None` = half of what the device
    /// has beside the weights, of which half may be kept beyond running sequences.
    pub kv_budget_bytes: Option<usize>,
    /// Positions of a block, the unit in which KV is kept and evicted. A hit may end inside a block.
    pub n_block: usize,
    /// Positions between regular snapshots of models that need them.
    pub n_snapshot_gap: usize,
    /// While sequences generate, steps carry as much prefill as is predicted to delay their next tokens by this.
    pub decode_stall_ms: u64,
    /// Keeps blocks and snapshots on disk, so that they outlive the budget and the process.
    pub tier: Option<TierOptions>,
    /// Which drafts may be used.
    pub speculation: Speculation,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            token_budget: 512,
            n_rows_max: 32,
            n_context_max: None,
            n_waiting_max: 256,
            kv_budget_bytes: None,
            n_block: 64,
            n_snapshot_gap: 1024,
            decode_stall_ms: 500,
            tier: None,
            speculation: Speculation::Auto,
        }
    }
}

impl EngineOptions {
    /// Bytes of all KV caches together: as set, or half of what the device has beside the weights, and never so little
    /// that nothing runs. `None` when the device does not say what it has.
    pub(crate) fn kv_budget(&self, info: &ModelInfo) -> Option<usize> {
        let n_least = info.kv_bytes_per_token.saturating_mul(N_TOKENS_LEAST).saturating_add(info.snapshot_bytes);
        let usual =
            (info.memory_bytes > 0).then(|| (info.memory_bytes.saturating_sub(info.weight_bytes) / 2).max(n_least));
        self.kv_budget_bytes.or(usual)
    }

    /// Bytes kept that no running sequence uses: all of a budget that was set, half of the usual one.
    pub(crate) fn kept_budget(&self, info: &ModelInfo) -> usize {
        let usual = || self.kv_budget(info).map_or(KEPT_BYTES_DEFAULT, |n_bytes| n_bytes / 2);
        self.kv_budget_bytes.unwrap_or_else(usual)
    }

    /// Positions of one sequence that the KV budget holds; `None` = any number.
    ///
    /// # Errors
    /// When it does not hold two.
    pub(crate) fn n_budget_tokens(&self, info: &ModelInfo) -> Result<Option<usize>, StartError> {
        let Some(kv_budget_bytes) = self.kv_budget(info) else { return Ok(None) };
        let ModelInfo { kv_bytes_per_token, snapshot_bytes, .. } = *info;
        let n_token_bytes = kv_budget_bytes.saturating_sub(snapshot_bytes);
        let has_state_room = kv_budget_bytes >= snapshot_bytes;
        let n_tokens = n_token_bytes.checked_div(kv_bytes_per_token).unwrap_or(usize::MAX);
        if n_tokens < 2 || !has_state_room {
            return Err(StartError::KvBudget { kv_budget_bytes, kv_bytes_per_token, n_tokens });
        }
        Ok(Some(n_tokens))
    }
}

/// Why an engine did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An option is zero that must not be.
    #[error("{name} is 0, but must be at least 1")]
    ZeroOption {
        /// The option.
        name: &'static str,
    },
    /// Not even one short sequence fits the KV budget.
    #[error("the KV budget of {kv_budget_bytes} bytes holds {n_tokens} tokens of {kv_bytes_per_token} bytes; raise it")]
    KvBudget {
        /// The budget.
        kv_budget_bytes: usize,
        /// Bytes of one token.
        kv_bytes_per_token: usize,
        /// Tokens that fit.
        n_tokens: usize,
    },
    /// The system gave no thread.
    #[error("no thread for the engine: {0}")]
    Thread(#[from] std::io::Error),
    /// The model was not loaded.
    #[error(transparent)]
    Load(Box<dyn StdError + Send + Sync>),
    /// Loading panicked: a defect.
    #[error("loading the model panicked: {detail}")]
    Panicked {
        /// What the panic said.
        detail: String,
    },
}

/// Why a request was not taken.
#[derive(Clone, Debug, thiserror::Error, PartialEq)]
pub enum SubmitError {
    /// As many sequences run and wait as may.
    #[error("{n_live} requests are running or waiting, the most there may be; try again later")]
    QueueFull {
        /// Sequences not yet finished.
        n_live: usize,
    },
    /// The prompt leaves no room for output.
    #[error("the prompt has {n_prompt} tokens, but the context holds {n_context} with the output; shorten the prompt")]
    TooLong {
        /// Tokens of the prompt.
        n_prompt: usize,
        /// Most tokens of prompt and output.
        n_context: usize,
    },
    /// The prompt leaves no room for output in all of the KV budget.
    #[error(
        "the prompt's {n_prompt} tokens and one of output take {n_bytes} bytes of KV cache, more than the budget of \
         {kv_budget_bytes} bytes, which holds {n_fit}; shorten the prompt or raise the budget"
    )]
    NeverFits {
        /// Tokens of the prompt.
        n_prompt: usize,
        /// Most tokens of prompt and output under the budget.
        n_fit: usize,
        /// What prompt and a token would take.
        n_bytes: usize,
        /// The budget.
        kv_budget_bytes: usize,
    },
    /// A request needs at least one token.
    #[error("the prompt has no tokens")]
    EmptyPrompt,
    /// A token that the model does not have.
    #[error("the prompt's token {token} does not exist; tokens run from 0 to {n_vocab}, exclusive")]
    BadToken {
        /// The token.
        token: TokenId,
        /// Vocabulary size.
        n_vocab: usize,
    },
    /// A sampling option out of its range.
    #[error(transparent)]
    Sampling(#[from] SamplingError),
    /// The engine was shut down or failed.
    #[error("the engine takes no more requests: {reason}")]
    Stopped {
        /// Why.
        reason: String,
    },
}

/// A handle to a running engine; clones share it. Dropping the last one shuts the engine down, which waits
/// for the steps in flight.
#[derive(Clone, Debug)]
pub struct Engine {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    info: ModelInfo,
    /// Bytes of all KV caches together, where they are bounded.
    kv_budget: Option<usize>,
    /// The same, where that is what bounds the context.
    n_budget: Option<usize>,
    bell: Bell,
    n_live_max: usize,
    n_submitted: AtomicU64,
    thread: Mutex<Option<JoinHandle<Result<(), StartError>>>>,
}

impl Engine {
    /// Starts the worker thread, which runs `load` and owns the backend from then on, and waits for the model.
    ///
    /// # Errors
    /// When an option is unusable, or `load` fails or panics; the thread is gone then.
    pub fn start<F>(load: F, options: EngineOptions) -> Result<Engine, StartError>
    where
        F: FnOnce() -> Result<Box<dyn Backend>, Box<dyn StdError + Send + Sync>> + Send + 'static,
    {
        check_options(&options)?;
        let n_live_max = options.n_rows_max.saturating_add(options.n_waiting_max).min(N_LIVE_MAX);
        // Every live sequence, one look and one stop: sends never find it full.
        let (sender, commands) = sync_channel(n_live_max + 2);
        let shared = Arc::new(Shared::default());
        let bell = Bell { commands: sender, shared };
        let (info, thread) = worker::start(load, options.clone(), commands, bell.clone())?;
        let n_budget_tokens = options.n_budget_tokens(&info)?;
        let kv_budget = options.kv_budget(&info);
        let n_budget = kv_budget.filter(|_| n_budget_tokens == Some(info.n_context));
        let thread = Mutex::new(Some(thread));
        let inner = Inner { info, kv_budget, n_budget, bell, n_live_max, n_submitted: AtomicU64::new(0), thread };
        Ok(Engine { inner: Arc::new(inner) })
    }

    /// Facts of the model; `n_context` is what both the model and the KV budget hold.
    pub fn info(&self) -> &ModelInfo {
        &self.inner.info
    }

    /// Bytes that all KV caches may take together, kept prefixes included; `None` where nothing bounds them.
    pub fn kv_budget_bytes(&self) -> Option<usize> {
        self.inner.kv_budget
    }

    /// Hands a request to the worker. Never blocks.
    ///
    /// # Errors
    /// When the request cannot be honoured, too many are waiting, or the engine is stopped.
    pub fn submit(&self, request: Request) -> Result<Outputs, SubmitError> {
        let Inner { info, n_budget, bell, n_live_max, n_submitted, .. } = &*self.inner;
        check_request(&request, info, *n_budget)?;
        if let Some(reason) = bell.shared.stopped.get() {
            return Err(stopped(reason));
        }
        let add = |n_live: usize| (n_live < *n_live_max).then_some(n_live + 1);
        if let Err(n_live) = bell.shared.n_live.fetch_update(Ordering::AcqRel, Ordering::Acquire, add) {
            return Err(SubmitError::QueueFull { n_live });
        }
        let id = SequenceId(n_submitted.fetch_add(1, Ordering::Relaxed));
        let (sender, receiver) = mpsc::channel(N_OUTPUTS_MAX);
        let outputs = Outputs::new(id, request.prompt.len(), receiver, bell.clone());
        // The channel has room for every live sequence, so only a worker that is gone refuses.
        if bell.commands.try_send(Command::Submit(Box::new(Submission { id, request, sender }))).is_err() {
            return Err(stopped(bell.shared.stopped.get().unwrap_or(&FinishReason::Cancelled)));
        }
        Ok(outputs)
    }

    /// Tokens at the beginning of a prompt that kept blocks in memory spare computing; 0 when the engine is too busy to say.
    pub async fn n_kept(&self, prompt: Vec<TokenId>) -> usize {
        let (reply, answer) = oneshot::channel();
        let sent = self.inner.bell.commands.try_send(Command::Probe(prompt, reply));
        if sent.is_ok() { answer.await.unwrap_or(0) } else { 0 }
    }

    /// What the engine does and has done, as of the last step.
    pub fn stats(&self) -> Stats {
        self.inner.bell.shared.stats()
    }

    /// Bounds what is held until told otherwise; the worker acts on it at once. No request fails of it.
    pub fn hold(&self, hold: Hold) {
        self.inner.bell.shared.set_hold(hold);
        self.inner.bell.ring();
    }

    /// Cancels all sequences and waits until the worker has given everything back. Later calls do nothing.
    pub fn shutdown(&self) {
        self.inner.shutdown();
    }
}

impl Inner {
    fn shutdown(&self) {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(thread) = thread.take() else { return };
        if self.bell.commands.send(Command::Stop).is_err() {
            tracing::debug!("the worker stopped before it was told to");
        }
        if thread.join().is_err() {
            tracing::error!("the worker thread panicked");
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.shutdown();
    }
}

fn check_options(options: &EngineOptions) -> Result<(), StartError> {
    let sizes = [
        ("token_budget", options.token_budget),
        ("n_rows_max", options.n_rows_max),
        ("n_block", options.n_block),
        ("n_snapshot_gap", options.n_snapshot_gap),
    ];
    match sizes.into_iter().find(|(_, size)| *size == 0) {
        Some((name, _)) => Err(StartError::ZeroOption { name }),
        None => Ok(()),
    }
}

fn check_request(request: &Request, info: &ModelInfo, n_budget: Option<usize>) -> Result<(), SubmitError> {
    let (n_prompt, n_context) = (request.prompt.len(), info.n_context);
    if n_prompt == 0 {
        return Err(SubmitError::EmptyPrompt);
    }
    if n_prompt + request.max_tokens.min(1) > n_context {
        let n_bytes = (n_prompt + 1).saturating_mul(info.kv_bytes_per_token).saturating_add(info.snapshot_bytes);
        return Err(match n_budget {
            Some(kv_budget_bytes) => SubmitError::NeverFits { n_prompt, n_fit: n_context, n_bytes, kv_budget_bytes },
            None => SubmitError::TooLong { n_prompt, n_context },
        });
    }
    if let Some(&token) =
        request.prompt.iter().chain(&request.prediction).find(|token| **token as usize >= info.n_vocab)
    {
        return Err(SubmitError::BadToken { token, n_vocab: info.n_vocab });
    }
    Ok(request.sampling.validate(info.n_vocab)?)
}

fn stopped(reason: &FinishReason) -> SubmitError {
    let reason = match reason {
        FinishReason::Failed(cause) => cause.clone(),
        _ => "it was shut down".to_owned(),
    };
    SubmitError::Stopped { reason }
}
