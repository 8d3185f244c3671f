//! How much of a checkpoint has been read, and who is told.

/// What is told how much has been read.
pub type Progress<'p> = &'p mut dyn FnMut(LoadProgress);

/// How much of a checkpoint has been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadProgress {
    /// Bytes of the tensors taken so far, as stored.
    pub n_bytes: u64,
    /// Bytes of all tensors.
    pub n_bytes_total: u64,
}
