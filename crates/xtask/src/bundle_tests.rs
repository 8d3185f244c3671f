use std::fs;

use super::{APP_PROGRAM, CLI_PROGRAM, info_plist, sizes};
use crate::audit::sample;

#[test]
fn the_programs_names_differ_by_more_than_capitals_in_one_folder() {
    let dir = tempfile::tempdir().expect("a folder");
    let app = sample::app(dir.path());
    let mut paths: Vec<String> = sizes(&app).expect("sizes").iter().map(|(path, _)| path.to_lowercase()).collect();
    paths.sort_unstable();
    let n_files = paths.len();
    paths.dedup();
    assert_eq!(paths.len(), n_files, "two files that are one on a Mac's disk");
    assert!(app.join(APP_PROGRAM).is_file() && app.join(CLI_PROGRAM).is_file());
}

#[test]
fn an_app_that_is_there_is_replaced() {
    let dir = tempfile::tempdir().expect("a folder");
    let app = sample::app(dir.path());
    fs::write(app.join("Contents/old"), "").expect("written");
    assert_eq!(sample::app(dir.path()), app);
    assert!(!app.join("Contents/old").exists());
}

#[test]
fn only_a_version_is_a_version() {
    assert_eq!(info_plist("<@VERSION@>", "0.10.2").expect("a version"), "<0.10.2>");
    for version in ["", "1", "1.2", "1.2.3.4", "1.2.x", "1.2.3</string>", "1..3"] {
        assert!(info_plist("@VERSION@", version).is_err(), "{version}");
    }
}

#[test]
fn sizes_are_sorted() {
    let dir = tempfile::tempdir().expect("a folder");
    let sizes = sizes(&sample::app(dir.path())).expect("sizes");
    assert!(sizes.is_sorted_by(|a, b| a.1 >= b.1), "{sizes:?}");
    assert!(sizes.iter().any(|(path, size)| path == "Contents/PkgInfo" && *size == 8), "{sizes:?}");
}
