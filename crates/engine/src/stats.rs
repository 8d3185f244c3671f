//! Counts and throughputs of an engine. Pure: durations come in as arguments.

use std::time::Duration;

use crate::plan::{Census, StepWork, Tally};
use crate::tier::TierStats;
use crate::{DraftCounts, FinishReason};

/// What an engine does and has done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// Sequences that hold a cache.
    pub n_running: usize,
    /// Sequences that wait for room, new or preempted.
    pub n_waiting: usize,
    /// Prompt tokens computed so far; those computed again after a preemption count again.
    pub n_prompt_tokens: u64,
    /// Tokens generated so far.
    pub n_output_tokens: u64,
    /// Sequences that ended by a stop token, EOS or their limit.
    pub n_finished: u64,
    /// Sequences whose receiver went away.
    pub n_cancelled: u64,
    /// Sequences that failed.
    pub n_failed: u64,
    /// Times a sequence lost its place to others, to go on later.
    pub n_preempted: u64,
    /// Tokens that kept blocks saved computing, in all.
    pub n_hit_tokens: u64,
    /// Blocks evicted so far.
    pub n_evicted: u64,
    /// Snapshots taken so far.
    pub n_snapshots_taken: u64,
    /// Times a sequence waited for another that computed the same prefix.
    pub n_prefix_waits: u64,
    /// Prompt tokens per second, over recent steps with prefill.
    pub prefill_tokens_per_s: f64,
    /// Generated tokens per second over all sequences, over recent steps with decode.
    pub decode_tokens_per_s: f64,
    /// Bytes the backend holds: weights, KV caches and allocator cache.
    pub memory_bytes: usize,
    /// Positions of running sequences; those that several share count for each.
    pub n_kv_tokens: usize,
    /// Positions in kept blocks, whether or not a running sequence uses them.
    pub n_kept_tokens: usize,
    /// Blocks kept.
    pub n_blocks: usize,
    /// Snapshots held.
    pub n_snapshots: usize,
    /// What is on disk; all zero without a disk.
    pub tier: TierStats,
    /// Drafts so far.
    pub drafts: DraftCounts,
    /// Experts, where not all are in memory.
    pub experts: ExpertStats,
}

/// How often the experts that tokens took were in memory. A layer counts each once a pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExpertStats {
    /// Taken and in memory.
    pub n_hits: u64,
    /// Taken and read from disk.
    pub n_misses: u64,
    /// Bytes read from disk.
    pub n_bytes_read: u64,
    /// In memory now, of all layers.
    pub n_resident: u64,
    /// Of all layers.
    pub n_all: u64,
}

impl ExpertStats {
    /// Of those taken, the part that was in memory; 0 when none was taken.
    pub fn hit_rate(&self) -> f64 {
        let n = self.n_hits + self.n_misses;
        if n == 0 { 0.0 } else { self.n_hits as f64 / n as f64 }
    }
}

/// Gathers [`Stats`] step by step.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    stats: Stats,
    prefill: Rate,
    decode: Rate,
}

impl Meter {
    /// Counts a step that kept the device busy for `took`.
    pub(crate) fn step(&mut self, work: StepWork, took: Duration) {
        self.stats.n_prompt_tokens += work.n_prefill as u64;
        self.prefill.add(work.n_prefill, took);
        self.decode.add(work.n_decode, took);
    }

    pub(crate) fn token(&mut self) {
        self.stats.n_output_tokens += 1;
    }

    pub(crate) fn finish(&mut self, reason: &FinishReason) {
        match reason {
            FinishReason::Stop | FinishReason::Length => self.stats.n_finished += 1,
            FinishReason::Cancelled => self.stats.n_cancelled += 1,
            FinishReason::Failed(_) => self.stats.n_failed += 1,
        }
    }

    /// Everything so far, with the state of now.
    pub(crate) fn snapshot(
        &mut self,
        census: Census,
        tally: Tally,
        (memory_bytes, experts): (usize, ExpertStats),
    ) -> Stats {
        self.stats.n_running = census.n_running;
        self.stats.n_waiting = census.n_waiting;
        self.stats.n_kv_tokens = census.n_kv_tokens;
        self.stats.n_kept_tokens = census.n_kept_tokens;
        self.stats.n_blocks = census.n_blocks;
        self.stats.n_snapshots = census.n_snapshots;
        self.stats.n_preempted = tally.n_preempted;
        self.stats.n_hit_tokens = tally.n_hit_tokens;
        self.stats.n_evicted = tally.n_evicted;
        self.stats.n_snapshots_taken = tally.n_snapshots;
        self.stats.n_prefix_waits = tally.n_follows;
        self.stats.drafts = tally.drafts;
        self.stats.memory_bytes = memory_bytes;
        self.stats.experts = experts;
        self.stats.prefill_tokens_per_s = self.prefill.per_s();
        self.stats.decode_tokens_per_s = self.decode.per_s();
        self.stats.clone()
    }
}

/// Tokens per second of device time, where older time counts less: by a factor of e every [`Rate::WINDOW_S`] seconds.
#[derive(Debug, Default)]
struct Rate {
    n_tokens: f64,
    seconds: f64,
}

impl Rate {
    const WINDOW_S: f64 = 10.0;

    fn add(&mut self, n_tokens: usize, took: Duration) {
        if n_tokens == 0 {
            return;
        }
        let keep = (-took.as_secs_f64() / Self::WINDOW_S).exp();
        self.n_tokens = self.n_tokens * keep + n_tokens as f64;
        self.seconds = self.seconds * keep + took.as_secs_f64();
    }

    fn per_s(&self) -> f64 {
        if self.seconds > 0.0 { self.n_tokens / self.seconds } else { 0.0 }
    }
}

#[cfg(test)]
#[path = "stats_tests.rs"]
mod tests;
