//! The receiving end of a request, and the bell that wakes the worker.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tokio::sync::{mpsc, oneshot};

use crate::draft::N_DRAFT_MAX;
use crate::hold::Hold;
use crate::{FinishReason, Output, Request, SequenceId, Stats, TokenId, Usage};

/// Outputs kept for a receiver that does not read; then its sequence pauses.
pub(crate) const N_OUTPUTS_MAX: usize = 64 + N_DRAFT_MAX;

/// What handles tell the worker.
pub(crate) enum Command {
    Submit(Box<Submission>),
    /// How much of a prompt is kept.
    Probe(Vec<TokenId>, oneshot::Sender<usize>),
    /// A receiver read or went away: look at them all.
    Look,
    Stop,
}

/// A request on its way to the worker.
pub(crate) struct Submission {
    pub id: SequenceId,
    pub request: Request,
    pub sender: mpsc::Sender<Output>,
}

/// What the worker and all handles share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// Sequences submitted and not yet finished.
    pub n_live: AtomicUsize,
    /// Why the worker takes no more requests.
    pub stopped: OnceLock<FinishReason>,
    stats: Mutex<Stats>,
    hold: Mutex<Hold>,
    is_rung: AtomicBool,
}

impl Shared {
    pub(crate) fn stats(&self) -> Stats {
        self.stats.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn hold(&self) -> Hold {
        *self.hold.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_hold(&self, hold: Hold) {
        *self.hold.lock().unwrap_or_else(PoisonError::into_inner) = hold;
    }

    pub(crate) fn publish(&self, stats: Stats) {
        *self.stats.lock().unwrap_or_else(PoisonError::into_inner) = stats;
    }

    /// The worker takes the ring; what was done before it is visible from here on.
    pub(crate) fn answer_bell(&self) {
        self.is_rung.swap(false, Ordering::AcqRel);
    }
}

/// Wakes the worker. Rings that it has not yet answered are one, so they need one place in the channel.
#[derive(Clone, Debug)]
pub(crate) struct Bell {
    pub commands: SyncSender<Command>,
    pub shared: Arc<Shared>,
}

impl Bell {
    pub(crate) fn ring(&self) {
        let is_new = !self.shared.is_rung.swap(true, Ordering::AcqRel);
        // A worker that is gone needs no waking.
        if is_new && self.commands.try_send(Command::Look).is_err() {
            tracing::trace!("the worker is gone");
        }
    }
}

/// What one request yields. Dropping it cancels the request within one step.
#[derive(Debug)]
pub struct Outputs {
    id: SequenceId,
    receiver: mpsc::Receiver<Output>,
    bell: Bell,
    /// Kept so that a finish can be given when the worker dies without one.
    usage: Usage,
    is_finished: bool,
}

impl Outputs {
    pub(crate) fn new(id: SequenceId, n_prompt: usize, receiver: mpsc::Receiver<Output>, bell: Bell) -> Self {
        let usage = Usage { n_prompt, ..Usage::default() };
        Self { id, receiver, bell, usage, is_finished: false }
    }

    /// The request's sequence.
    pub fn id(&self) -> SequenceId {
        self.id
    }

    /// Counts so far: prompt, tokens taken from kept blocks, tokens received.
    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    /// Waits for the next output. `None` after [`Output::Finish`], which always comes.
    pub async fn next(&mut self) -> Option<Output> {
        if self.is_finished {
            return None;
        }
        let output = self.receiver.recv().await;
        self.took(output)
    }

    /// As [`next`](Self::next), for threads outside an async runtime.
    ///
    /// # Panics
    /// Within an async runtime.
    pub fn blocking_next(&mut self) -> Option<Output> {
        if self.is_finished {
            return None;
        }
        let output = self.receiver.blocking_recv();
        self.took(output)
    }

    fn took(&mut self, output: Option<Output>) -> Option<Output> {
        self.bell.ring();
        match &output {
            Some(Output::Token(_)) => self.usage.n_output += 1,
            Some(Output::Prefill { n_cached, .. }) => self.usage.n_cached = *n_cached,
            Some(Output::Finish { usage, .. }) => {
                self.usage = usage.clone();
                self.is_finished = true;
            }
            Some(Output::Prompt(_)) => {}
            None => return Some(self.orphaned()),
        }
        output
    }

    /// The finish of a request whose worker is gone.
    fn orphaned(&mut self) -> Output {
        self.is_finished = true;
        let unknown = || FinishReason::Failed("the engine stopped".to_owned());
        let reason = self.bell.shared.stopped.get().cloned().unwrap_or_else(unknown);
        Output::Finish { reason, usage: self.usage.clone() }
    }
}

impl Drop for Outputs {
    fn drop(&mut self) {
        self.receiver.close();
        self.bell.ring();
    }
}
