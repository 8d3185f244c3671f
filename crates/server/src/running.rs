//! The calls that run now: whose they are, how far they are, and a way to cancel them.

mod gaps;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use tokbar_engine::Output;
use tokio::sync::Notify;
use tokio::time::Instant;

use self::gaps::{Gaps, Pace};
use crate::control::{CallState, LastAnswer, RunningCall};

tokio::task_local! {
    /// The call that the current task answers.
    static CALLER: CallerInfo;
}

/// Who calls for what, before anything runs.
#[derive(Clone, Debug)]
pub struct CallerInfo {
    /// The call's id.
    pub id: String,
    /// In a word or two, such as `Chat`.
    pub kind: &'static str,
    /// The program that calls.
    pub client: String,
    /// When it came.
    pub since: Instant,
}

impl CallerInfo {
    /// Of work that no call asked for.
    fn nobody() -> Self {
        let client = "this program".to_owned();
        Self { id: crate::ids::unique("run_"), kind: "Run", client, since: Instant::now() }
    }

    /// Who calls for what the current task does.
    pub fn current() -> Self {
        CALLER.try_with(Clone::clone).unwrap_or_else(|_| Self::nobody())
    }

    /// Answers a call under this name.
    pub async fn scope<T>(self, work: impl Future<Output = T>) -> T {
        CALLER.scope(self, work).await
    }
}

/// All calls that run; cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Running {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    calls: Mutex<BTreeMap<u64, Arc<Call>>>,
    n_begun: AtomicU64,
    gaps: Mutex<Gaps>,
    last: Mutex<Option<LastAnswer>>,
}

/// One call, with all its sequences.
#[derive(Debug)]
struct Call {
    caller: CallerInfo,
    model: String,
    n_sequences: AtomicUsize,
    n_left: AtomicUsize,
    n_prompt: AtomicUsize,
    n_computed: AtomicUsize,
    n_cached: AtomicUsize,
    n_output: AtomicUsize,
    /// Microseconds from the call to its first token, and to its last; 0 before that.
    first_us: AtomicU64,
    last_us: AtomicU64,
    /// When prefill was first seen to go on, in microseconds from the call, and how far it was.
    prefill: Mutex<Option<(u64, usize)>>,
    is_cancelled: AtomicBool,
    cancelled: Notify,
}

/// A sequence's part in its call; the call is over when the last one is dropped.
#[derive(Debug)]
pub struct Ticket {
    idx: u64,
    call: Arc<Call>,
    shared: Arc<Shared>,
    n_prompt: usize,
    n_computed: usize,
    n_cached: usize,
    pace: Pace,
}

/// A call whose sequences are being started.
pub struct Begun {
    idx: u64,
    call: Arc<Call>,
    shared: Arc<Shared>,
}

impl Running {
    /// A call of `model` begins.
    pub fn begin(&self, model: &str) -> Begun {
        let caller = CALLER.try_with(CallerInfo::clone).unwrap_or_else(|_| CallerInfo::nobody());
        let call = Arc::new(Call::new(caller, model.to_owned()));
        let idx = self.shared.n_begun.fetch_add(1, Ordering::Relaxed);
        Begun { idx, call, shared: Arc::clone(&self.shared) }
    }

    /// What runs, the oldest first.
    pub fn list(&self, prefill_tps: f64) -> Vec<RunningCall> {
        locked(&self.shared.calls).values().map(|call| call.shown(prefill_tps)).collect()
    }

    /// Cancels the call of that id. False when none of that id runs.
    pub fn cancel(&self, id: &str) -> bool {
        let calls = locked(&self.shared.calls);
        let mut found = calls.values().filter(|call| call.caller.id == id).peekable();
        let is_found = found.peek().is_some();
        for call in found {
            call.is_cancelled.store(true, Ordering::Release);
            call.cancelled.notify_waiters();
        }
        is_found
    }

    /// The gap between two tokens of a sequence that half of the recent ones stay under, and that 95 of 100 do, in ms.
    pub fn gaps_ms(&self) -> (Option<f64>, Option<f64>) {
        locked(&self.shared.gaps).quantiles_ms(Instant::now())
    }

    /// The last answer that had a token.
    pub fn last(&self) -> Option<LastAnswer> {
        locked(&self.shared.last).clone()
    }
}

impl Begun {
    /// One of its sequences, with a prompt of so many tokens.
    pub fn ticket(&self, n_prompt: usize) -> Ticket {
        let call = Arc::clone(&self.call);
        call.n_sequences.fetch_add(1, Ordering::Relaxed);
        call.n_prompt.fetch_add(n_prompt, Ordering::Relaxed);
        if call.n_left.fetch_add(1, Ordering::AcqRel) == 0 {
            locked(&self.shared.calls).insert(self.idx, Arc::clone(&call));
        }
        let shared = Arc::clone(&self.shared);
        Ticket { idx: self.idx, call, shared, n_prompt, n_computed: 0, n_cached: 0, pace: Pace::default() }
    }
}

impl Ticket {
    /// Takes note of what came.
    pub fn saw(&mut self, output: &Output) {
        match output {
            Output::Prefill { n_computed, n_cached, .. } => self.computed(*n_computed, *n_cached),
            Output::Token(_) => self.token(),
            Output::Finish { usage, .. } => self.computed(self.n_computed.max(usage.n_cached), usage.n_cached),
            Output::Prompt(_) => {}
        }
    }

