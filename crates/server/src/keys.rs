//! API keys: several, each with a scope, known only by their hashes.

use std::fmt;

use ring::digest::{SHA256, digest};
use subtle::{Choice, ConstantTimeEq};

/// What a key lets its holder do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyScope {
    /// Use the models.
    Inference,
    /// Use the models, and manage the server.
    Manage,
}

impl KeyScope {
    /// The word for it in files and commands.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Inference => "inference",
            Self::Manage => "manage",
        }
    }
}

/// A key. Its secret is not kept: secrets are long and random, so that a plain hash gives nothing away.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    /// Names it in logs and listings.
    pub name: String,
    /// What it lets its holder do.
    pub scope: KeyScope,
    hash: [u8; 32],
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("name", &self.name).field("scope", &self.scope).finish_non_exhaustive()
    }
}

impl Key {
    /// A key with this secret; an empty one opens nothing.
    pub fn new(name: impl Into<String>, scope: KeyScope, secret: &str) -> Self {
        Self { name: name.into(), scope, hash: hash(secret.as_bytes()) }
    }

    /// A key whose secret has this hash, in 64 hexadecimal digits.
    pub fn from_hash(name: impl Into<String>, scope: KeyScope, hex: &str) -> Option<Self> {
        let mut hash = [0; 32];
        if hex.len() != 64 || !hex.is_ascii() {
            return None;
        }
        for (byte, digits) in hash.iter_mut().zip(hex.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
        }
        Some(Self { name: name.into(), scope, hash })
    }
}

impl Key {
    /// Whether `secret` is its secret. The time that it takes tells nothing of it.
    pub fn opens_with(&self, secret: &[u8]) -> bool {
        !secret.is_empty() && bool::from(self.hash.ct_eq(&hash(secret)))
    }
}

/// All keys that open the server; none opens it to nobody.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keys(pub Vec<Key>);

impl Keys {
    /// One key for everything.
    pub fn single(secret: &str) -> Self {
        Self(vec![Key::new("default", KeyScope::Manage, secret)])
    }

    /// The key with this secret. The time that it takes tells nothing of the keys.
    pub fn find(&self, secret: &[u8]) -> Option<&Key> {
        let hash = hash(secret);
        let is_some = Choice::from(u8::from(!secret.is_empty()));
        self.0.iter().fold(None, |found, key| {
            let fits = key.hash.ct_eq(&hash) & is_some;
            if bool::from(fits) { Some(key) } else { found }
        })
    }
}

fn hash(secret: &[u8]) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, secret).as_ref());
    hash
}

#[cfg(test)]
#[path = "keys_tests.rs"]
mod tests;
