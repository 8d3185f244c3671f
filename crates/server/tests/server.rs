//! The server over real loopback sockets, with a fake backend and a tokenizer of single bytes.

#![allow(clippy::unwrap_used)]

#[path = "server/anthropic.rs"]
mod anthropic;
#[path = "server/bindings.rs"]
mod bindings;
#[path = "server/calls.rs"]
mod calls;
#[path = "server/chat.rs"]
mod chat;
#[path = "server/client.rs"]
mod client;
#[path = "server/completions.rs"]
mod completions;
#[path = "server/constrained.rs"]
mod constrained;
#[path = "server/control.rs"]
mod control;
#[path = "server/forms.rs"]
mod forms;
#[path = "server/hostile.rs"]
mod hostile;
#[path = "server/keeping.rs"]
mod keeping;
#[path = "server/lifecycle.rs"]
mod lifecycle;
#[path = "server/listing.rs"]
mod listing;
#[path = "server/load.rs"]
mod load;
#[path = "server/odd.rs"]
mod odd;
#[path = "server/ollama.rs"]
mod ollama;
#[path = "server/pace.rs"]
mod pace;
#[path = "server/prefixes.rs"]
mod prefixes;
#[path = "server/responses.rs"]
mod responses;
#[path = "server/rounds.rs"]
mod rounds;
#[path = "server/sdk.rs"]
mod sdk;
#[path = "server/security.rs"]
mod security;
#[path = "server/setup.rs"]
mod setup;
#[path = "server/soak.rs"]
mod soak;
