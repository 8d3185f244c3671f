//! The program inside a Mac app, as far as that is the same on Linux: it finds the app's kernels, or says what is missing.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::testbed::testkit;

const KERNELS: &str = "Contents/Resources/mlx.metallib";

/// An app of the built program alone, in a folder that disappears.
fn app() -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let app = dir.path().join("A copy.app");
    fs::create_dir_all(app.join("Contents/Helpers")).expect("a folder");
    fs::create_dir_all(app.join("Contents/Resources")).expect("a folder");
    // A link to the file, not to its name: that is what the program is then called by.
    fs::hard_link(env!("CARGO_BIN_EXE_tokbar"), app.join("Contents/Helpers/tokbar")).expect("the program");
    (dir, app)
}

fn run(program: &Path, arguments: &[&str]) -> Output {
    Command::new(program).args(arguments).env("HF_HUB_OFFLINE", "1").output().expect("the program starts")
}

/// What `doctor` says of the app.
fn doctor(program: &Path) -> Value {
    finding(program, "app")
}

fn finding(program: &Path, what: &str) -> Value {
    let said: Value = serde_json::from_slice(&run(program, &["doctor", "--json"]).stdout).expect("JSON");
    let findings = said["findings"].as_array().expect("findings");
    findings.iter().find(|finding| finding["what"] == what).expect("a finding about that").clone()
}

#[test]
fn an_app_without_kernels_says_so_before_it_loads_anything() {
    let (_dir, app) = app();
    let program = app.join("Contents/Helpers/tokbar");
    let model = testkit().join("SmolLM2-135M-Instruct");
    let output = run(&program, &["run", model.to_str().expect("UTF-8"), "Hi"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{said}");
    assert!(said.contains(KERNELS) && said.contains("brew reinstall --cask tokbar"), "{said}");

    let finding = doctor(&program);
    assert_eq!(finding["state"], "wrong", "{finding}");
    fs::write(app.join(KERNELS), "not kernels").expect("written");
    assert!(doctor(&program)["found"].as_str().is_some_and(|found| found.contains("holds no Metal kernels")));
    // What needs no kernels goes on.
    assert!(run(&program, &["models"]).status.success());
}

#[test]
fn an_app_with_kernels_finds_them_by_a_link_and_after_a_move() {
    let (dir, app) = app();
    fs::write(app.join(KERNELS), "MTLB and kernels").expect("written");
    let link = dir.path().join("tokbar");
    std::os::unix::fs::symlink(app.join("Contents/Helpers/tokbar"), &link).expect("a link");
    let licences = || finding(&link, "licences")["found"].as_str().expect("a text").to_owned();
    assert!(licences().starts_with("built from source"), "{}", licences());
    fs::write(app.join("Contents/Resources/THIRD-PARTY.txt"), "notices").expect("written");
    assert!(licences().ends_with("Contents/Resources/THIRD-PARTY.txt"), "{}", licences());
    let finding = doctor(&link);
    assert_eq!(finding["state"], "fine", "{finding}");
    assert!(finding["found"].as_str().is_some_and(|found| found.contains("A copy.app")), "{finding}");

    let moved = dir.path().join("Moved.app");
    fs::rename(&app, &moved).expect("moved");
    let finding = doctor(&moved.join("Contents/Helpers/tokbar"));
    assert!(finding["found"].as_str().is_some_and(|found| found.contains("Moved.app")), "{finding}");
}
