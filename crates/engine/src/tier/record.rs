//! One record as bytes: the same in the tier's files and in exported ones.
//!
//! | bytes | what, integers little-endian |
//! |---|---|
//! | 8 | magic `TOKBARKV` |
//! | 4 + 4 | version; length of the header in bytes |
//! | 1 + 3 + 4 | kind; zeros; number of tokens |
//! | 8 + 8 + 8 | position of the first token; length of the payload; XXH3 of the payload |
//! | 32 + 32 + 32 | fingerprint; key; key of the record before it in the chain |
//! | 4 each | tokens |
//! | 8 | XXH3 of the header so far |
//! | … | payload, then zeros up to a multiple of [`ALIGNMENT`] |
//!
//! A reader that meets damage goes on at the next multiple of [`ALIGNMENT`] that looks like a record.

use xxhash_rust::xxh3::xxh3_64;

use super::key::{ChainKey, Fingerprint, Kind};
use crate::TokenId;

/// Records start at multiples of this in their file.
pub const ALIGNMENT: u64 = 4096;

/// Starts every record.
pub const MAGIC: [u8; 8] = *b"TOKBARKV";

const VERSION: u32 = 1;

/// Bytes before the tokens.
pub const N_FIXED: usize = 8 + 4 + 4 + 1 + 3 + 4 + 8 + 8 + 8 + 32 * 3;

const N_CHECKSUM: usize = 8;

/// Most tokens that one record covers.
pub const N_TOKENS_MAX: usize = 1 << 16;

/// Longest payload in bytes.
pub const N_PAYLOAD_MAX: u64 = 1 << 32;

/// What a record says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// What the payload is.
    pub kind: Kind,
    /// Whose it is.
    pub fingerprint: Fingerprint,
    /// Its name, which follows from `parent`, `kind` and `tokens`.
    pub key: ChainKey,
    /// The key before it in the chain.
    pub parent: ChainKey,
    /// Position of the first token.
    pub start: u64,
    /// The tokens from `parent` to `key`.
    pub tokens: Vec<TokenId>,
    /// Bytes of the payload.
    pub n_payload: u64,
    /// XXH3 of the payload.
    pub payload_hash: u64,
}

/// Why bytes are no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// They do not start like one.
    NoRecord,
    /// They end too early.
    Truncated,
    /// Another version of the format.
    Version,
    /// A checksum does not match, or the contents contradict one another.
    Corrupt,
}

impl Header {
    /// Of a record that follows `parent`, which ends at `start`. [`sealed`](Self::sealed) adds what depends on the payload.
    pub fn new(kind: Kind, fingerprint: Fingerprint, (parent, start): (ChainKey, u64), tokens: Vec<TokenId>) -> Self {
        let key = parent.then(kind, &tokens);
        Self { kind, fingerprint, key, parent, start, tokens, n_payload: 0, payload_hash: 0 }
    }

    /// With length and hash of the payload.
    pub fn sealed(&self, payload: &[u8]) -> Self {
        Self { n_payload: payload.len() as u64, payload_hash: xxh3_64(payload), ..self.clone() }
    }

    /// Bytes of the header.
    pub fn n_header(&self) -> u64 {
        (N_FIXED + 4 * self.tokens.len() + N_CHECKSUM) as u64
    }

    /// Bytes of the whole record with its padding.
    pub fn n_record(&self) -> u64 {
        (self.n_header() + self.n_payload).next_multiple_of(ALIGNMENT)
    }

    /// The header as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.n_header() as usize);
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend((self.n_header() as u32).to_le_bytes());
        bytes.extend([self.kind.code(), 0, 0, 0]);
        bytes.extend((self.tokens.len() as u32).to_le_bytes());
        bytes.extend(self.start.to_le_bytes());
        bytes.extend(self.n_payload.to_le_bytes());
        bytes.extend(self.payload_hash.to_le_bytes());
        bytes.extend(self.fingerprint.0);
        bytes.extend(self.key.0);
        bytes.extend(self.parent.0);
        bytes.extend(self.tokens.iter().flat_map(|token| token.to_le_bytes()));
        bytes.extend(xxh3_64(&bytes).to_le_bytes());
        bytes
    }

    /// Reads a header from the start of `bytes`, which may go on beyond it.
    ///
    /// # Errors
    /// What is wrong with it; [`Flaw::Truncated`] also when more bytes are needed, see [`n_needed`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Flaw> {
        let n_header = n_needed(bytes)?;
        let bytes = bytes.get(..n_header).ok_or(Flaw::Truncated)?;
        let (body, checksum) = bytes.split_at(n_header - N_CHECKSUM);
        if xxh3_64(body).to_le_bytes() != checksum {
            return Err(Flaw::Corrupt);
        }
        let mut fields = Fields(&body[16..]);
        let [code, ..] = fields.take::<4>()?;
        let n_tokens = u32::from_le_bytes(fields.take()?) as usize;
        let header = Self {
            kind: Kind::from_code(code).ok_or(Flaw::Version)?,
            start: u64::from_le_bytes(fields.take()?),
            n_payload: u64::from_le_bytes(fields.take()?),
            payload_hash: u64::from_le_bytes(fields.take()?),
            fingerprint: Fingerprint(fields.take()?),
            key: ChainKey(fields.take()?),
            parent: ChainKey(fields.take()?),
            tokens: fields
                .0
                .chunks_exact(4)
                .map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]]))
                .collect(),
        };
        let is_sound = header.tokens.len() == n_tokens
            && header.n_payload <= N_PAYLOAD_MAX
            && header.start <= u64::from(u32::MAX)
            && header.key == header.parent.then(header.kind, &header.tokens);
        if is_sound { Ok(header) } else { Err(Flaw::Corrupt) }
    }

    /// Whether `payload` is what the record was written with.
    pub fn is_payload(&self, payload: &[u8]) -> bool {
        payload.len() as u64 == self.n_payload && xxh3_64(payload) == self.payload_hash
    }
}

/// Bytes of the header that `bytes` start with.
///
/// # Errors
/// When they do not start like a record of this version, or do not even say.
pub fn n_needed(bytes: &[u8]) -> Result<usize, Flaw> {
    let mut fields = Fields(bytes);
    if fields.take::<8>().map_err(|_| Flaw::NoRecord)? != MAGIC {
        return Err(Flaw::NoRecord);
    }
    if u32::from_le_bytes(fields.take()?) != VERSION {
        return Err(Flaw::Version);
    }
    let n_header = u32::from_le_bytes(fields.take()?) as usize;
    let n_tokens = n_header.checked_sub(N_FIXED + N_CHECKSUM).ok_or(Flaw::Corrupt)? / 4;
    if n_tokens > N_TOKENS_MAX || n_header != N_FIXED + 4 * n_tokens + N_CHECKSUM {
        return Err(Flaw::Corrupt);
    }
    Ok(n_header)
}

struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Flaw> {
        let (first, rest) = self.0.split_first_chunk::<N>().ok_or(Flaw::Truncated)?;
        self.0 = rest;
        Ok(*first)
    }
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
