//! The one thread that owns the backend: takes commands, plans, submits, collects, and sends outputs on.
//!
//! Knows threads, channels and the clock. Which rows a step has is the scheduler's matter.

use std::collections::HashMap;
use std::error::Error as StdError;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::Sender;

use crate::costs::StepCosts;
use crate::draft::N_DRAFT_MAX;
use crate::hold::Hold;
use crate::limits::bounds;
use crate::outputs::{Bell, Command, N_OUTPUTS_MAX, Shared};
use crate::plan::{Chore, Keep, Plan};
use crate::scheduler::Scheduler;
use crate::sequence::N_FORCED_MAX;
use crate::spill::Spill;
use crate::stats::Meter;
use crate::{Backend, EngineOptions, FinishReason, ModelInfo, Output, SequenceId, StartError, Stats};

mod disk;
mod failure;

use failure::{panic_text, start_error};

/// Room in an output channel below which a sequence pauses: two rows in flight with a verified run, forced tokens, prompt
/// scores and the finish.
const N_OUTPUTS_SPARE: usize = N_DRAFT_MAX + N_FORCED_MAX + 4;

/// How often to look whether a disk that somebody waits for is stuck.
const DISK_LOOK: Duration = Duration::from_millis(100);

/// Starts the thread, which runs `load` and then works until told to stop, and waits for the model.
pub(crate) fn start<F>(
    load: F,
    options: EngineOptions,
    commands: Receiver<Command>,
    bell: Bell,
) -> Result<(ModelInfo, JoinHandle<Result<(), StartError>>), StartError>
where
    F: FnOnce() -> Result<Box<dyn Backend>, Box<dyn StdError + Send + Sync>> + Send + 'static,
{
    let (ready, is_ready) = sync_channel(1);
    let body = move || {
        let backend = load().map_err(StartError::Load)?;
        let (info, limits) = bounds(backend.info(), &options)?;
        let scheduler = Scheduler::new(info.clone(), limits);
        let stall = Duration::from_millis(options.decode_stall_ms);
        let channels = Channels { commands, shared: Arc::clone(&bell.shared) };
        let mut worker = Worker::new(backend, scheduler, channels, stall);
        worker.open_tier(&options, limits.kept_bytes, bell);
        worker.publish();
        if ready.send(info).is_ok() {
            worker.run();
        }
        Ok(())
    };
    let thread = std::thread::Builder::new().name("engine".to_owned()).spawn(body)?;
    match is_ready.recv() {
        Ok(info) => Ok((info, thread)),
        Err(_) => Err(start_error(thread)),
    }
}

/// Everything the thread owns.
struct Worker {
    backend: Box<dyn Backend>,
    scheduler: Scheduler,
    spill: Option<Spill>,
    commands: Receiver<Command>,
    shared: Arc<Shared>,
    senders: HashMap<SequenceId, Sender<Output>>,
    meter: Meter,
    costs: StepCosts,
    /// What it may hold now.
    hold: Hold,
    /// How long prefill may hold up decode.
    stall: Duration,
    /// When the device began what it does now.
    busy_since: Instant,
    /// When the last results came, or work began after there was none.
    round_since: Instant,
}

/// What the worker does next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Step,
    /// There is nothing to do until a command comes.
    Wait,
    Stop,
}

/// The worker's ends of what the handles hold.
struct Channels {
    commands: Receiver<Command>,
    shared: Arc<Shared>,
}

impl Worker {
    fn new(backend: Box<dyn Backend>, scheduler: Scheduler, channels: Channels, stall: Duration) -> Self {
        let Channels { commands, shared } = channels;
        let (senders, meter, costs, now) = (HashMap::new(), Meter::default(), StepCosts::default(), Instant::now());
        Self {
            backend,
            scheduler,
            spill: None,
            commands,
            shared,
            senders,
            meter,
            costs,
            hold: Hold::default(),
            stall,
            busy_since: now,
            round_since: now,
        }
    }

