//! Settings, model lifecycle and wiring: the composition root, and the `tokbar` command line.
//!
//! Knows every other crate. Must not know vendor field names.

pub mod cli;
pub mod commands;
mod config_dir;
mod control;
mod defaults;
mod draft;
mod hub;
mod key_file;
mod known;
mod kv_cache;
mod lifecycle;
mod memory;
mod port;
mod power;
mod pressure;
mod progress;
mod redact;
pub mod say;
mod shelf;
mod size;
mod sources;
pub mod update;
mod wake;
mod wiring;
