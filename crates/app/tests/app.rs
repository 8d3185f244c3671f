//! The `tokbar` binary against a real model and real clients.

#[path = "app/bench.rs"]
mod bench;
#[path = "app/cache.rs"]
mod cache;
#[path = "app/cli.rs"]
mod cli;
#[path = "app/constrained.rs"]
mod constrained;
#[path = "app/download.rs"]
mod download;
#[path = "app/families.rs"]
mod families;
#[path = "app/hostile.rs"]
mod hostile;
#[path = "app/http.rs"]
mod http;
#[path = "app/lifecycle.rs"]
mod lifecycle;
// The Hub that the tests of the crate `hub` download from.
#[allow(clippy::unwrap_used, dead_code)]
#[path = "../../hub/tests/hub/loopback.rs"]
mod loopback;
#[path = "app/pull.rs"]
mod pull;
#[path = "app/quantize.rs"]
mod quantize;
#[path = "app/reference.rs"]
mod reference;
#[allow(clippy::unwrap_used, dead_code)]
#[path = "../../hub/tests/hub/repository.rs"]
mod repository;
#[path = "app/sdk.rs"]
mod sdk;
#[path = "app/security.rs"]
mod security;
#[path = "app/shelf.rs"]
mod shelf;
#[path = "app/streams.rs"]
mod streams;
#[path = "app/testbed.rs"]
mod testbed;
#[path = "app/tiny.rs"]
mod tiny;