    /// Works until told to stop or the backend panics, then drops the backend and every channel: receivers without a
    /// finish find its reason in `shared`.
    fn run(mut self) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.work())) {
            let cause = panic_text(panic.as_ref());
            tracing::error!(cause, "the backend panicked");
            self.shared.stopped.get_or_init(|| FinishReason::Failed(format!("the engine stopped: {cause}")));
        }
        let backend = self.backend;
        if catch_unwind(AssertUnwindSafe(move || drop(backend))).is_err() {
            tracing::error!("the backend panicked while it was dropped");
        }
    }

    fn work(&mut self) {
        let mut next = Next::Wait;
        while self.take_commands(next) != Next::Stop {
            let is_tightened = self.take_hold();
            self.look_at_receivers();
            let has_come = self.take_from_disk(next);
            next = self.turn();
            // Before anything else: somebody waits for tokens.
            self.dispatch();
            if is_tightened {
                self.backend.give_back();
            }
            let has_gone = self.bring_to_disk(next);
            if next == Next::Wait && (has_come || has_gone) {
                next = Next::Step;
            }
            self.publish();
        }
        self.wind_down();
        self.publish();
    }

    /// Takes every command there is; waits for one when there is nothing to do.
    fn take_commands(&mut self, next: Next) -> Next {
        let mut command = match next {
            Next::Wait if self.spill.as_ref().is_some_and(Spill::is_awaited) => {
                self.commands.recv_timeout(DISK_LOOK).map_err(|error| match error {
                    RecvTimeoutError::Timeout => TryRecvError::Empty,
                    RecvTimeoutError::Disconnected => TryRecvError::Disconnected,
                })
            }
            Next::Wait => {
                let command = self.commands.recv().map_err(|_| TryRecvError::Disconnected);
                self.round_since = Instant::now();
                command
            }
            Next::Step | Next::Stop => self.commands.try_recv(),
        };
        loop {
            match command {
                Ok(Command::Submit(submission)) => {
                    self.senders.insert(submission.id, submission.sender);
                    self.scheduler.add(submission.id, submission.request);
                }
                Ok(Command::Probe(prompt, reply)) => {
                    if reply.send(self.scheduler.n_kept(&prompt)).is_err() {
                        tracing::trace!("nobody waits for the probe");
                    }
                }
                Ok(Command::Look) => self.shared.answer_bell(),
                Ok(Command::Stop) | Err(TryRecvError::Disconnected) => return Next::Stop,
                Err(TryRecvError::Empty) => return Next::Step,
            }
            command = self.commands.try_recv();
        }
    }

    /// Cancels the sequences whose receiver is gone, and pauses those whose receiver lags.
    fn look_at_receivers(&mut self) {
        for (id, sender) in &self.senders {
            if sender.is_closed() {
                self.scheduler.cancel(*id);
            } else if sender.capacity() < N_OUTPUTS_SPARE {
                self.scheduler.pause(*id);
            } else if sender.capacity() >= N_OUTPUTS_MAX / 2 {
                self.scheduler.resume(*id);
            }
        }
    }

    /// Submits the next step, and collects one when two are in flight or no other can start.
    fn turn(&mut self) -> Next {
        self.draft();
        let plan = self.scheduler.plan(self.costs.n_prefill_within(self.stall));
        if let Some(spill) = &mut self.spill {
            spill.planned(&plan);
        }
        let refused = self.do_chores(&plan.chores);
        if !refused.is_empty() {
            self.scheduler.keeps_refused(&plan, &refused);
            return Next::Step;
        }
        let is_submitted = !plan.step.rows.is_empty() && self.submit(&plan);
        match self.scheduler.n_steps_in_flight() {
            0 if plan.is_empty() => Next::Wait,
            0 => Next::Step,
            1 if is_submitted => Next::Step,
            _ => {
                self.collect();
                Next::Step
            }
        }
    }

    /// Has the backend draft what the scheduler wants for the next step.
    fn draft(&mut self) {
        let asks = self.scheduler.decide_drafts();
        if !asks.is_empty() {
            let drafts = self.backend.draft(&asks);
            drop(asks);
            self.scheduler.drafted(drafts);
        }
    }

    /// Does what comes before a step, and returns what the backend did not keep.
    fn do_chores(&mut self, chores: &[Chore]) -> Vec<Keep> {
        let mut refused = Vec::new();
        for chore in chores {
            let keep = match chore {
                Chore::Forget(kept) => {
                    if let Some(spill) = &mut self.spill {
                        spill.forgetting(*kept, self.backend.as_mut());
                    }
                    self.backend.forget(&[*kept]);
                    continue;
                }
                Chore::Close(id) => {
                    self.backend.close(*id);
                    continue;
                }
                Chore::Keep(keep) => keep,
            };
            let result = match keep {
                Keep::Block { id, block, positions, .. } => self.backend.keep(*id, *block, positions.clone()),
                Keep::Snapshot { id, snapshot } => self.backend.snapshot(*id, *snapshot),
            };
            if let Err(error) = result {
                tracing::debug!(%error, ?keep, "state was not kept");
                refused.push(keep.clone());
            }
        }
        refused
    }

    /// Opens the plan's new sequences and submits its step. False when the backend refused, and nothing was submitted.
    fn submit(&mut self, plan: &Plan) -> bool {
        for id in &plan.opened {
            let opening = self.scheduler.opening(*id);
            self.spill.iter().for_each(|spill| spill.used(opening.prefix.blocks));
            if let Err(error) = self.backend.open(*id, &opening) {
                tracing::warn!(%error, ?id, "a sequence was not opened");
                self.scheduler.open_refused(*id, &error);
                return false;
            }
            self.scheduler.opened(*id);
        }
        if self.scheduler.n_steps_in_flight() == 1 {
            self.busy_since = Instant::now();
        }
        if let Err(error) = self.backend.submit(&plan.step) {
            tracing::warn!(%error, n_rows = plan.step.rows.len(), "a step was not submitted");
            self.scheduler.submit_refused(&error);
            return false;
        }
        for (id, snapshot) in &plan.snapshots {
            if let Err(error) = self.backend.snapshot(*id, *snapshot) {
                tracing::debug!(%error, ?id, "a snapshot was not taken");
                self.scheduler.snapshot_refused(*id, *snapshot);
            }
        }
        if self.scheduler.n_steps_in_flight() == 1 {
            self.bind();
        }
        true
    }

    /// Tells the backend what the draws of the oldest step in flight hang on, while it computes.
    fn bind(&mut self) {
        if let Some(terms) = self.scheduler.late_terms() {
            self.backend.bind(terms);
        }
    }

    fn collect(&mut self) {
        let result = self.backend.collect();
        let now = Instant::now();
        let took = now.duration_since(std::mem::replace(&mut self.busy_since, now));
        let round = now.duration_since(std::mem::replace(&mut self.round_since, now));
        match result {
            Ok(output) => {
                let work = self.scheduler.collected(output);
                self.scheduler.took(round);
                self.costs.observe(work, took);
                self.meter.step(work, took);
            }
            Err(error) => {
                tracing::warn!(%error, "a step failed");
                self.scheduler.collect_failed(&error);
            }
        }
        self.bind();
    }

    /// Sends what the scheduler has to tell. A sequence that plans rows always has room, see [`N_OUTPUTS_SPARE`].
    fn dispatch(&mut self) {
        for (id, output) in self.scheduler.take_events() {
            let is_last = matches!(output, Output::Finish { .. });
            match &output {
                Output::Token(_) => self.meter.token(),
                Output::Finish { reason, .. } => {
                    self.meter.finish(reason);
                    self.shared.n_live.fetch_sub(1, Ordering::AcqRel);
                }
                Output::Prefill { .. } | Output::Prompt(_) => {}
            }
            let Some(sender) = self.senders.get(&id) else { continue };
            let is_dispensable = matches!(output, Output::Prefill { .. });
            if is_dispensable && sender.capacity() <= N_OUTPUTS_SPARE {
                continue;
            }
            if sender.try_send(output).is_err() {
                tracing::debug!(?id, "the receiver is gone");
            }
            if is_last {
                self.senders.remove(&id);
            }
        }
    }

    fn publish(&mut self) {
        let (census, tally) = (self.scheduler.census(), self.scheduler.tally());
        let stats = self.meter.snapshot(census, tally, (self.backend.memory_bytes(), self.backend.experts()));
        let tier = self.spill.as_ref().map(Spill::stats).unwrap_or_default();
        self.shared.publish(Stats { tier, ..stats });
    }

    /// Ends every sequence and leaves nothing in the backend.
    fn wind_down(&mut self) {
        self.shared.stopped.get_or_init(|| FinishReason::Cancelled);
        self.scheduler.cancel_all();
        self.dispatch();
        while self.scheduler.n_steps_in_flight() > 0 {
            self.collect();
        }
        let plan = self.scheduler.plan(usize::MAX);
        if let Some(spill) = &mut self.spill {
            spill.planned(&plan);
        }
        self.do_chores(&plan.chores);
        if let Some(spill) = &mut self.spill {
            spill.wind_down(self.backend.as_mut());
        }
        let kept = self.scheduler.forget_all();
        self.backend.forget(&kept);
    }
}
