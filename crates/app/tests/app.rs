//! The `tokbar` binary against a real model and real clients.

#[path = "app/cli.rs"]
mod cli;
#[path = "app/hostile.rs"]
mod hostile;
#[path = "app/http.rs"]
mod http;
#[path = "app/reference.rs"]
mod reference;
#[path = "app/sdk.rs"]
mod sdk;
#[path = "app/streams.rs"]
mod streams;
#[path = "app/testbed.rs"]
mod testbed;
