//! Kept state between the backend and the disk: what is written behind, what comes back, and how much of the engine
//! thread's time that may take.
//!
//! Knows the tier, the scheduler's index and the clock. Runs on the engine's thread; only copies are made here, and the
//! tier's threads do the rest.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::plan::Plan;
use crate::scheduler::Scheduler;
use crate::tier::{ChainKey, Link, Tier, TierStats};
use crate::{Backend, BlockId, Kept, Opening, Prefix, SequenceId};

mod import;
mod share;

use import::{Import, Progress};
use share::Share;

/// Parts of the engine thread's time beside steps, and the longest stretch of it.
const EXPORT_SHARE: f64 = 0.1;
const IMPORT_SHARE: f64 = 0.4;
const STRETCH_MAX: Duration = Duration::from_millis(20);

/// Sequences that wait for imports at once; the others start with what is in memory.
const N_IMPORTS_MAX: usize = 16;

/// Records taken in between two looks at the commands while nothing runs.
const N_IDLE_RECORDS: usize = 8;

/// How long a start may be delayed to bring back what was of use the latest.
const WARM_UP_MAX: Duration = Duration::from_millis(1500);

/// No request has this id.
const REHEARSAL: SequenceId = SequenceId(u64::MAX);

/// How long a stop may be delayed to write what is not yet written.
const WIND_DOWN_MAX: Duration = Duration::from_secs(5);

/// How long steps may be delayed to write what is about to be given up.
const HURRY_MAX: Duration = Duration::from_millis(500);

/// How long to wait before looking again whether the disk has caught up.
const CATCH_UP: Duration = Duration::from_millis(2);

/// Whether others wait for the engine's thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Steps are in flight.
    Busy,
    Idle,
}

/// See the module.
pub(crate) struct Spill {
    tier: Tier,
    n_block: usize,
    has_snapshots: bool,
    /// In memory and not on disk, oldest first.
    pending: BTreeMap<u64, (Kept, Link)>,
    turns: HashMap<Kept, u64>,
    n_turns: u64,
    /// Where records are in memory.
    blocks: HashMap<ChainKey, BlockId>,
    keys: HashMap<BlockId, ChainKey>,
    imports: Vec<Import>,
    /// Payloads that have come and are not taken in yet; `None` = it could not be read.
    stash: HashMap<ChainKey, Option<Vec<u8>>>,
    export_share: Share,
    import_share: Share,
    tally: Tally,
}

#[derive(Debug, Default)]
struct Tally {
    n_imported: u64,
    n_imported_tokens: u64,
    n_refused: u64,
    n_lost: u64,
}

impl Spill {
    /// `n_kept_bytes` bounds what is brought back unasked.
    pub(crate) fn new(tier: Tier, (n_block, snapshot_bytes): (usize, usize), n_kept_bytes: usize) -> Self {
        let hottest = tier.hottest(n_kept_bytes as u64);
        let now = Instant::now();
        Self {
            tier,
            n_block,
            has_snapshots: snapshot_bytes > 0,
            pending: BTreeMap::new(),
            turns: HashMap::new(),
            n_turns: 0,
            blocks: HashMap::new(),
            keys: HashMap::new(),
            imports: vec![Import::unasked(hottest, now)],
            stash: HashMap::new(),
            export_share: Share::new(EXPORT_SHARE, STRETCH_MAX, now),
            import_share: Share::new(IMPORT_SHARE, STRETCH_MAX, now),
            tally: Tally::default(),
        }
    }

    /// Brings back what was of use the latest, for a bounded time. The rest comes while nothing runs.
    pub(crate) fn warm_up(&mut self, backend: &mut dyn Backend, scheduler: &mut Scheduler) {
        let start = Instant::now();
        while !self.imports.is_empty() && start.elapsed() < WARM_UP_MAX {
            if !self.import(backend, scheduler, Pace::Idle) {
                std::thread::sleep(CATCH_UP);
            }
        }
        if !self.has_snapshots {
            rehearse(backend, &scheduler.chains(), start + WARM_UP_MAX);
        }
    }

    /// Learns what a plan keeps, before its chores are done.
    pub(crate) fn planned(&mut self, plan: &Plan) {
        for (kept, link) in &plan.indexed {
            self.register(*kept, link);
            let is_new = self.tier.is_writing() && !self.tier.has(link.key);
            if is_new && self.turns.insert(*kept, self.n_turns).is_none() {
                self.pending.insert(self.n_turns, (*kept, link.clone()));
                self.n_turns += 1;
            }
        }
    }

    /// The backend is about to forget something: the last chance to write it.
    pub(crate) fn forgetting(&mut self, kept: Kept, backend: &mut dyn Backend) {
        if let Some((kept, link)) = self.take_pending(kept) {
            match self.export_share.has_credit(Instant::now()) && self.tier.has_room() {
                true => self.export_one(kept, &link, backend),
                false => self.tally.n_lost += 1,
            }
        }
        if let Kept::Block(id) = kept
            && let Some(key) = self.keys.remove(&id)
        {
            self.blocks.remove(&key);
        }
    }

    /// Sequences have been opened with these blocks: their records are of use.
    pub(crate) fn used(&self, blocks: &[BlockId]) {
        let keys: Vec<_> = blocks.iter().filter_map(|id| self.keys.get(id).copied()).collect();
        self.tier.touch(&keys);
    }

    /// Looks up what new sequences miss in memory, and has those wait for which the disk has more.
    pub(crate) fn look(&mut self, scheduler: &mut Scheduler) {
        for id in scheduler.take_arrivals() {
            if self.imports.len() >= N_IMPORTS_MAX {
                continue;
            }
            let links = self.missing(&scheduler.gap(id));
            if !links.is_empty() {
                scheduler.hold(id);
                self.imports.push(Import::asked(id, links, Instant::now()));
            }
        }
    }

