//! The `tokbar` binary.

fn main() {}
