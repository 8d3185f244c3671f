//! Random names and seeds.

use std::hash::{BuildHasher, RandomState};

/// `prefix` and 32 random hexadecimal digits.
pub fn unique(prefix: &str) -> String {
    format!("{prefix}{:016x}{:016x}", random(), random())
}

/// A random number that need not be secret. Every [`RandomState`] hashes with keys of its own.
pub fn random() -> u64 {
    RandomState::new().hash_one(0)
}
