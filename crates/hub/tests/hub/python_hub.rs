//! The cache is shared with Python's `huggingface_hub`: each reads what the other wrote.

use std::env;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;

use tokbar_hub::download::download;
use tokbar_hub::scan::{Condition, Owner, Place, scan};

use super::download_parts::several;
use super::repository::{ID, Repository};
use super::testbed::{Testbed, names};

/// Runs a script of `tests/python` that says `all checks passed` at its end.
fn check(script: &str, bed: &Testbed, offline: &str) {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.testkit");
    let testkit = env::var_os("TOKBAR_TESTKIT").map_or_else(default, PathBuf::from);
    let python = testkit.join("sdk-python/bin/python");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python").join(script);
    let output = Command::new(&python)
        .arg(&script)
        .env("HF_HUB_CACHE", bed.cache.path())
        .env("HF_HOME", bed.cache.path().join("home"))
        .env("HF_ENDPOINT", bed.hub.endpoint())
        .env("HF_HUB_OFFLINE", offline)
        .env("HF_HUB_DISABLE_TELEMETRY", "1")
        .env("HF_HUB_DISABLE_XET", "1")
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}; run `cargo xtask clients` once", python.display()));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.trim_end().ends_with("all checks passed"), "{said}");
}

#[test]
fn python_takes_our_download_for_whole() {
    let bed = Testbed::serving(&Repository::new());
    bed.run().unwrap();
    check("reads_ours.py", &bed, "1");
}

#[test]
fn python_takes_our_download_of_a_part_for_what_it_is() {
    let bed = Testbed::serving(&several());
    for inside in ["4bit", "mlx/8bit", "a-Q4_0.gguf"] {
        download(&format!("{ID}/{inside}"), &bed.options, &mut |_| ControlFlow::Continue(())).unwrap();
    }
    check("reads_parts.py", &bed, "1");
}

#[test]
fn we_take_pythons_download_for_whole() {
    let repository = Repository::new();
    let bed = Testbed::serving(&repository);
    check("writes_its_own.py", &bed, "0");
    let places = [Place { owner: Owner::HuggingFace, path: bed.cache.path().to_owned() }];
    let models = scan(&places).remove(0).models;
    assert_eq!(models.len(), 1, "{models:?}");
    // Python keeps a link to a tokenizer of two bytes; that it says nothing is for whoever loads it.
    assert_eq!((models[0].name.as_str(), &models[0].condition), (ID, &Condition::Ready));
    bed.hub.asked();
    let snapshot = bed.run().unwrap();
    let fetched: Vec<_> = bed.hub.asked().into_iter().filter(|asked| !asked.path.starts_with("/api/")).collect();
    assert!(fetched.is_empty(), "{fetched:?}");
    assert!(names(&snapshot).contains(&"model.safetensors".to_owned()));
}
