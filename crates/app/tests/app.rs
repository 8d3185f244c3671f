//! The `tokbar` binary against a real model and real clients.

#[path = "app/bench.rs"]
mod bench;
#[path = "app/bundle.rs"]
mod bundle;
#[path = "app/cache.rs"]
mod cache;
#[path = "app/cli.rs"]
mod cli;
#[path = "app/cloud.rs"]
mod cloud;
#[path = "app/connect.rs"]
mod connect;
#[path = "app/constrained.rs"]
mod constrained;
#[path = "app/control.rs"]
mod control;
#[path = "app/conversations.rs"]
mod conversations;
#[path = "app/download.rs"]
mod download;
#[path = "app/families.rs"]
mod families;
#[path = "app/faults.rs"]
mod faults;
#[path = "app/fuzzed.rs"]
mod fuzzed;
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
#[path = "app/mcp.rs"]
mod mcp;
#[path = "app/proxies.rs"]
mod proxies;
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
