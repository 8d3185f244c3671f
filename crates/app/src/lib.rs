//! Settings, model lifecycle and wiring: the composition root, and the `tokbar` command line.
//!
//! Knows every other crate. Must not know vendor field names.

pub mod cli;
mod cloud;
pub mod commands;
pub mod config_dir;
pub mod connect;
mod control;
mod defaults;
mod draft;
pub mod environment;
pub mod host;
mod http_client;
mod hub;
pub mod json_file;
mod key_file;
pub mod keychain;
pub mod knock;
mod known;
mod kv_cache;
mod launch;
mod lifecycle;
mod logbook;
mod mcp;
mod memory;
mod model_settings;
mod parts;
mod port;
mod power;
pub mod pressure;
mod progress;
mod redact;
pub mod say;
mod settings;
mod shelf;
pub mod size;
mod sources;
pub mod update;
mod wake;
pub mod wiring;
