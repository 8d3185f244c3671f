//! SHA-256.

use std::fmt::Write;

use ring::digest::{SHA256, digest};

/// The hash as 64 hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    digest(&SHA256, bytes).as_ref().iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to a string does not fail.
        write!(text, "{byte:02x}").expect("a string takes text");
        text
    })
}