    fn computed(&mut self, n_computed: usize, n_cached: usize) {
        let add = |sum: &AtomicUsize, now: usize, before: &mut usize| {
            sum.fetch_add(now.saturating_sub(*before), Ordering::Relaxed);
            *before = now.max(*before);
        };
        add(&self.call.n_computed, n_computed.min(self.n_prompt), &mut self.n_computed);
        add(&self.call.n_cached, n_cached.min(self.n_prompt), &mut self.n_cached);
        let mut prefill = locked(&self.call.prefill);
        if prefill.is_none() {
            *prefill = Some((self.call.age_us(), self.call.n_computed.load(Ordering::Relaxed)));
        }
    }

    fn token(&mut self) {
        if self.n_computed < self.n_prompt {
            self.computed(self.n_prompt, self.n_cached);
        }
        let age = self.call.age_us().max(1);
        if self.call.n_output.fetch_add(1, Ordering::Relaxed) == 0 {
            self.call.first_us.store(age, Ordering::Relaxed);
        }
        self.call.last_us.store(age, Ordering::Relaxed);
        locked(&self.shared.gaps).token(&mut self.pace, Instant::now());
    }

    /// Completes when the call is cancelled.
    pub async fn cancelled(&self) {
        let mut cancelled = std::pin::pin!(self.call.cancelled.notified());
        // From here on a notice is not missed; one of before is seen below.
        cancelled.as_mut().enable();
        if !self.call.is_cancelled.load(Ordering::Acquire) {
            cancelled.await;
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        locked(&self.shared.gaps).end(&mut self.pace);
        if self.call.n_left.fetch_sub(1, Ordering::AcqRel) != 1 {
            return;
        }
        locked(&self.shared.calls).remove(&self.idx);
        if let Some(answer) = self.call.answer() {
            *locked(&self.shared.last) = Some(answer);
        }
    }
}

impl Call {
    fn new(caller: CallerInfo, model: String) -> Self {
        Self {
            caller,
            model,
            n_sequences: AtomicUsize::new(0),
            n_left: AtomicUsize::new(0),
            n_prompt: AtomicUsize::new(0),
            n_computed: AtomicUsize::new(0),
            n_cached: AtomicUsize::new(0),
            n_output: AtomicUsize::new(0),
            first_us: AtomicU64::new(0),
            last_us: AtomicU64::new(0),
            prefill: Mutex::new(None),
            is_cancelled: AtomicBool::new(false),
            cancelled: Notify::new(),
        }
    }

    fn age_us(&self) -> u64 {
        u64::try_from(self.caller.since.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Tokens per second after the first, once there is enough to tell.
    fn tokens_per_s(&self, until_us: u64) -> Option<f64> {
        let (n, first) = (self.n_output.load(Ordering::Relaxed), self.first_us.load(Ordering::Relaxed));
        let seconds = until_us.saturating_sub(first) as f64 / 1e6;
        (n > 1 && seconds > 0.0).then(|| (n - 1) as f64 / seconds)
    }

    /// Seconds of prefill left: at its own pace once that is seen, else at `prefill_tps`.
    fn left_s(&self, n_computed: usize, n_prompt: usize, prefill_tps: f64) -> Option<f64> {
        let own = (*locked(&self.prefill)).and_then(|(since_us, n_then)| {
            let seconds = self.age_us().saturating_sub(since_us) as f64 / 1e6;
            (n_computed > n_then && seconds > 0.5).then(|| (n_computed - n_then) as f64 / seconds)
        });
        let tps = own.unwrap_or(prefill_tps);
        (tps > 0.0).then(|| n_prompt.saturating_sub(n_computed) as f64 / tps)
    }

    fn shown(&self, prefill_tps: f64) -> RunningCall {
        let count = |count: &AtomicUsize| count.load(Ordering::Relaxed);
        let (n_prompt, n_computed, n_output) =
            (count(&self.n_prompt), count(&self.n_computed).min(count(&self.n_prompt)), count(&self.n_output));
        let state = match (n_output, n_computed) {
            (0, 0) => CallState::Waiting,
            (0, _) => CallState::Prefill,
            _ => CallState::Decode,
        };
        let is_prefill = state == CallState::Prefill;
        RunningCall {
            id: self.caller.id.clone(),
            kind: self.caller.kind.to_owned(),
            client: self.caller.client.clone(),
            model: self.model.clone(),
            state,
            n_sequences: count(&self.n_sequences),
            n_prompt,
            n_computed,
            n_cached: count(&self.n_cached),
            n_output,
            part: is_prefill.then(|| n_computed as f64 / n_prompt.max(1) as f64),
            left_s: is_prefill.then(|| self.left_s(n_computed, n_prompt, prefill_tps)).flatten(),
            tokens_per_s: self.tokens_per_s(self.age_us()),
            age_s: self.caller.since.elapsed().as_secs_f64(),
        }
    }

    /// What is remembered of it; nothing of a call without a token.
    fn answer(&self) -> Option<LastAnswer> {
        let first = self.first_us.load(Ordering::Relaxed);
        (first > 0).then(|| LastAnswer {
            model: self.model.clone(),
            client: self.caller.client.clone(),
            ttft_ms: first as f64 / 1e3,
            n_prompt: self.n_prompt.load(Ordering::Relaxed),
            n_cached: self.n_cached.load(Ordering::Relaxed),
            n_output: self.n_output.load(Ordering::Relaxed),
            tokens_per_s: self.tokens_per_s(self.last_us.load(Ordering::Relaxed)),
            at: Timestamp::now().to_string(),
        })
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