    /// Takes in what has come from the disk. False when there was nothing to take in.
    pub(crate) fn import(&mut self, backend: &mut dyn Backend, scheduler: &mut Scheduler, pace: Pace) -> bool {
        self.stash.extend(self.tier.take_fetched());
        let mut imports = std::mem::take(&mut self.imports);
        // Those that somebody waits for first.
        imports.sort_by_key(|import| import.sequence().is_none());
        let mut n_left = N_IDLE_RECORDS;
        let mut has_moved = false;
        imports.retain_mut(|import| {
            // What nobody asked for comes while nobody else wants the thread.
            if import.sequence().is_none() && pace == Pace::Busy {
                return true;
            }
            loop {
                let is_allowed = match pace {
                    Pace::Idle => n_left > 0,
                    Pace::Busy => self.import_share.has_credit(Instant::now()),
                };
                if !is_allowed {
                    return true;
                }
                let start = Instant::now();
                let progress = import.advance(self, backend, scheduler);
                self.import_share.spend(start.elapsed());
                match progress {
                    Progress::Moved => (n_left, has_moved) = (n_left.saturating_sub(1), true),
                    Progress::Waits => return true,
                    Progress::Ended => break,
                }
            }
            import.sequence().into_iter().for_each(|id| scheduler.release(id));
            has_moved = true;
            false
        });
        self.imports = imports;
        if !self.stash.is_empty() {
            let imports = &self.imports;
            self.stash.retain(|key, _| imports.iter().any(|import| import.expects(*key)));
        }
        has_moved
    }

    /// Copies some of what is not on disk yet, oldest first. False when there was nothing to copy, or no room for it.
    pub(crate) fn export(&mut self, backend: &mut dyn Backend, pace: Pace) -> bool {
        let mut has_moved = false;
        while let Some((turn, (kept, link))) = self.pending.first_key_value() {
            let (turn, kept, link) = (*turn, *kept, link.clone());
            let is_allowed = pace == Pace::Idle || self.export_share.has_credit(Instant::now());
            if !is_allowed || !self.tier.has_room() {
                break;
            }
            self.pending.remove(&turn);
            self.turns.remove(&kept);
            self.export_one(kept, &link, backend);
            has_moved = true;
            if pace == Pace::Idle {
                break;
            }
        }
        has_moved
    }

    /// Whether somebody waits for the disk, so that a look now and then is due.
    pub(crate) fn is_awaited(&self) -> bool {
        self.imports.iter().any(|import| import.sequence().is_some())
    }

    /// Writes what is not written, for a bounded time.
    pub(crate) fn wind_down(&mut self, backend: &mut dyn Backend) {
        self.write_within(WIND_DOWN_MAX, backend);
    }

    /// As [`wind_down`](Self::wind_down), while others wait.
    pub(crate) fn hurry(&mut self, backend: &mut dyn Backend) {
        self.write_within(HURRY_MAX, backend);
    }

    fn write_within(&mut self, most: Duration, backend: &mut dyn Backend) {
        let start = Instant::now();
        while !self.pending.is_empty() && start.elapsed() < most && self.tier.is_writing() {
            if !self.export(backend, Pace::Idle) {
                std::thread::sleep(CATCH_UP);
            }
        }
    }

    pub(crate) fn stats(&self) -> TierStats {
        let mut stats = self.tier.stats();
        stats.n_imported = self.tally.n_imported;
        stats.n_imported_tokens = self.tally.n_imported_tokens;
        stats.n_refused = self.tally.n_refused;
        stats.n_dropped += self.tally.n_lost;
        stats.n_pending = self.pending.len();
        stats
    }

    fn export_one(&mut self, kept: Kept, link: &Link, backend: &mut dyn Backend) {
        if self.tier.has(link.key) {
            return;
        }
        let start = Instant::now();
        match backend.export(kept) {
            Ok(payload) => self.tier.put(link, payload),
            // What the backend did not keep in the first place.
            Err(error) => tracing::debug!(%error, ?kept, "state was not exported"),
        }
        self.export_share.spend(start.elapsed());
    }

    fn take_pending(&mut self, kept: Kept) -> Option<(Kept, Link)> {
        self.pending.remove(&self.turns.remove(&kept)?)
    }

    fn register(&mut self, kept: Kept, link: &Link) {
        if let Kept::Block(id) = kept {
            self.blocks.insert(link.key, id);
            self.keys.insert(id, link.key);
        }
    }

    /// Counts what has come back.
    fn imported(&mut self, kept: Kept, link: &Link) {
        self.register(kept, link);
        self.tally.n_imported += 1;
        if matches!(kept, Kept::Block(_)) {
            self.tally.n_imported_tokens += link.tokens.len() as u64;
        }
    }

    /// What the disk has said is of no use: it is not asked for again.
    fn refused(&mut self, key: ChainKey) {
        self.tally.n_refused += 1;
        self.tier.forget(key);
    }
}

/// Starts a sequence on each chain and lets it go, until `end`: a backend that puts blocks together when they are first used
/// does so now, and not when somebody waits.
fn rehearse(backend: &mut dyn Backend, chains: &[(Vec<BlockId>, usize)], end: Instant) {
    for (blocks, n_tokens) in chains {
        if Instant::now() >= end {
            return;
        }
        let prefix = Prefix { blocks, n_tokens: *n_tokens, snapshot: None };
        let opening = Opening { sampling: Arc::default(), prompt: &[0], output: &[], prefix };
        match backend.open(REHEARSAL, &opening) {
            Ok(()) => backend.close(REHEARSAL),
            Err(error) => tracing::debug!(%error, "a chain from disk cannot be started from"),
        }
    }
}
