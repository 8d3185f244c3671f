//! What an engine may hold for the time being: less than its options say, while the machine is short of memory.

/// Bounds that come and go. Sequences that run keep their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// Sequences that may hold a KV cache once this many do; more wait for a place.
    pub n_rows: usize,
    /// Bytes that may be kept beyond running sequences. What is more goes to disk, where there is one.
    pub kept_bytes: usize,
}

impl Hold {
    /// Whether less may be held than by `other`.
    pub(crate) fn is_tighter(&self, other: &Self) -> bool {
        self.n_rows < other.n_rows || self.kept_bytes < other.kept_bytes
    }
}

/// As much as the options say.
impl Default for Hold {
    fn default() -> Self {
        Self { n_rows: usize::MAX, kept_bytes: usize::MAX }
    }
}
