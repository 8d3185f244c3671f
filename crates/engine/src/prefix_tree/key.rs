//! Names of blocks that hold across processes.

use crate::TokenId;

/// Hash of a block's tokens and of the key before it, so that it stands for all tokens from the start on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct BlockKey(pub [u8; 32]);

impl BlockKey {
    /// Before the first block.
    pub(crate) const ROOT: Self = Self([0; 32]);

    /// The key of the block, full or partial, that continues this one by `tokens`.
    pub(crate) fn child(&self, tokens: &[TokenId]) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.0);
        for token in tokens {
            hasher.update(&token.to_le_bytes());
        }
        Self(*hasher.finalize().as_bytes())
    }
}
