//! Names for kept state that mean the same in every process: hashes over everything that the state depends on.

use std::fmt;

use crate::TokenId;

/// Tells models and their numerics apart: BLAKE3 of [`ModelInfo::fingerprint`](crate::ModelInfo::fingerprint).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint(pub [u8; 32]);

/// Names the state after a run of tokens from position 0: BLAKE3 over the key before it and the run.
///
/// A hash that can be forged would let one prompt answer for another, so it is a cryptographic one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChainKey(pub [u8; 32]);

/// What a record holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Says whose records follow; its payload is text.
    Label,
    /// KV of the tokens' positions.
    Block,
    /// State of layers that cannot be cut back, after the tokens.
    Snapshot,
}

impl Fingerprint {
    /// Of a model's fingerprint text.
    pub fn of(text: &str) -> Self {
        Self(blake3::derive_key("tokbar fingerprint", text.as_bytes()))
    }
}

impl ChainKey {
    /// Before position 0.
    pub const ROOT: Self = Self([0; 32]);

    /// After `tokens`, which follow what this key names.
    pub fn then(self, kind: Kind, tokens: &[TokenId]) -> Self {
        let mut hasher = match kind {
            Kind::Block => blake3::Hasher::new(),
            Kind::Snapshot => blake3::Hasher::new_derive_key("tokbar snapshot"),
            Kind::Label => blake3::Hasher::new_derive_key("tokbar label"),
        };
        hasher.update(&self.0);
        for token in tokens {
            hasher.update(&token.to_le_bytes());
        }
        Self(*hasher.finalize().as_bytes())
    }
}

impl Kind {
    pub(super) fn code(self) -> u8 {
        match self {
            Self::Label => 0,
            Self::Block => 1,
            Self::Snapshot => 2,
        }
    }

    pub(super) fn from_code(code: u8) -> Option<Self> {
        [Self::Label, Self::Block, Self::Snapshot].into_iter().find(|kind| kind.code() == code)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..16].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

impl fmt::Debug for ChainKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..4].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
