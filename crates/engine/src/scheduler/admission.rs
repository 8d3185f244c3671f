//! Who starts next: interactive requests first, then those with the least to compute, none deferred for too long; and who
//! waits for another that computes the same prefix.

use super::{N_DEFERRED_MAX, Scheduler};
use crate::prefix_tree::{Hit, n_common};
use crate::sequence::{Keeping, Lookup, Sequence, Standing};
use crate::{Priority, SequenceId};

/// Waiting sequences looked at in one plan, the oldest ones of the most urgent priority.
const N_CANDIDATES: usize = 32;

/// Plans for which a sequence waits while the one it waits for makes no progress, and in all.
const N_STALLED_MAX: usize = 32;
const N_FOLLOWED_MAX: usize = 4096;

/// A sequence's wait for another that computes what it needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Follow {
    /// `None` once it was given up: then it computes for itself.
    leader: Option<SequenceId>,
    /// Positions that they have in common.
    n_common: usize,
    /// The leader's positions when last looked at.
    n_seen: usize,
    n_stalled: usize,
    n_plans: usize,
}

impl Scheduler {
    /// Starts waiting sequences while there is room. Paused ones yield their room, and background ones to interactive
    /// ones. One that was deferred too often is not passed any more.
    pub(super) fn admit(&mut self) {
        self.follows.retain(|id, _| self.sequences.contains_key(id));
        'admission: loop {
            let has_place = self.n_holding() < self.n_places();
            if !has_place && self.yielding(Priority::Interactive).is_none() {
                return;
            }
            let candidates = self.candidates();
            let Some(first) = candidates.first() else { return };
            let priority = self.sequences[first].priority;
            // Those who would yield to the first take no room from it.
            for id in &candidates {
                if self.sequences[id].priority > priority {
                    break;
                }
                if self.n_holding() < self.n_places() && self.try_start(*id) {
                    self.count_passed(*id);
                    continue 'admission;
                }
                if self.sequences[id].n_deferred >= N_DEFERRED_MAX {
                    break;
                }
            }
            match self.yielding(priority) {
                Some(last) if !self.has_leaving() => self.preempt(last),
                _ => return,
            }
        }
    }

    /// A running sequence that gives its place to a waiting one of this priority.
    fn yielding(&self, priority: Priority) -> Option<SequenceId> {
        let last = self.last_running()?;
        let sequence = &self.sequences[&last];
        (sequence.is_paused || sequence.priority > priority).then_some(last)
    }

    /// Who may start, in order.
    fn candidates(&mut self) -> Vec<SequenceId> {
        let is_due = |s: &&Sequence| s.standing == Standing::Waiting && !s.is_paused && s.lookup != Lookup::Held;
        let mut due: Vec<_> = self.sequences.values().filter(is_due).map(|s| (s.priority, s.id())).collect();
        due.sort_unstable();
        due.truncate(N_CANDIDATES);
        let mut ranked = Vec::new();
        for (priority, id) in due {
            let hit = self.hit(id);
            if self.is_following(id, hit.n_tokens) {
                continue;
            }
            let sequence = &self.sequences[&id];
            let is_patient = sequence.n_deferred < N_DEFERRED_MAX;
            let n_left = if is_patient { sequence.n_known() - hit.n_tokens } else { 0 };
            ranked.push((priority, is_patient, n_left, id));
        }
        ranked.sort_unstable();
        ranked.into_iter().map(|(.., id)| id).collect()
    }

    /// Counts for whom `id` was not the next in order of arrival.
    fn count_passed(&mut self, id: SequenceId) {
        let priority = self.sequences[&id].priority;
        for sequence in self.sequences.range_mut(..id).map(|(_, sequence)| sequence) {
            let is_passed =
                sequence.standing == Standing::Waiting && !sequence.is_paused && sequence.lookup != Lookup::Held;
            if is_passed && sequence.priority <= priority && !self.follows.contains_key(&sequence.id()) {
                sequence.n_deferred += 1;
            }
        }
    }

    /// What a sequence may start from.
    pub(super) fn hit(&self, id: SequenceId) -> Hit {
        let tokens = self.sequences[&id].reusable();
        let hit = self.tree.find(tokens);
        if self.info.snapshot_bytes > 0 { self.tree.find_snapshot(hit, tokens) } else { hit }
    }

    /// Starts a sequence if there is room for all it knows and some growth.
    fn try_start(&mut self, id: SequenceId) -> bool {
        let hit = self.hit(id);
        if self.start_from(id, hit) {
            return true;
        }
        // Alone, what it would start from and does not share in full may be just what takes its room.
        self.n_holding() == 0 && self.start_from(id, Hit::default())
    }

    fn start_from(&mut self, id: SequenceId, hit: Hit) -> bool {
        let n_block = self.limits.n_block;
        let sequence = &self.sequences[&id];
        let n_reserved = sequence.reservation(sequence.n_known(), self.limits.n_kv_growth);
        let n_own = n_reserved - hit.n_tokens / n_block * n_block;
        self.tree.lock(&hit.blocks);
        hit.snapshot.into_iter().for_each(|snapshot| self.tree.lock_snapshot(snapshot));
        if !self.make_room(self.token_bytes(n_own) + self.info.snapshot_bytes) {
            self.tree.unlock(&hit.blocks);
            hit.snapshot.into_iter().for_each(|snapshot| self.tree.unlock_snapshot(snapshot));
            return false;
        }
        self.tree.touch(&hit.blocks);
        let n_head = self.sequences[&id].n_head() / n_block;
        self.tree.pin(&hit.blocks[..n_head.min(hit.n_tokens / n_block)]);
        self.tally.n_hit_tokens += hit.n_tokens as u64;
        self.follows.remove(&id);
        self.sequence_mut(id).start(hit, n_reserved, n_block);
        true
    }

    /// Whether a sequence waits for another that computes more of its prefix than the `n_hit` positions that are kept.
    fn is_following(&mut self, id: SequenceId, n_hit: usize) -> bool {
        let follow = match self.follows.get(&id) {
            Some(Follow { leader: None, .. }) => return false,
            Some(follow) => Some(*follow),
            None => self.find_leader(id, n_hit),
        };
        let Some(mut follow) = follow else { return false };
        if follow.n_plans == 0 {
            self.tally.n_follows += 1;
        }
        let leader = follow.leader.and_then(|leader| self.sequences.get(&leader));
        let leader = leader.filter(|s| s.standing != Standing::Waiting && !s.is_paused && !s.is_lost);
        let Some(leader) = leader else {
            self.follows.remove(&id);
            return false;
        };
        let (leader_id, n_confirmed) = (leader.id(), leader.n_confirmed);
        if n_confirmed >= follow.n_common {
            self.keep_tail(leader_id);
            self.attach_snapshots(leader_id);
            self.follows.remove(&id);
            return false;
        }
        follow.n_plans += 1;
        follow.n_stalled = if n_confirmed > follow.n_seen { 0 } else { follow.n_stalled + 1 };
        follow.n_seen = n_confirmed;
        let is_given_up = follow.n_stalled > N_STALLED_MAX || follow.n_plans > N_FOLLOWED_MAX;
        follow.leader = follow.leader.filter(|_| !is_given_up);
        self.follows.insert(id, follow);
        !is_given_up
    }

    /// A running sequence that computes at least a block more of what `id` needs than is kept.
    fn find_leader(&self, id: SequenceId, n_hit: usize) -> Option<Follow> {
        let tokens = self.sequences[&id].reusable();
        let n_worth = n_hit + self.limits.n_block;
        if tokens.len() < n_worth {
            return None;
        }
        let is_ahead =
            |s: &&Sequence| s.standing == Standing::Running && !s.is_paused && s.holdings.keeping == Keeping::Running;
        let follow = |leader: &Sequence| Follow {
            leader: Some(leader.id()),
            n_common: n_common(leader.tokens(), tokens),
            n_seen: leader.n_confirmed,
            n_stalled: 0,
            n_plans: 0,
        };
        let follows = self.sequences.values().filter(is_ahead).map(follow);
        follows.filter(|f| f.n_common >= n_worth && f.n_common > f.n_seen).max_by_key(|f| f.n_common)
    }
}
