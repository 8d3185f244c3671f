//! Counts of a tier.

use super::scan::Flaws;

/// What a tier holds and has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TierStats {
    /// Whether new records are taken.
    pub is_writing: bool,
    /// Blocks on disk or about to be.
    pub n_blocks: usize,
    /// Snapshots on disk or about to be.
    pub n_snapshots: usize,
    /// Bytes of the model's files.
    pub n_bytes: u64,
    /// Bytes that wait to be written.
    pub n_waiting_bytes: u64,
    /// Records written.
    pub n_written: u64,
    /// Records read.
    pub n_read: u64,
    /// Records given up unwritten, as the disk was too slow.
    pub n_dropped: u64,
    /// Records removed for newer ones.
    pub n_evicted: u64,
    /// Times that the disk failed.
    pub n_errors: u64,
    /// Blocks and snapshots in memory that are yet to be copied for the disk.
    pub n_pending: usize,
    /// Records that came back into memory.
    pub n_imported: u64,
    /// Positions of the blocks among them.
    pub n_imported_tokens: u64,
    /// Records that the model did not take.
    pub n_refused: u64,
    /// Records that were skipped.
    pub flaws: Flaws,
}
