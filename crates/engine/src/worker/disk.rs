//! The worker's part in what moves between memory and disk, and in how much memory may hold.

use super::{Next, Worker};
use crate::EngineOptions;
use crate::outputs::Bell;
use crate::spill::{Pace, Spill};
use crate::tier::Tier;

impl Worker {
    /// Opens what is on disk and brings the most recent of it back.
    pub(super) fn open_tier(&mut self, options: &EngineOptions, kept_bytes: usize, bell: Bell) {
        let Some(tier) = &options.tier else { return };
        let info = self.backend.info();
        let tier = Tier::start(tier, &info.fingerprint, move || bell.ring());
        let mut spill = Spill::new(tier, (options.n_block, info.snapshot_bytes), kept_bytes);
        spill.warm_up(self.backend.as_mut(), &mut self.scheduler);
        self.spill = Some(spill);
    }

    /// Whether less may be held from now on.
    pub(super) fn take_hold(&mut self) -> bool {
        let hold = self.shared.hold();
        let before = std::mem::replace(&mut self.hold, hold);
        self.scheduler.hold_to(hold);
        let is_tighter = hold.is_tighter(&before);
        self.spill.iter_mut().filter(|_| is_tighter).for_each(|spill| spill.hurry(self.backend.as_mut()));
        is_tighter
    }

    /// Looks up what new sequences could start from, and takes in what has come for them.
    pub(super) fn take_from_disk(&mut self, last: Next) -> bool {
        let Some(spill) = &mut self.spill else { return false };
        let pace = if last == Next::Wait || self.scheduler.is_idle() { Pace::Idle } else { Pace::Busy };
        spill.look(&mut self.scheduler);
        spill.import(self.backend.as_mut(), &mut self.scheduler, pace)
    }

    pub(super) fn bring_to_disk(&mut self, next: Next) -> bool {
        let Some(spill) = &mut self.spill else { return false };
        let pace = if next == Next::Wait { Pace::Idle } else { Pace::Busy };
        spill.export(self.backend.as_mut(), pace)
    }
}
