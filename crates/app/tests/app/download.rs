//! Models that only the Hub has.

use std::process::{Command, Output, Stdio};

use crate::loopback::Loopback;
use crate::repository::{ID, Repository};

/// Runs a command that needs the model of a Hub at `endpoint`.
fn parse(endpoint: &str, cache: &std::path::Path, offline: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tokbar"));
    command.args(["parse", "--model", ID]).stdin(Stdio::null()).env_remove("HF_TOKEN");
    command.env("HF_ENDPOINT", endpoint).env("HF_HUB_CACHE", cache).env("HF_HUB_OFFLINE", offline);
    command.output().expect("the program runs")
}

#[test]
fn an_id_is_downloaded_unless_that_is_forbidden() {
    let cache = tempfile::tempdir().expect("a folder");
    let repository = Repository::new();
    let hub = Loopback::start(move |asked, _| repository.answer(asked));
    let check = |offline: &str, expected: Result<&str, &str>, n_requests: usize| {
        let output = parse(&hub.endpoint(), cache.path(), offline);
        let said = String::from_utf8_lossy(if expected.is_ok() { &output.stdout } else { &output.stderr }).into_owned();
        let (Ok(part) | Err(part)) = expected;
        assert!(said.contains(part) && output.status.success() == expected.is_ok(), "{output:?}");
        assert_eq!(hub.asked().len(), n_requests);
    };
    check("1", Err("HF_HUB_OFFLINE forbids to download `org/tiny`"), 0);
    check("", Ok("{"), 4);
    check("", Ok("{"), 0);
    // As other programs leave it when they are stopped early.
    let blobs = cache.path().join("models--org--tiny/blobs");
    let snapshot = cache.path().join("models--org--tiny/snapshots").join(crate::repository::COMMIT);
    std::fs::remove_file(snapshot.join("model.safetensors")).expect("a link");
    std::fs::remove_file(blobs.join(Repository::new().hash("model.safetensors"))).expect("a blob");
    check("", Ok("{"), 2);
    assert!(snapshot.join("model.safetensors").exists());
}

#[test]
fn a_model_that_the_hub_does_not_have_is_an_error() {
    let cache = tempfile::tempdir().expect("a folder");
    let hub = Loopback::start(|_, _| crate::loopback::Answer::status(404));
    let output = parse(&hub.endpoint(), cache.path(), "");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("there is no model `org/tiny` at http://127.0.0.1"), "{said}");
}
